package layer

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"noxmesh/archive"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Media is the media type of a layer.
const Media = "application/vnd.oci.image.layer.v1.tar+gzip"

// date is every time in a layer: 1980, as commands in a build are told.
const date = 315532800

// level is how hard is compressed. Another one gives other bytes.
const level = 6

// Layer is one layer of an image.
type Layer struct {
	Media  string
	Digest document.Digest
	Size   int64
	Plain  document.Digest // of the bytes before they are compressed
	Files  int
}

// Write writes everything below root as a layer in which it is at this path. With
// alone nothing is below it, and the folders on the way there are in it too: over
// another image they would take away what that says of them.
func Write(ctx context.Context, root *os.Root, at string, alone bool, out io.Writer) (Layer, error) {
	entries, err := archive.List(ctx, root)
	if err != nil {
		return Layer{}, err
	}
	at = strings.Trim(at, "/")
	return written(out, len(entries), func(t *tar.Writer) error {
		if alone {
			if err := way(t, at); err != nil {
				return err
			}
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := add(t, root, path.Join(at, e.Path), e, Owner{}); err != nil {
				return fault.Wrap(fault.Unknown, err, "pack %q", e.Path)
			}
		}
		return nil
	})
}

// Owner is whose something is in an image, by numbers; the zero Owner is root.
type Owner struct{ UID, GID int }

// Change is one way in which an image differs from what it stands on.
type Change struct {
	archive.Entry
	Gone  bool // it is there no more, and nothing below it
	Owner Owner
}

// Over writes changes as a layer, in their order. What they change is below root.
func Over(ctx context.Context, root *os.Root, changes []Change, out io.Writer) (Layer, error) {
	return written(out, len(changes), func(t *tar.Writer) error {
		for _, c := range changes {
			err := ctx.Err()
			if c.Gone {
				err = errors.Join(err, t.WriteHeader(header(path.Join(path.Dir(c.Path), ".wh."+path.Base(c.Path)), tar.TypeReg, 0o644, 0)))
			} else if err == nil {
				err = add(t, root, c.Path, c.Entry, c.Owner)
			}
			if err != nil {
				return fault.Wrap(fault.Unknown, err, "pack %q", c.Path)
			}
		}
		return nil
	})
}

// written is a layer of what fill writes.
func written(out io.Writer, entries int, fill func(*tar.Writer) error) (Layer, error) {
	packed, plain := sha256.New(), sha256.New()
	size := &counted{}
	z, err := gzip.NewWriterLevel(io.MultiWriter(out, packed, size), level)
	if err != nil {
		return Layer{}, err
	}
	t := tar.NewWriter(io.MultiWriter(z, plain))
	if err := fill(t); err != nil {
		return Layer{}, err
	}
	if err := t.Close(); err != nil {
		return Layer{}, err
	}
	if err := z.Close(); err != nil {
		return Layer{}, err
	}
	return Layer{Media, document.FromHash(packed.Sum(nil)), size.n, document.FromHash(plain.Sum(nil)), entries}, nil
}

// way writes the folders on the way to a path, and that.
func way(t *tar.Writer, to string) error {
	for i := range to + "/" {
		if i < len(to) && to[i] != '/' || to == "" {
			continue
		}
		if err := t.WriteHeader(header(to[:i]+"/", tar.TypeDir, 0o755, 0)); err != nil {
			return err
		}
	}
	return nil
}

func add(t *tar.Writer, root *os.Root, name string, e archive.Entry, o Owner) error {
	switch e.Kind {
	case archive.Directory:
		return t.WriteHeader(o.of(header(name+"/", tar.TypeDir, 0o755, 0)))
	case archive.Link:
		h := header(name, tar.TypeSymlink, 0o777, 0)
		h.Linkname = e.Target
		return t.WriteHeader(o.of(h))
	case archive.File:
	}
	mode := int64(0o644)
	if e.Executable {
		mode = 0o755
	}
	if err := t.WriteHeader(o.of(header(name, tar.TypeReg, mode, e.Size))); err != nil {
		return err
	}
	f, err := root.Open(e.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(t, f)
	return err
}

func header(name string, kind byte, mode, size int64) *tar.Header {
	return &tar.Header{Typeflag: kind, Name: name, Mode: mode, Size: size, ModTime: time.Unix(date, 0), Format: tar.FormatPAX}
}

func (o Owner) of(h *tar.Header) *tar.Header {
	h.Uid, h.Gid = o.UID, o.GID
	return h
}

type counted struct{ n int64 }

// Write counts p.
func (c *counted) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
