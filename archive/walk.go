package archive

import (
	"context"
	"io/fs"
	"os"
	"sort"

	"noxmesh/internal/fault"
)

// walk lists the tree, sorted, without the files' digests. It opens no file.
func walk(ctx context.Context, root *os.Root) ([]Entry, error) {
	w := walker{folder: newFolder(root)}
	defer w.folder.close()
	for pending := []string{"."}; len(pending) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dir := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		seen := len(w.entries)
		if err := w.list(dir); err != nil {
			return nil, err
		}
		for i := seen; i < len(w.entries); i++ {
			if w.entries[i].Kind == Directory {
				pending = append(pending, w.entries[i].Path)
			}
		}
	}
	sort.Slice(w.entries, func(i, j int) bool { return w.entries[i].Path < w.entries[j].Path })
	return w.entries, nil
}

type walker struct {
	folder  *folder
	entries []Entry
}

// list adds what is in one directory.
func (w *walker) list(dir string) error {
	return w.folder.each(dir, func(at *os.Root, name string) error { return w.add(at, dir, name) })
}

// add adds one entry, or refuses it by its path.
func (w *walker) add(at *os.Root, dir, name string) error {
	p := join(dir, name)
	if err := checkPath(p); err != nil {
		return fault.Add(err, "pack %q", p)
	}
	if len(w.entries) == MaxEntries {
		return fault.New(fault.Invalid, "pack %q: the folder has more than %d entries", p, MaxEntries)
	}
	info, err := at.Lstat(name)
	if err != nil {
		return fault.Wrap(fault.Unknown, err, "pack %q", p)
	}
	e := Entry{Path: p}
	switch info.Mode().Type() {
	case 0:
		e.Kind, e.Size, e.Executable = File, info.Size(), info.Mode()&0o100 != 0
	case fs.ModeDir:
		e.Kind = Directory
	case fs.ModeSymlink:
		e.Kind = Link
		if e.Target, err = at.Readlink(name); err != nil {
			return fault.Wrap(fault.Unknown, err, "pack link %q", p)
		}
	default:
		return fault.New(fault.Invalid, "pack %q: it is %s, and an archive holds files, directories and links alone", p, called(info.Mode())).
			With("remove %q from what is packed", p)
	}
	w.entries = append(w.entries, e)
	return nil
}

// called is the word for what an archive does not hold.
func called(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeNamedPipe:
		return "a FIFO"
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		return "a device"
	}
	return "of type " + mode.Type().String()
}
