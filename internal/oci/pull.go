package oci

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

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
		return nil, c.unreachable(ctx, err)
	case int64(len(b)) > most:
		return nil, otherBytes(digest, "it goes on after %d bytes", most)
	case document.Sum(b) != digest:
		return nil, otherBytes(digest, "what came is %s", document.Sum(b))
	}
	return b, nil
}

// OtherBytes is what every error says that is about bytes which are not those of
// their digest.
const OtherBytes = "the registry gave other bytes than"

func otherBytes(digest document.Digest, why string, args ...any) error {
	return fault.New(fault.Invalid, OtherBytes+" %s: %s", digest, fmt.Sprintf(why, args...))
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
	p := &pull{client: c, blob: b, target: target, sum: sha256.New(), to: w, watch: watch}
	for {
		before := p.got
		err := p.part(ctx)
		if err == nil {
			break
		}
		if fault.KindOf(err) != fault.Unavailable || p.got == before || ctx.Err() != nil {
			return fault.Add(err, "pulling %s of %q, %d of %d bytes", b.Digest, b.Repository, p.got, b.Size)
		}
	}
	if got := document.FromHash(p.sum.Sum(nil)); got != b.Digest {
		return fault.Add(otherBytes(b.Digest, "what came is %s", got), "pulling from %q", b.Repository)
	}
	return nil
}

// Blob names one blob of a repository, with the size that it must have.
type Blob struct {
	Repository string
	Digest     document.Digest
	Size       int64
}

// pull is one blob on its way.
type pull struct {
	client *Client
	blob   Blob
	target string
	sum    hash.Hash
	to     io.Writer
	watch  *watch
	got    int64
}

// part asks for what is still missing and reads until it is there or the
// connection breaks.
func (p *pull) part(ctx context.Context) error {
	a := ask{method: http.MethodGet, target: p.target}
	if p.got > 0 {
		a.header = map[string]string{"Range": fmt.Sprintf("bytes=%d-", p.got)}
	}
	resp, err := p.client.do(ctx, a, http.StatusOK, http.StatusPartialContent)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body := p.watch.reader(resp.Body)
	if err := p.align(resp, body); err != nil {
		return err
	}
	want := p.blob.Size - p.got
	if resp.StatusCode == http.StatusPartialContent && resp.ContentLength >= 0 && resp.ContentLength != want {
		return otherBytes(p.blob.Digest, "it has %d more bytes, not %d", resp.ContentLength, want)
	}
	n, err := io.Copy(io.MultiWriter(p.sum, &local{p.to}), io.LimitReader(body, want))
	p.got += n
	var mine *localError
	switch {
	case errors.As(err, &mine):
		return fault.Wrap(fault.Unknown, mine.err, "writing what was pulled")
	case err != nil:
		return p.client.unreachable(ctx, err)
	case p.got < p.blob.Size:
		return otherBytes(p.blob.Digest, "it ends after %d of %d bytes", p.got, p.blob.Size)
	}
	if extra, err := io.CopyN(io.Discard, body, 1); extra > 0 || (err != nil && !errors.Is(err, io.EOF)) {
		if extra > 0 {
			return otherBytes(p.blob.Digest, "it goes on after %d bytes", p.blob.Size)
		}
		return nil // all that was promised is here; its end is not worth asking for
	}
	return nil
}

// align brings the answer to where the pull stands, or refuses one that is of another size.
func (p *pull) align(resp *http.Response, body io.Reader) error {
	if resp.StatusCode == http.StatusOK {
		if resp.ContentLength >= 0 && resp.ContentLength != p.blob.Size {
			return otherBytes(p.blob.Digest, "it has %d bytes there, not %d", resp.ContentLength, p.blob.Size)
		}
		_, err := io.CopyN(io.Discard, body, p.got)
		if err != nil {
			return fault.Wrap(fault.Unavailable, err, "registry %q", p.client.base.Host)
		}
		return nil
	}
	if start, ok := rangeStart(resp); !ok || start != p.got {
		return otherBytes(p.blob.Digest, "asked from byte %d it answers with %q", p.got, document.Short(resp.Header.Get("Content-Range")))
	}
	return nil
}

// rangeStart is the first byte of a partial answer.
func rangeStart(resp *http.Response) (int64, bool) {
	r, ok := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes ")
	if !ok {
		return 0, false
	}
	first, _, ok := strings.Cut(r, "-")
	n, err := strconv.ParseInt(first, 10, 64)
	return n, ok && err == nil
}

// local marks errors of where the bytes go, which no registry is to blame for.
type local struct{ to io.Writer }

// localError is an error of the writer that the caller gave.
type localError struct{ err error }

// Error is the writer's own words.
func (e *localError) Error() string { return e.err.Error() }

// Unwrap is the writer's error.
func (e *localError) Unwrap() error { return e.err }

// Write passes p on.
func (l *local) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	if err != nil {
		return n, &localError{err}
	}
	return n, nil
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
			err = c.unreachable(ctx, err)
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
		return n, r.client.unreachable(r.ctx, io.ErrUnexpectedEOF)
	case err != nil:
		return n, r.client.unreachable(r.ctx, err)
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
