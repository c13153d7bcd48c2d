package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/fault"
)

// small is a small blob's bytes, checked.
func (c *Client) small(ctx context.Context, of image.Reference, b Blob) ([]byte, error) {
	var buf bytes.Buffer
	p := &pull{client: c, of: of, blob: b, sum: sha256.New(), to: &buf}
	if err := p.whole(ctx); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// Pull brings a blob into a file, and goes on where the file ends: what is there
// is taken for its beginning, and the whole is checked. A file whose bytes turn
// out to be others is emptied.
func (c *Client) Pull(ctx context.Context, of image.Reference, b Blob, file *os.File) error {
	p := &pull{client: c, of: of, blob: b, sum: sha256.New(), to: file}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return &hereError{err}
	}
	n, err := io.Copy(p.sum, io.LimitReader(file, b.Size+1))
	if err != nil {
		return &hereError{err}
	}
	if n > b.Size {
		n = 0
		p.sum.Reset()
		if err := empty(file); err != nil {
			return err
		}
	}
	p.got = n
	err = p.whole(ctx)
	if errors.Is(err, errOther) {
		return errors.Join(err, empty(file))
	}
	return err
}

func empty(file *os.File) error {
	_, err := file.Seek(0, io.SeekStart)
	if err = errors.Join(err, file.Truncate(0)); err != nil {
		return &hereError{err}
	}
	return nil
}

// errOther is in an error of bytes that are not those that were asked for.
var errOther = errors.New("these are other bytes")

func otherBytes(digest document.Digest, why string, args ...any) error {
	return fault.Wrap(fault.Unavailable, errOther, "the registry gave other bytes than %s: %s", digest, fmt.Sprintf(why, args...))
}

// hereError is an error of where the bytes go, which no registry is to blame for.
type hereError struct{ err error }

// Error is the writer's own words.
func (e *hereError) Error() string { return "write what was pulled: " + e.err.Error() }

// Unwrap is the writer's error.
func (e *hereError) Unwrap() error { return e.err }

// pull is one blob on its way.
type pull struct {
	client *Client
	of     image.Reference
	blob   Blob
	sum    hash.Hash
	to     io.Writer
	got    int64
}

// whole reads until all is there, and asks again where a connection breaks that
// has brought something.
func (p *pull) whole(ctx context.Context) error {
	for p.got < p.blob.Size || p.got == 0 {
		before := p.got
		err := p.part(ctx)
		if err == nil {
			break
		}
		if fault.KindOf(err) != fault.Unavailable || errors.Is(err, errOther) || p.got == before || ctx.Err() != nil {
			return fault.Add(err, "pull %s of %q, %d of %d bytes", p.blob.Digest, p.of.Name(), p.got, p.blob.Size)
		}
	}
	if is := document.FromHash(p.sum.Sum(nil)); is != p.blob.Digest {
		return fault.Add(otherBytes(p.blob.Digest, "what came is %s", is), "pull from %q", p.of.Name())
	}
	return nil
}

// part asks for what is still missing and reads until it is there, the
// connection breaks, or nothing has come for as long as the client is patient.
func (p *pull) part(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := p.client.cfg.Patience
	idle := time.AfterFunc(2*patience, func() { cancel(fmt.Errorf("nothing came for %s", patience)) })
	defer idle.Stop()
	a := ask{method: http.MethodGet, of: p.of, kind: "blobs", which: string(p.blob.Digest)}
	if p.got > 0 {
		a.header = map[string]string{"Range": fmt.Sprintf("bytes=%d-", p.got)}
	}
	resp, err := p.client.do(ctx, a, http.StatusOK, http.StatusPartialContent)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body := &ticking{resp.Body, func() { idle.Reset(patience) }}
	if err := p.align(ctx, resp, body); err != nil {
		return err
	}
	n, err := io.Copy(io.MultiWriter(p.sum, &here{p.to}), io.LimitReader(body, p.blob.Size-p.got))
	p.got += n
	var mine *hereError
	switch {
	case errors.As(err, &mine):
		return mine
	case err != nil:
		return unreachable(ctx, p.of.Registry, err)
	case p.got < p.blob.Size:
		return unreachable(ctx, p.of.Registry, io.ErrUnexpectedEOF)
	}
	if extra, _ := io.CopyN(io.Discard, body, 1); extra > 0 {
		return otherBytes(p.blob.Digest, "it goes on after %d bytes", p.blob.Size)
	}
	return nil
}

// align brings the answer to where the pull stands, or refuses one that is of
// another size.
func (p *pull) align(ctx context.Context, resp *http.Response, body io.Reader) error {
	if resp.StatusCode == http.StatusOK {
		if resp.ContentLength >= 0 && resp.ContentLength != p.blob.Size {
			return otherBytes(p.blob.Digest, "it has %d bytes there, not %d", resp.ContentLength, p.blob.Size)
		}
		if _, err := io.CopyN(io.Discard, body, p.got); err != nil {
			return unreachable(ctx, p.of.Registry, err)
		}
		return nil
	}
	first, ok := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	first, _, dash := strings.Cut(first, "-")
	if start, err := strconv.ParseInt(first, 10, 64); !ok || !dash || err != nil || start != p.got {
		return otherBytes(p.blob.Digest, "asked from byte %d it answers with %q", p.got, document.Short(resp.Header.Get("Content-Range")))
	}
	return nil
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

// here marks errors of where the bytes go.
type here struct{ to io.Writer }

// Write passes b on.
func (h *here) Write(b []byte) (int, error) {
	n, err := h.to.Write(b)
	if err != nil {
		return n, &hereError{err}
	}
	return n, nil
}
