package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Unpack writes the whole archive into root, which must be empty. Everything in
// it is made new and nothing is followed; modes are the index's, whatever the
// umask. What has been written when it fails stays there, and is not to be used.
func Unpack(ctx context.Context, idx Index, src Source, root *os.Root) error {
	if err := checkEmpty(root); err != nil {
		return err
	}
	u := unpacking{folder: newFolder(root)}
	defer u.folder.close()
	return Extract(ctx, idx, src, func(Entry) bool { return true }, u.put)
}

func checkEmpty(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return fault.Wrap(fault.Unknown, err, "open the folder to unpack into")
	}
	defer f.Close()
	names, err := f.Readdirnames(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return fault.Wrap(fault.Unknown, err, "list the folder to unpack into")
	}
	if len(names) > 0 {
		return fault.New(fault.Conflict, "unpack into a folder that holds %q", names[0]).
			With("unpack into an empty folder")
	}
	return nil
}

type unpacking struct{ folder *folder }

func (u *unpacking) put(e Entry, content io.Reader) error {
	parent, name, err := u.folder.parent(e.Path)
	if err != nil {
		return fault.Wrap(fault.Unknown, err, "unpack %q", e.Path)
	}
	switch e.Kind {
	case Directory:
		err = effect.Do("archive.directory.make", func() error { return makeDirectory(parent, name) })
	case Link:
		err = effect.Do("archive.link.make", func() error { return parent.Symlink(e.Target, name) })
	case File:
		err = effect.Do("archive.file.write", func() error { return writeFile(parent, name, e.Mode(), content) })
	}
	if err != nil {
		return fault.Wrap(fault.KindOf(err), err, "unpack %q", e.Path)
	}
	return nil
}

// makeDirectory makes a directory with exactly its mode.
func makeDirectory(parent *os.Root, name string) error {
	if err := parent.Mkdir(name, 0o700); err != nil {
		return err
	}
	return parent.Chmod(name, 0o755)
}

// writeFile makes a file with exactly its mode and content.
func writeFile(parent *os.Root, name string, mode fs.FileMode, content io.Reader) (err error) {
	f, err := parent.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	return f.Chmod(mode)
}
