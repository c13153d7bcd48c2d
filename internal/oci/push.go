package oci

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// PushBlob stores the bytes of from, which are b's, and reads them back. What the
// registry already holds is not sent again. A blob that no manifest names is
// seen by nobody.
func (c *Client) PushBlob(ctx context.Context, b Blob, from io.Reader) error {
	has, err := c.HasBlob(ctx, b.Repository, b.Digest, b.Size)
	if err != nil {
		return fault.Add(err, "looking for %s in %q", b.Digest, b.Repository)
	}
	if has {
		return nil
	}
	err = effect.Do("oci.blob.push", func() error { return c.pushBlob(ctx, b, from) })
	if err != nil {
		return fault.Add(err, "pushing %s to %q", b.Digest, b.Repository)
	}
	if err := c.PullBlob(ctx, b, io.Discard); err != nil {
		return fault.Add(err, "reading back what was pushed")
	}
	return nil
}

func (c *Client) pushBlob(ctx context.Context, b Blob, from io.Reader) error {
	ctx, watch := c.watch(ctx, b.Size)
	defer watch.stop()
	resp, err := c.do(ctx, ask{method: http.MethodPost, target: "/v2/" + b.Repository + "/blobs/uploads/"}, http.StatusAccepted)
	if err != nil {
		return err
	}
	resp.Body.Close()
	target, err := c.upload(resp, b)
	if err != nil {
		return err
	}
	put := ask{method: http.MethodPut, target: target, body: http.NoBody}
	var body *exactly
	if b.Size > 0 {
		body = newExactly(watch.reader(from), b.Size)
		put.body, put.length = body, b.Size
	}
	resp, err = c.do(ctx, put, http.StatusCreated)
	if failed := body.wait(); failed != nil {
		return fault.Wrap(fault.Unknown, failed, "reading what is to be pushed")
	}
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// upload is where the registry wants the bytes. Another host is refused: the
// credential that goes with them is for this one.
func (c *Client) upload(resp *http.Response, b Blob) (string, error) {
	to, err := resp.Location()
	if err != nil {
		return "", fault.New(fault.Invalid, "registry %q does not say where to send the bytes", c.base.Host)
	}
	if to.Scheme != c.base.Scheme || to.Host != c.base.Host || !strings.HasPrefix(to.Path, "/v2/"+b.Repository+"/") {
		return "", fault.New(fault.Invalid, "registry %q wants the bytes sent elsewhere, to %q", c.base.Host, document.Short(to.Host))
	}
	q := to.Query()
	q.Set("digest", string(b.Digest))
	return (&url.URL{Path: to.Path, RawQuery: q.Encode()}).String(), nil
}

// exactly reads as many bytes as were promised, and keeps the error of a source
// that has fewer. Nothing reads the source once wait has returned.
type exactly struct {
	mu     sync.Mutex
	from   io.Reader
	left   int64
	err    error
	closed chan struct{}
	close  func()
}

func newExactly(from io.Reader, n int64) *exactly {
	closed := make(chan struct{})
	return &exactly{from: from, left: n, closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

// Read reads on.
func (e *exactly) Read(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.closed:
		return 0, io.ErrClosedPipe
	default:
	}
	if e.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > e.left {
		p = p[:e.left]
	}
	n, err := e.from.Read(p)
	e.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
		if e.left > 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	e.err = err
	return n, err
}

// Close ends reading; a read under way ends first.
func (e *exactly) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.close()
	return nil
}

// wait is the source's own error, once whoever sends it has let go of it.
func (e *exactly) wait() error {
	if e == nil {
		return nil
	}
	<-e.closed
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// PushManifest publishes m, under its digest and no other name, and reads it
// back. Its blobs must be there: it is the last step, and the one that shows.
func (c *Client) PushManifest(ctx context.Context, repo string, m Manifest) (document.Digest, error) {
	b, digest, err := m.Encode()
	if err != nil {
		return "", err
	}
	target, err := c.url(repo, "manifests", digest)
	if err != nil {
		return "", err
	}
	err = effect.Do("oci.manifest.push", func() error {
		put := ask{
			method: http.MethodPut, target: target, body: bytes.NewReader(b), length: int64(len(b)),
			header: map[string]string{"Content-Type": MediaManifest},
		}
		resp, err := c.do(ctx, put, http.StatusCreated)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	if err != nil {
		return "", fault.Add(err, "publishing manifest %s in %q", digest, repo)
	}
	if _, err := c.manifestBytes(ctx, repo, digest); err != nil {
		return "", fault.Add(err, "reading back manifest %s of %q", digest, repo)
	}
	return digest, nil
}
