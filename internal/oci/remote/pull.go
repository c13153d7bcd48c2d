package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"noxmesh/image"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

// small is a small blob's bytes, checked.
func (c *Client) small(ctx context.Context, of image.Reference, b Blob) ([]byte, error) {
	var buf bytes.Buffer
	if err := c.all(ctx, of, oci.NewTransfer(b.Digest, b.Size, &buf)); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// Pull brings a blob into a file, and goes on where the file ends: what is there
// is taken for its beginning, and the whole is checked. A file whose bytes turn
// out to be others is emptied.
func (c *Client) Pull(ctx context.Context, of image.Reference, b Blob, file *os.File) error {
	t := oci.NewTransfer(b.Digest, b.Size, file)
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return &oci.Here{Err: err}
	}
	n, err := io.Copy(t.Sum, io.LimitReader(file, b.Size+1))
	if err != nil {
		return &oci.Here{Err: err}
	}
	if n > b.Size {
		n = 0
		t.Sum.Reset()
		if err := empty(file); err != nil {
			return err
		}
	}
	t.Got = n
	err = c.all(ctx, of, t)
	if _, other := errors.AsType[*oci.Other](err); other {
		return errors.Join(err, empty(file))
	}
	return err
}

func empty(file *os.File) error {
	_, err := file.Seek(0, io.SeekStart)
	if err = errors.Join(err, file.Truncate(0)); err != nil {
		return &oci.Here{Err: err}
	}
	return nil
}

// all reads until all is there. That another's registry gave other bytes is nothing
// that anybody here can mend, and it may give the right ones next time.
func (c *Client) all(ctx context.Context, of image.Reference, t *oci.Transfer) error {
	err := t.All(ctx, func() error { return c.part(ctx, of, t) })
	if err == nil {
		return nil
	}
	if _, other := errors.AsType[*oci.Other](err); other {
		err = &fault.Error{Kind: fault.Unavailable, Err: err}
	}
	return fault.Add(err, "pull %s of %q, %d of %d bytes", t.Digest, of.Name(), t.Got, t.Size)
}

// part asks for what is still missing and reads until it is there, the
// connection breaks, or nothing has come for as long as the client is patient. A
// slow registry that is somebody else's is waited for: unlike our own, it has no
// least rate.
func (c *Client) part(ctx context.Context, of image.Reference, t *oci.Transfer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := c.cfg.Patience
	idle := time.AfterFunc(2*patience, func() { cancel(fmt.Errorf("nothing came for %s", patience)) })
	defer idle.Stop()
	a := ask{method: http.MethodGet, of: of, kind: "blobs", which: string(t.Digest), header: t.Missing()}
	resp, err := c.do(ctx, a, http.StatusOK, http.StatusPartialContent)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	err = t.Take(resp, &ticking{resp.Body, func() { idle.Reset(patience) }})
	_, here := errors.AsType[*oci.Here](err)
	_, other := errors.AsType[*oci.Other](err)
	if err == nil || here || other {
		return err
	}
	return oci.Unreachable(ctx, of.Registry, err)
}

// ticking reads, and says when something came.
type ticking struct {
	from io.Reader
	came func()
}

// Read reads on.
func (t *ticking) Read(b []byte) (int, error) {
	n, err := t.from.Read(b)
	if n > 0 {
		t.came()
	}
	return n, err
}
