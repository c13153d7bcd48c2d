package stage

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"noxmesh/archive"
	"noxmesh/builder/rootfs"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

const (
	maxEntries = 1_000_000 // of one archive
	maxName    = 4096
	spare      = 1 << 30 // what an archive may have beside its files' bytes
)

// unpackFile unpacks a file where it is an archive, into the folder that to is. What
// tells is what is in it, and not its name.
func (s *Stage) unpackFile(ctx context.Context, t Taking, file string) (is bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	plain, err := plainOf(bufio.NewReader(f))
	if err != nil {
		return false, err
	}
	if plain == nil {
		return false, nil
	}
	defer plain.Close()
	r := tar.NewReader(rootfs.Bounded(plain, t.Most+spare))
	h, err := r.Next()
	if err != nil {
		return false, nil // it is something else, and copied
	}
	if err := s.Folder(t.To); err != nil {
		return true, err
	}
	u := unpacking{stage: s, to: t.To, left: t.Most}
	for ; err == nil; h, err = r.Next() {
		if err := ctx.Err(); err != nil {
			return true, err
		}
		if err := u.entry(h, r); err != nil {
			return true, fault.Add(err, "unpack its entry %q", document.Short(h.Name))
		}
	}
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return true, fault.Wrap(fault.Invalid, err, "unpack it")
}

// plainOf is what a file holds, where it begins as one of the compressions that are
// unpacked, and the file itself where it begins as none.
func plainOf(r *bufio.Reader) (io.ReadCloser, error) {
	begins, err := r.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	is := func(magic string) bool { return bytes.HasPrefix(begins, []byte(magic)) }
	switch {
	case is("\x1f\x8b"):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil //nolint:nilnil,nilerr // it is something else, and copied
		}
		return z, nil
	case is("BZh"):
		return io.NopCloser(bzip2.NewReader(r)), nil
	case is("\x28\xb5\x2f\xfd"):
		return archive.Decompressed(r)
	case is("\xfd7zXZ\x00"):
		return nil, fault.New(fault.Invalid, "it is compressed with xz, and ADD unpacks what is not compressed, or with gzip, bzip2 or zstd").
			With("COPY it as it is, or unpack it in build.run")
	}
	return io.NopCloser(r), nil
}

// unpacking is one archive on its way into a stage.
type unpacking struct {
	stage   *Stage
	to      string
	entries int
	left    int64 // bytes that its files may still have
}

// entry unpacks one entry. What no image can have of it is refused by its name; whose
// it was, when, and with which rights beyond that it can be run says nothing.
func (u *unpacking) entry(h *tar.Header, r io.Reader) error {
	u.entries++
	u.left -= h.Size
	switch {
	case u.entries > maxEntries:
		return fault.New(fault.Invalid, "it is one of more than %d", maxEntries)
	case u.left < 0:
		return fault.New(fault.Invalid, "the archive has more than a build may take of the disk")
	case h.Typeflag == tar.TypeXGlobalHeader:
		return nil
	}
	name, err := u.place(h.Name)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.stage.Folder(name)
	case tar.TypeReg:
		if h.FileInfo().Mode()&special != 0 {
			return fault.New(fault.Invalid, "it would run as its owner or its group, whoever starts it")
		}
		return u.put(name, func(at string) error {
			_, err := written(r, at, h.Mode&0o111 != 0)
			return err
		})
	case tar.TypeSymlink:
		if h.Linkname == "" || len(h.Linkname) > maxName || strings.ContainsRune(h.Linkname, 0) {
			return fault.New(fault.Invalid, "it leads nowhere")
		}
		return u.put(name, func(at string) error { return os.Symlink(h.Linkname, at) })
	case tar.TypeLink:
		return u.again(h.Linkname, name)
	}
	return fault.New(fault.Invalid, "it is neither a file nor a folder nor a link")
}

// place is where an entry of this name belongs.
func (u *unpacking) place(name string) (string, error) {
	if len(name) > maxName || strings.ContainsRune(name, 0) {
		return "", fault.New(fault.Invalid, "it has a name that no file system takes")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fault.New(fault.Invalid, "it leads out of the archive")
		}
	}
	return path.Join(u.to, path.Clean("/"+name)), nil
}

func (u *unpacking) put(name string, make func(at string) error) error {
	if name == path.Clean(u.to) {
		return fault.New(fault.Invalid, "it has no name")
	}
	at, err := u.stage.clear(name)
	if err == nil {
		err = make(at)
	}
	if err == nil {
		err = u.stage.own(at)
	}
	return err
}

// again is a file that is there once more, under another name: a copy of it.
func (u *unpacking) again(of, name string) error {
	from, err := u.place(of)
	if err != nil {
		return err
	}
	at, err := rootfs.Within(u.stage.Dir, from)
	if err != nil {
		return err
	}
	info, err := os.Lstat(at)
	if err != nil || !info.Mode().IsRegular() {
		return fault.New(fault.Invalid, "it is another name of %q, which is no file", document.Short(of))
	}
	if u.left -= info.Size(); u.left < 0 {
		return fault.New(fault.Invalid, "the archive has more than a build may take of the disk")
	}
	if from == name {
		return nil
	}
	_, err = u.stage.file(at, info, name)
	return err
}
