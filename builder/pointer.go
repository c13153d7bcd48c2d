package builder

import (
	"io"
	"io/fs"
	"os"

	"noxmesh/delivery/ignore"
	"noxmesh/delivery/imports"
	"noxmesh/internal/fault"
)

// noPointers refuses a folder in which a file is a pointer of Git LFS: a build
// that delivered it would deliver something that nobody has written.
func noPointers(dir *os.Root) error { return noPointersBut(dir, ignore.List{}) }

// noPointersBut does so but for what is left out.
func noPointersBut(dir *os.Root, leaves ignore.List) error {
	return fs.WalkDir(dir.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fault.Wrap(fault.Invalid, err, "look at %q", path)
		}
		if !d.Type().IsRegular() || leaves.Leaves(path) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return fault.Wrap(fault.Invalid, err, "look at %q", path)
		}
		if info.Size() >= imports.PointerLimit {
			return nil
		}
		begins, err := beginning(dir, path)
		if err != nil {
			return fault.Wrap(fault.Invalid, err, "read %q", path)
		}
		return noPointer(path, begins)
	})
}

// noPointer refuses one file, of which these are the bytes.
func noPointer(path string, text []byte) error {
	if len(text) >= imports.PointerLimit || !imports.Pointer(text) {
		return nil
	}
	return fault.New(fault.Invalid, "%q is a pointer of Git LFS, and what it points to is not in the repository", path).
		With("commit the file itself")
}

func beginning(dir *os.Root, path string) ([]byte, error) {
	file, err := dir.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, imports.PointerLimit-1))
}
