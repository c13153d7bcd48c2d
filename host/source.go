package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"noxmesh/archive"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// indexLimit is what is read of a compressed index before it has been looked at.
const indexLimit = 64 << 20

// manifestLimit is the same of the manifest of an image.
const manifestLimit = 4 << 20

// Blob names bytes of a registry.
type Blob struct {
	Repository string
	Digest     document.Digest
	Size       int64
}

// Blobs is where blobs are read from: a registry, or a folder. What comes is
// checked by its digest by whoever asks for it.
type Blobs interface {
	// Pull writes a whole blob. One that does not answer is fault.Unavailable.
	Pull(ctx context.Context, b Blob, w io.Writer) error
	// Read opens n bytes from off.
	Read(ctx context.Context, b Blob, off, n int64) (io.ReadCloser, error)
}

// where is a declaration's own word on where its bytes are.
type where struct {
	declaration.Where
	blobs Blobs
	again func() (map[document.Digest]string, error) // the bodies in it, where they are not held; nil where they are
}

// Body writes a file's bytes.
func (s where) Body(ctx context.Context, digest document.Digest, size int64, w io.Writer) error {
	b, packed := s.Blobs[digest] // a folder finds it by its digest alone
	inline := s.Inline
	if inline == nil && !packed && s.again != nil {
		var err error
		if inline, err = s.again(); err != nil {
			return fault.Add(err, "read the declaration again, for the body %s", digest.Short())
		}
	}
	if body, ok := inline[digest]; ok {
		_, err := io.WriteString(w, body)
		return err
	}
	return s.blobs.Pull(ctx, Blob{b.Repository, digest, size}, w)
}

// Index is an archive's index, compressed.
func (s where) Index(ctx context.Context, digest document.Digest) ([]byte, error) {
	p, err := s.packed(digest)
	if err != nil {
		return nil, err
	}
	if p.IndexSize > indexLimit {
		return nil, fault.New(fault.Invalid, "the index has %d bytes, at most %d are read", p.IndexSize, indexLimit)
	}
	var b bytes.Buffer
	if err := s.blobs.Pull(ctx, Blob{p.Repository, p.Index, p.IndexSize}, &b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Frames is an archive's blob.
func (s where) Frames(_ context.Context, digest document.Digest) (archive.Source, error) {
	p, err := s.packed(digest)
	if err != nil {
		return nil, err
	}
	return frames{s.blobs, Blob{p.Repository, p.Blob, p.Size}}, nil
}

// Part writes a part of an image.
func (s where) Part(ctx context.Context, image, part document.Digest, size int64, w io.Writer) error {
	b, packed := s.Blobs[image]
	if !packed {
		return fault.New(fault.Invalid, "the declaration does not say where the image %s is", image.Short())
	}
	if part == image {
		if size = b.Size; size > manifestLimit {
			return fault.New(fault.Invalid, "the manifest has %d bytes, at most %d are read", size, manifestLimit)
		}
	}
	return s.blobs.Pull(ctx, Blob{b.Repository, part, size}, w)
}

func (s where) packed(digest document.Digest) (declaration.Packed, error) {
	p, ok := s.Archives[digest]
	if !ok {
		return p, fault.New(fault.Invalid, "the declaration does not say where the archive %s is", digest.Short())
	}
	return p, nil
}

type frames struct {
	blobs Blobs
	blob  Blob
}

// Size is the blob's size as it was declared.
func (f frames) Size() int64 { return f.blob.Size }

// ReadRange opens a part of the blob.
func (f frames) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	return f.blobs.Read(ctx, f.blob, off, n)
}

// folder is blobs as files: DIR/sha256/HEX, as in an OCI layout's blobs folder.
// The zero folder is none.
type folder struct {
	root *os.Root
	sys  *system.Root
	dir  *system.Dir // of sha256; nil where it cannot be held
}

// openFolder is the blobs in this folder.
func openFolder(name string) (f folder, err error) {
	if f.root, err = os.OpenRoot(name); err != nil {
		return f, fault.Wrap(fault.NotFound, err, "open the folder of blobs %q", name)
	}
	if f.sys, err = system.Open(name); err != nil {
		return f, errors.Join(err, f.root.Close())
	}
	f.dir, _ = f.sys.Dir("/sha256") // without it each blob says that it is not there
	return f, nil
}

func (f folder) Close() error {
	if f.root == nil {
		return nil
	}
	return errors.Join(f.root.Close(), f.sys.Close())
}

func (f folder) open(b Blob) (*os.File, error) {
	if f.root == nil {
		return nil, fault.New(fault.NotFound, "the blob %s is in no folder", b.Digest.Short()).
			With("put it into the declaration's \"inline\", or name a folder with --blobs")
	}
	file, err := f.root.Open(strings.Replace(string(b.Digest), ":", "/", 1))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "the blob %s is not in %q", b.Digest, f.root.Name()).
			With("a blob lies there as sha256/ and its 64 hexadecimal digits")
	}
	if err != nil {
		return nil, fault.Wrap(fault.Conflict, err, "open the blob %s", b.Digest)
	}
	return file, nil
}

// Pull writes a blob. One that is a plain file is read with as few calls as can be.
func (f folder) Pull(_ context.Context, b Blob, w io.Writer) error {
	if f.dir != nil {
		if r, err := f.dir.Take(b.Digest.Hex()); err == nil {
			_, err = io.Copy(w, io.LimitReader(r, b.Size+1)) // one byte more is enough to be refused
			return errors.Join(err, r.Close())
		}
	}
	file, err := f.open(b) // a link, or nothing: it knows what to say
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, io.LimitReader(file, b.Size+1))
	return err
}

func (f folder) Read(_ context.Context, b Blob, off, n int64) (io.ReadCloser, error) {
	file, err := f.open(b)
	if err != nil {
		return nil, err
	}
	return part{io.NewSectionReader(file, off, n), file}, nil
}

type part struct {
	io.Reader
	io.Closer
}
