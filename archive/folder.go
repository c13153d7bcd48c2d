package archive

import (
	"errors"
	"io"
	"os"
	"path"

	"noxmesh/internal/fault"
)

// folder reaches the entries of a tree. It keeps the directory it was in last
// open, because entries come sorted and most have the neighbour's parent.
// It never leaves its root, whatever somebody does to the tree meanwhile.
type folder struct {
	root *os.Root
	dir  string
	open *os.Root // nil while dir is the root itself
}

func newFolder(root *os.Root) *folder { return &folder{root: root, dir: "."} }

// parent is the directory that p lies in, and p's name there.
func (f *folder) parent(p string) (*os.Root, string, error) {
	dir, name := path.Dir(p), path.Base(p)
	if err := f.enter(dir); err != nil {
		return nil, "", err
	}
	if f.open == nil {
		return f.root, name, nil
	}
	return f.open, name, nil
}

// enter opens dir. It looks before it opens: opening a FIFO would wait for ever.
func (f *folder) enter(dir string) error {
	if dir == f.dir {
		return nil
	}
	f.close()
	if dir == "." {
		return nil
	}
	info, err := f.root.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fault.New(fault.Conflict, "%q is not a directory", dir)
	}
	open, err := f.root.OpenRoot(dir)
	if err != nil {
		return err
	}
	f.dir, f.open = dir, open
	return nil
}

// close forgets the directory that is open.
func (f *folder) close() {
	if f.open != nil {
		_ = f.open.Close() // opened to look things up in: nothing can be lost
	}
	f.dir, f.open = ".", nil
}

// batch is how many names of a directory are read at once.
const batch = 1024

// each calls one with every name in dir, in no order.
func (f *folder) each(dir string, one func(at *os.Root, name string) error) error {
	if err := f.enter(dir); err != nil {
		return fault.Add(err, "open directory %q", dir)
	}
	at := f.open
	if at == nil {
		at = f.root
	}
	d, err := at.Open(".")
	if err != nil {
		return fault.Wrap(fault.Unknown, err, "open directory %q", dir)
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(batch)
		for _, name := range names {
			if err := one(at, name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fault.Wrap(fault.Unknown, err, "list directory %q", dir)
		}
	}
}

// join is a name's path in dir.
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}
