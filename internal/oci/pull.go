package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// HasBlob reports whether the registry holds this blob, of this size.
func (c *Client) HasBlob(ctx context.Context, repo string, digest document.Digest, size int64) (bool, error) {
	target, err := c.url(repo, "blobs", digest)
	if err != nil {
		return false, err
	}
	resp, err := c.do(ctx, ask{method: http.MethodHead, target: target}, http.StatusOK, http.StatusNotFound)
	if err != nil {
		return false, err
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return false, nil
	}
	if resp.ContentLength != size {
		return false, otherBytes(digest, "it has %d bytes there, not %d", resp.ContentLength, size)
	}
	return true, nil
}

// HasManifest reports whether the registry holds this manifest.
func (c *Client) HasManifest(ctx context.Context, repo string, digest document.Digest) (bool, error) {
	target, err := c.url(repo, "manifests", digest)
	if err != nil {
		return false, err
	}
	resp, err := c.do(ctx, ask{method: http.MethodHead, target: target, header: acceptManifest()}, http.StatusOK, http.StatusNotFound)
	if err != nil {
		return false, err
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK, nil
}

func acceptManifest() map[string]string { return map[string]string{"Accept": MediaManifest} }

// PullManifest is the manifest with this digest.
func (c *Client) PullManifest(ctx context.Context, repo string, digest document.Digest) (Manifest, error) {
	b, err := c.manifestBytes(ctx, repo, digest)
	if err != nil {
		return Manifest{}, fault.Add(err, "pulling manifest %s of %q", digest, repo)
	}
	m, err := DecodeManifest(b)
	if err != nil {
		return Manifest{}, fault.Add(err, "pulling manifest %s of %q", digest, repo)
	}
	return m, nil
}

func (c *Client) manifestBytes(ctx context.Context, repo string, digest document.Digest) ([]byte, error) {
	target, err := c.url(repo, "manifests", digest)
	if err != nil {
		return nil, err
	}
	ctx, watch := c.watch(ctx, int64(manifestLimits().Bytes))
	defer watch.stop()
	resp, err := c.do(ctx, ask{method: http.MethodGet, target: target, header: acceptManifest()}, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != MediaManifest {
		return nil, otherBytes(digest, "it calls it %q", document.Short(resp.Header.Get("Content-Type")))
	}
	most := int64(manifestLimits().Bytes)
	b, err := io.ReadAll(io.LimitReader(watch.reader(resp.Body), most+1))
	switch {
	case err != nil:
		return nil, Unreachable(ctx, c.base.Host, err)
	case int64(len(b)) > most:
		return nil, otherBytes(digest, "it goes on after %d bytes", most)
	case document.Sum(b) != digest:
		return nil, otherBytes(digest, "what came is %s", document.Sum(b))
	}
	return b, nil
}

// otherBytes is that our own registry has other bytes than its name for them says.
func otherBytes(digest document.Digest, why string, args ...any) error {
	return &fault.Error{Kind: fault.Invalid, Err: &Other{digest, fmt.Sprintf(why, args...)}}
}

// PullBlob writes the blob with this digest and size to w. A transfer that
// breaks off goes on where it stood. What was written to w is not to be used
// before PullBlob has returned nil.
func (c *Client) PullBlob(ctx context.Context, b Blob, w io.Writer) error {
	target, err := c.url(b.Repository, "blobs", b.Digest)
	if err != nil {
		return err
	}
	ctx, watch := c.watch(ctx, b.Size)
	defer watch.stop()
	t := NewTransfer(b.Digest, b.Size, w)
	err = t.All(ctx, func() error {
		resp, err := c.do(ctx, ask{method: http.MethodGet, target: target, header: t.Missing()}, http.StatusOK, http.StatusPartialContent)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return c.taken(ctx, t.Take(resp, watch.reader(resp.Body)))
	})
	if err != nil {
		return fault.Add(c.taken(ctx, err), "pulling %s of %q, %d of %d bytes", b.Digest, b.Repository, t.Got, b.Size)
	}
	return nil
}

// taken is why a part of a transfer failed, with its kind.
func (c *Client) taken(ctx context.Context, err error) error {
	_, here := errors.AsType[*Here](err)
	other, is := errors.AsType[*Other](err)
	switch {
	case err == nil, here, fault.KindOf(err) != fault.Unknown:
		return err
	case is:
		return &fault.Error{Kind: fault.Invalid, Err: other}
	}
	return Unreachable(ctx, c.base.Host, err)
}

// Blob names one blob of a repository, with the size that it must have.
type Blob struct {
	Repository string
	Digest     document.Digest
	Size       int64
}

// ReadRange is n bytes of a blob from off on. They are not checked: whoever reads
// a part of a blob checks each piece against what it knows of it.
func (c *Client) ReadRange(ctx context.Context, b Blob, off, n int64) (io.ReadCloser, error) {
	if off < 0 || n <= 0 || off > b.Size-n {
		return nil, fault.New(fault.Invalid, "bytes %d to %d of a blob of %d", off, off+n-1, b.Size)
	}
	target, err := c.url(b.Repository, "blobs", b.Digest)
	if err != nil {
		return nil, err
	}
	ctx, watch := c.watch(ctx, n)
	header := map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", off, off+n-1)}
	resp, err := c.do(ctx, ask{method: http.MethodGet, target: target, header: header}, http.StatusOK, http.StatusPartialContent) //nolint:bodyclose // whoever reads closes it
	if err != nil {
		watch.stop()
		return nil, fault.Add(err, "pulling bytes %d to %d of %s", off, off+n-1, b.Digest)
	}
	r := &ranged{ctx: ctx, client: c, body: resp.Body, watch: watch, digest: b.Digest, left: n}
	r.from = watch.reader(resp.Body)
	switch start, ok := rangeStart(resp); {
	case resp.StatusCode == http.StatusOK: // the whole blob
		if _, err = io.CopyN(io.Discard, r.from, off); err != nil {
			err = Unreachable(ctx, c.base.Host, err)
		}
	case !ok || start != off:
		err = otherBytes(b.Digest, "asked from byte %d it answers with %q", off, document.Short(resp.Header.Get("Content-Range")))
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// ranged reads exactly the asked number of bytes.
type ranged struct {
	ctx    context.Context //nolint:containedctx // of this one answer
	client *Client
	body   io.Closer
	from   io.Reader
	watch  *watch
	digest document.Digest
	left   int64
}

// Read reads on; an answer that ends early is an error, never an end.
func (r *ranged) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > r.left {
		p = p[:r.left]
	}
	n, err := r.from.Read(p)
	r.left -= int64(n)
	switch {
	case r.left == 0:
		return n, nil
	case errors.Is(err, io.EOF):
		return n, Unreachable(r.ctx, r.client.base.Host, io.ErrUnexpectedEOF)
	case err != nil:
		return n, Unreachable(r.ctx, r.client.base.Host, err)
	}
	return n, nil
}

// Close ends the transfer.
func (r *ranged) Close() error {
	r.watch.stop()
	return r.body.Close()
}

// PullBytes is a small blob's bytes, checked.
func (c *Client) PullBytes(ctx context.Context, b Blob) ([]byte, error) {
	const most = 64 << 20
	if b.Size < 0 || b.Size > most {
		return nil, fault.New(fault.Invalid, "%s has %d bytes: too many to hold at once", b.Digest, b.Size)
	}
	var buf bytes.Buffer
	if err := c.PullBlob(ctx, b, &buf); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
