package elsewhere

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

// Kind is what is named by a digest.
type Kind string

// What a repository has.
const (
	Blobs     Kind = "blobs"
	Manifests Kind = "manifests"
)

// Thing is one blob or manifest of a repository.
type Thing struct {
	Repository string
	Kind       Kind
	Digest     document.Digest
}

func (t Thing) target() string { return string(t.Kind) + "/" + string(t.Digest) }

// Read asks for a thing, or for a part of it, as r does. That it is not there is an
// answer; whoever reads checks what comes.
func (c *Client) Read(ctx context.Context, t Thing, r *http.Request) (*http.Response, error) {
	header := map[string]string{}
	for _, name := range []string{"Accept", "Range", "If-None-Match"} {
		if v := r.Header.Get(name); v != "" {
			header[name] = v
		}
	}
	return c.do(ctx, ask{method: r.Method, repository: t.Repository, target: t.target(), header: header, actions: pull},
		http.StatusOK, http.StatusPartialContent, http.StatusNotModified, http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable)
}

// PushBlob sends size bytes, which the registry checks against the digest.
func (c *Client) PushBlob(ctx context.Context, t Thing, size int64, from io.Reader) error {
	err := effect.Do("elsewhere.blob.push", func() error { return c.pushBlob(ctx, t, size, from) })
	if err != nil {
		return fault.Add(c.unwritten(err), "push %s to %q of %q", t.Digest, t.Repository, c.Name())
	}
	return nil
}

func (c *Client) pushBlob(ctx context.Context, t Thing, size int64, from io.Reader) error {
	at, err := c.begin(ctx, t.Repository)
	if err != nil {
		return err
	}
	q := at.Query()
	q.Set("digest", string(t.Digest))
	at.RawQuery = q.Encode()
	put := ask{
		method: http.MethodPut, repository: t.Repository, target: at.String(), actions: push, body: http.NoBody,
		header: map[string]string{"Content-Type": "application/octet-stream"},
	}
	if size > 0 {
		put.body, put.length = io.NopCloser(from), size
	}
	resp, err := c.do(ctx, put, http.StatusCreated)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// begin opens an upload, and says where its bytes are to be sent.
func (c *Client) begin(ctx context.Context, repository string) (*url.URL, error) {
	resp, err := c.do(ctx, ask{method: http.MethodPost, repository: repository, target: "blobs/uploads/", actions: push}, http.StatusAccepted)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	at, err := resp.Location()
	if err != nil {
		return nil, fault.New(fault.Unavailable, "registry %q does not say where to send bytes", c.base.Host)
	}
	return at, nil
}

// unwritten is why something could not be written. Where there is no place for it the
// registry has to be told of one: none of it is wrong with what was to be written.
func (c *Client) unwritten(err error) error {
	switch fault.KindOf(err) {
	case fault.NotFound:
		return fault.Wrap(fault.Unavailable, err, "there is no place for it: make %q there, or what else it wants made first", c.Name())
	case fault.Invalid:
		return fault.Wrap(fault.Unavailable, err, "it does not take it")
	case fault.Unknown, fault.Conflict, fault.Denied, fault.Unavailable, fault.Broken:
	}
	return err
}

// PushManifest puts a manifest there, under its digest. Listed is whether the registry
// lists it with its subject by itself.
func (c *Client) PushManifest(ctx context.Context, t Thing, media string, text []byte) (listed bool, err error) {
	err = effect.Do("elsewhere.manifest.push", func() (err error) {
		listed, err = c.put(ctx, t.Repository, string(t.Digest), media, text)
		return err
	})
	if err != nil {
		return false, fault.Add(c.unwritten(err), "publish manifest %s in %q of %q", t.Digest, t.Repository, c.Name())
	}
	return listed, nil
}

func (c *Client) put(ctx context.Context, repository, reference, media string, text []byte) (listed bool, err error) {
	resp, err := c.do(ctx, ask{
		method: http.MethodPut, repository: repository, target: string(Manifests) + "/" + reference, actions: push,
		header: map[string]string{"Content-Type": media}, text: text,
	}, http.StatusCreated)
	if err != nil {
		return false, err
	}
	return resp.Header.Get(oci.SubjectHeader) != "", resp.Body.Close()
}

// Try is nil where something could be pushed to a repository now: an upload is begun,
// and let go.
func (c *Client) Try(ctx context.Context, repository string) error {
	if repository == "" {
		resp, err := c.do(ctx, ask{method: http.MethodGet, actions: pull}, http.StatusOK)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	at, err := c.begin(ctx, repository)
	if err != nil {
		return c.unwritten(err)
	}
	resp, err := c.do(ctx, ask{method: http.MethodDelete, repository: repository, target: at.String(), actions: push}, http.StatusNoContent, http.StatusOK, http.StatusAccepted)
	if err != nil {
		return nil //nolint:nilerr // it ends by itself, after a while
	}
	return resp.Body.Close()
}

// ErrKeeps is that the registry lets nothing be taken away.
var ErrKeeps = errors.New("it lets nothing be deleted")

// Delete takes a thing away. That it is not there is as good.
func (c *Client) Delete(ctx context.Context, t Thing) error {
	remove := func() error { return c.remove(ctx, t) }
	var err error
	if t.Kind == Manifests {
		err = effect.Do("elsewhere.manifest.delete", remove)
	} else {
		err = effect.Do("elsewhere.blob.delete", remove)
	}
	if err != nil {
		return fault.Add(err, "delete %s of %q of %q", t.target(), t.Repository, c.Name())
	}
	return nil
}

func (c *Client) remove(ctx context.Context, t Thing) error {
	a := ask{method: http.MethodDelete, repository: t.Repository, target: t.target(), actions: remove}
	resp, err := c.do(ctx, a, http.StatusAccepted, http.StatusOK, http.StatusNoContent, http.StatusNotFound, http.StatusMethodNotAllowed)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusMethodNotAllowed {
		return fault.Wrap(fault.Conflict, ErrKeeps, "registry %q answered %d", c.base.Host, resp.StatusCode)
	}
	return nil
}
