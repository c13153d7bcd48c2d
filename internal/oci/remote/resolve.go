package remote

import (
	"context"
	"io"
	"net/http"
	"strings"

	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/clock"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

// Resolved is where a name points.
type Resolved struct {
	Head   document.Digest // what the name itself is: an index of several platforms, or an image
	Digest document.Digest // the image for the platform
	Same   bool            // the name is still at the known head, and nothing else was read
}

// Resolve finds where a name points for a platform. Where it is still at known,
// that costs one question without an answer's body. An error is a Later, or has a
// Cause, or is one of the way there.
func (c *Client) Resolve(ctx context.Context, of image.Reference, platform string, known document.Digest) (Resolved, error) {
	began := clock.Now()
	if err := c.manners.Enter(of.Registry, of.Name(), began); err != nil {
		return Resolved{}, err
	}
	defer func() { c.manners.Leave(of.Registry, began, clock.Now()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, 2*c.cfg.Patience, errSlow)
	defer cancel()
	head, err := c.head(ctx, of, known)
	switch {
	case err != nil:
		return Resolved{}, err
	case head == known && known != "":
		return Resolved{Head: known, Same: true}, nil
	}
	p, is, err := c.page(ctx, of, head)
	if err != nil {
		return Resolved{}, err
	}
	if known == is {
		return Resolved{Head: known, Same: true}, nil
	}
	digest, err := c.forPlatform(ctx, of, p, is, platform)
	return Resolved{Head: is, Digest: digest}, err
}

var errSlow = fault.New(fault.Unavailable, "it did not answer in time")

// forPlatform is the image for a platform, which is checked to be one.
func (c *Client) forPlatform(ctx context.Context, of image.Reference, p page, is document.Digest, platform string) (document.Digest, error) {
	if !p.isIndex() {
		conf, err := c.config(ctx, of, p)
		if err != nil {
			return "", err
		}
		return is, conf.forPlatform(platform)
	}
	chosen, err := p.choose(platform)
	if err != nil {
		return "", err
	}
	inner, _, err := c.page(ctx, of, chosen.Digest)
	if err == nil && inner.isIndex() {
		err = notImage("its index names another index for %s", platform)
	}
	return chosen.Digest, err
}

func accept() string {
	return strings.Join([]string{ociIndex, dockerIndex, ociManifest, dockerManifest}, ", ")
}

// head is the digest that a registry says a tag has, or empty where it does not
// say.
func (c *Client) head(ctx context.Context, of image.Reference, known document.Digest) (document.Digest, error) {
	header := map[string]string{"Accept": accept()}
	if known != "" {
		header["If-None-Match"] = `"` + string(known) + `"`
	}
	resp, err := c.do(ctx, ask{http.MethodHead, of, "manifests", of.Tag, header}, http.StatusOK, http.StatusNotModified, http.StatusMethodNotAllowed)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		return known, nil
	}
	d := document.Digest(resp.Header.Get("Docker-Content-Digest"))
	if resp.StatusCode != http.StatusOK || !d.Valid() {
		return "", nil
	}
	return d, nil
}

// page is the index or manifest with this digest, or the one that the tag names.
func (c *Client) page(ctx context.Context, of image.Reference, digest document.Digest) (page, document.Digest, error) {
	which := string(digest)
	if which == "" {
		which = of.Tag
	}
	resp, err := c.do(ctx, ask{http.MethodGet, of, "manifests", which, map[string]string{"Accept": accept()}}, http.StatusOK)
	if err != nil {
		return page{}, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	is := document.Sum(text)
	switch {
	case err != nil:
		return page{}, "", oci.Unreachable(ctx, of.Registry, err)
	case len(text) > maxDocument:
		return page{}, "", notImage("its manifest goes on after %d bytes", maxDocument)
	case digest != "" && is != digest:
		return page{}, "", fault.New(fault.Unavailable, "registry %q gave other bytes than %s: what came is %s", of.Registry, digest, is)
	}
	p, err := parsePage(text)
	return p, is, err
}

// config is the configuration of an image.
func (c *Client) config(ctx context.Context, of image.Reference, p page) (config, error) {
	text, err := c.small(ctx, of, Blob{p.Config.Digest, p.Config.Size})
	if err != nil {
		return config{}, err
	}
	return parseConfig(text)
}

// Image is what an image is made of: that with this digest, or that for the
// platform where the digest is of an index.
func (c *Client) Image(ctx context.Context, of image.Reference, digest document.Digest, platform string) (Image, error) {
	p, is, err := c.page(ctx, of, digest)
	if err != nil {
		return Image{}, err
	}
	if p.isIndex() {
		chosen, err := p.choose(platform)
		if err != nil {
			return Image{}, err
		}
		if p, is, err = c.page(ctx, of, chosen.Digest); err != nil {
			return Image{}, err
		}
		if p.isIndex() {
			return Image{}, notImage("its index names another index for %s", platform)
		}
	}
	conf, err := c.config(ctx, of, p)
	if err == nil {
		err = conf.forPlatform(platform)
	}
	if err != nil {
		return Image{}, err
	}
	return p.image(is, conf)
}
