package lock

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"noxmesh/internal/fault"
)

// What is read of a tree: no module that takes something from outside has more.
const (
	maxFile  = 32 << 20
	maxAll   = 128 << 20
	maxFiles = 1000
)

// Read reads the lock files of a tree: those of the module, and none of what it
// carries with it of others or only tests with. What is too much is not read, and
// said.
func Read(tree fs.FS) (Locks, error) {
	var l Locks
	files, left := 0, int64(maxAll)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "node_modules", "vendor", "testdata"}, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular() || !isLock(name):
			return nil
		}
		if files++; files > maxFiles || left <= 0 {
			l.Faults = append(l.Faults, fault.New(fault.Invalid, "the tree has more lock files than are read: neither %s nor what comes after it is", at(name, 0)))
			return fs.SkipAll
		}
		data, err := read(tree, name)
		if err != nil {
			return err
		}
		left -= int64(len(data))
		l.take(name, data)
		return nil
	})
	if err != nil {
		err = fault.Wrap(fault.Unavailable, err, "look for lock files")
	}
	return l, err
}

func isLock(name string) bool {
	base := path.Base(name)
	switch base {
	case "go.sum", "go.work.sum", "package-lock.json", "npm-shrinkwrap.json", "Cargo.lock":
		return true
	}
	return strings.HasSuffix(base, ".txt") && (strings.Contains(base, "requirements") || path.Base(path.Dir(name)) == "requirements")
}

func read(tree fs.FS, name string) (data []byte, err error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// take adds what one file names.
func (l *Locks) take(name string, data []byte) {
	before := len(l.Go) + len(l.Npm) + len(l.Python) + len(l.Crates)
	var faults []error
	switch base := path.Base(name); {
	case len(data) > maxFile:
		faults = []error{fault.New(fault.Invalid, "%s has more than %d MiB, and is not read", at(name, 0), maxFile>>20)}
	case strings.HasPrefix(base, "go."):
		l.Go, faults = added(l.Go, name, data, DecodeGo)
	case base == "Cargo.lock":
		l.Crates, faults = added(l.Crates, name, data, DecodeCargo)
	case strings.HasSuffix(base, ".json"):
		l.Npm, faults = added(l.Npm, name, data, DecodeNpm)
	case bytes.Contains(data, []byte("--hash")):
		l.Python, faults = added(l.Python, name, data, DecodePython)
	}
	l.Faults = append(l.Faults, faults...)
	if len(l.Go)+len(l.Npm)+len(l.Python)+len(l.Crates) > before || len(faults) > 0 {
		l.Files = append(l.Files, name)
	}
}

func added[T any](have []T, name string, data []byte, decode func(string, []byte) ([]T, []error)) ([]T, []error) {
	more, faults := decode(name, data)
	return append(have, more...), faults
}
