package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// What is in which way an entry differs from the index.
type What string

// The ways.
const (
	Missing      What = "missing"       // there is nothing, or what holds it is no directory
	WrongKind    What = "wrong kind"    // a link where a file should be, and the like
	WrongContent What = "wrong content" // other bytes, or another number of them
	WrongMode    What = "wrong mode"    // other permissions, the executable bit among them
	WrongTarget  What = "wrong target"  // a link that points elsewhere
)

// Difference is one entry that is not as the index has it.
type Difference struct {
	Path string
	What What
	Want string // in words, for people; not for a program to read
	Have string
}

// Verify reads the folder back against the index and returns what differs,
// sorted by path; nothing where every entry is there and right. What the index
// does not name is no difference: Extra lists that. Every byte is read, on every
// core, and nothing outside the folder is.
func Verify(ctx context.Context, root *os.Root, idx Index) ([]Difference, error) {
	found := make([]*Difference, len(idx.Entries))
	var turn atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range cores() {
		group.Go(func() error {
			v := verifier{folder: newFolder(root), buffer: make([]byte, readSize)}
			defer v.folder.close()
			for {
				begin := int(turn.Add(stride)) - stride
				if begin >= len(idx.Entries) {
					return nil
				}
				end := min(begin+stride, len(idx.Entries))
				if err := v.lookAll(ctx, idx.Entries[begin:end], found[begin:end]); err != nil {
					return err
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return gather(idx.Entries, found), nil
}

func (v *verifier) lookAll(ctx context.Context, entries []Entry, found []*Difference) (err error) {
	for i := range entries {
		if found[i], err = v.look(ctx, &entries[i]); err != nil {
			return err
		}
	}
	return nil
}

const (
	stride   = 32       // entries that one core takes at a time: neighbours share their directory
	readSize = 64 << 10 // bytes of a file read at a time
)

// gather is the differences in order. An entry below one that is not a directory is missing,
// whatever the path leads to: it may lead through a link.
func gather(entries []Entry, found []*Difference) []Difference {
	var all []Difference
	gone := map[string]bool{}
	for i := range entries {
		e, d := &entries[i], found[i]
		if gone[path.Dir(e.Path)] {
			d = e.missing()
		}
		if d == nil {
			continue
		}
		if e.Kind == Directory && d.What != WrongMode {
			gone[e.Path] = true
		}
		all = append(all, *d)
	}
	return all
}

func (e *Entry) missing() *Difference {
	return &Difference{Path: e.Path, What: Missing, Want: string(e.Kind), Have: "nothing"}
}

// verifier is one core's share of Verify.
type verifier struct {
	folder *folder
	buffer []byte
}

// look is how the entry differs, or nil.
func (v *verifier) look(ctx context.Context, e *Entry) (*Difference, error) {
	parent, name, err := v.folder.parent(e.Path)
	if absent(err) || fault.KindOf(err) == fault.Conflict {
		return e.missing(), nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, err, "verify %q", e.Path)
	}
	info, err := parent.Lstat(name)
	if absent(err) {
		return e.missing(), nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, err, "verify %q", e.Path)
	}
	if have := kindOf(info.Mode()); have != string(e.Kind) {
		return &Difference{e.Path, WrongKind, string(e.Kind), have}, nil
	}
	if e.Kind == Link {
		return v.lookLink(parent, name, e)
	}
	if d := e.lookInfo(info); d != nil || e.Kind == Directory {
		return d, nil
	}
	return v.lookFile(ctx, parent, name, e)
}

func (v *verifier) lookLink(parent *os.Root, name string, e *Entry) (*Difference, error) {
	target, err := parent.Readlink(name)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, err, "verify link %q", e.Path)
	}
	if target != e.Target {
		return &Difference{e.Path, WrongTarget, e.Target, target}, nil
	}
	return nil, nil
}

// lookInfo is what can be seen without reading.
func (e *Entry) lookInfo(info fs.FileInfo) *Difference {
	if e.Kind == File && info.Size() != e.Size {
		return &Difference{e.Path, WrongContent, fmt.Sprintf("%d bytes", e.Size), fmt.Sprintf("%d bytes", info.Size())}
	}
	if have := info.Mode() &^ fs.ModeDir; have != e.Mode() {
		return &Difference{e.Path, WrongMode, e.Mode().String(), have.String()}
	}
	return nil
}

func (v *verifier) lookFile(ctx context.Context, parent *os.Root, name string, e *Entry) (*Difference, error) {
	f, err := parent.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if absent(err) {
		return e.missing(), nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, err, "verify %q", e.Path)
	}
	defer f.Close()
	have, err := v.sum(ctx, f)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, err, "verify %q", e.Path)
	}
	if have != e.Digest {
		return &Difference{e.Path, WrongContent, string(e.Digest), string(have)}, nil
	}
	return nil, nil
}

func (v *verifier) sum(ctx context.Context, f *os.File) (document.Digest, error) {
	h := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(v.buffer)
		h.Write(v.buffer[:n])
		if errors.Is(err, io.EOF) {
			return document.FromHash(h.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// absent reports whether there is nothing at a path: no entry, or no directory on the way to it.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func kindOf(mode fs.FileMode) string {
	switch mode.Type() {
	case 0:
		return string(File)
	case fs.ModeDir:
		return string(Directory)
	case fs.ModeSymlink:
		return string(Link)
	}
	return called(mode)
}
