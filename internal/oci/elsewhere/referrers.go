package elsewhere

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

// Referrer is one manifest that is about another, as a list of them has it.
type Referrer struct {
	MediaType    string            `json:"mediaType"`
	Digest       document.Digest   `json:"digest"`
	Size         int64             `json:"size"`
	ArtifactType string            `json:"artifactType,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

const (
	maxIndex  = oci.ManifestLimit
	maxPages  = 64
	maxListed = 10_000
)

// index is a list of manifests. What others have put into it is kept as it is.
type index struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Manifests     []json.RawMessage `json:"manifests"`
	Annotations   json.RawMessage   `json:"annotations,omitempty"`
}

// parseIndex reads a list, and of it what can be read.
func parseIndex(text []byte) (i index, all []Referrer, err error) {
	if err := json.Unmarshal(text, &i); err != nil {
		return index{}, nil, errors.New("it is no list of manifests")
	}
	if i.MediaType != "" && i.MediaType != oci.MediaReferrers {
		return index{}, nil, errors.New("it is a " + document.Printable(i.MediaType))
	}
	for _, raw := range i.Manifests {
		var r Referrer
		if json.Unmarshal(raw, &r) == nil && r.Digest.Valid() && r.Size >= 0 && r.MediaType != "" {
			all = append(all, r)
		}
	}
	return i, all, nil
}

// tagOf is the tag under which a registry that lists no referrers has those of a manifest.
func tagOf(d document.Digest) string { return strings.Replace(string(d), ":", "-", 1) }

// Referrers is what the registry has that is about a manifest, by its own list, or by
// the tag where it has none.
func (c *Client) Referrers(ctx context.Context, repository string, subject document.Digest) ([]Referrer, error) {
	all, lists, err := c.listed(ctx, repository, subject)
	if err == nil && !lists {
		_, _, all, err = c.tagged(ctx, repository, subject)
	}
	if err != nil {
		return nil, fault.Add(err, "look what is about %s in %q of %q", subject, repository, c.Name())
	}
	slices.SortFunc(all, func(a, b Referrer) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	return slices.CompactFunc(all, func(a, b Referrer) bool { return a.Digest == b.Digest }), nil
}

// listed is the registry's own list; not lists where it has none.
func (c *Client) listed(ctx context.Context, repository string, subject document.Digest) (all []Referrer, lists bool, err error) {
	a := ask{method: http.MethodGet, repository: repository, target: "referrers/" + string(subject), actions: pull, header: map[string]string{"Accept": oci.MediaReferrers}}
	for range maxPages {
		resp, err := c.do(ctx, a, http.StatusOK, http.StatusNotFound, http.StatusMethodNotAllowed)
		if err != nil {
			return nil, false, err
		}
		text, is, err := c.indexIn(ctx, resp)
		if err != nil || !is {
			return nil, false, err
		}
		_, some, err := parseIndex(text)
		if err != nil {
			return nil, false, fault.Wrap(fault.Unavailable, err, "registry %q", c.base.Host)
		}
		all = append(all, some...)
		next, more := nextPage(resp.Header.Get("Link"))
		if !more || len(all) >= maxListed {
			return all, true, nil
		}
		at, err := resp.Request.URL.Parse(next)
		if err != nil {
			return all, true, nil //nolint:nilerr // it names no page
		}
		a.target = at.String()
	}
	return all, true, nil
}

// nextPage is the address in a header Link that is called next.
func nextPage(link string) (string, bool) {
	at, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(link), "<"), ">")
	_, err := url.Parse(at)
	return at, ok && err == nil && at != "" && strings.Contains(strings.ReplaceAll(rest, " ", ""), `rel="next"`)
}

// indexIn is the text of an answer that is a list of manifests.
func (c *Client) indexIn(ctx context.Context, resp *http.Response) (text []byte, is bool, err error) {
	defer resp.Body.Close()
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || err != nil || kind != oci.MediaReferrers {
		return nil, false, nil
	}
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxIndex+1))
	switch {
	case err != nil:
		return nil, false, oci.Unreachable(ctx, c.base.Host, err)
	case len(text) > maxIndex:
		return nil, false, fault.New(fault.Unavailable, "registry %q gives a list of more than %d bytes", c.base.Host, maxIndex)
	}
	return text, true, nil
}

// tagged is what the tag of a manifest's referrers means now; was is empty where there is none.
func (c *Client) tagged(ctx context.Context, repository string, subject document.Digest) (was document.Digest, i index, all []Referrer, err error) {
	i = index{SchemaVersion: 2, MediaType: oci.MediaReferrers, Manifests: []json.RawMessage{}}
	resp, err := c.do(ctx, ask{
		method: http.MethodGet, repository: repository, target: string(Manifests) + "/" + tagOf(subject), actions: pull,
		header: map[string]string{"Accept": oci.MediaReferrers},
	}, http.StatusOK, http.StatusNotFound)
	if err != nil {
		return "", i, nil, err
	}
	text, is, err := c.indexIn(ctx, resp)
	if err != nil || !is {
		return "", i, nil, err
	}
	found, all, err := parseIndex(text)
	if err != nil {
		return "", i, nil, fault.Wrap(fault.Unavailable, err, "registry %q, tag %q", c.base.Host, tagOf(subject))
	}
	return document.Sum(text), found, all, nil
}

// Attach puts a manifest into the list that a tag is for: the registry has said that
// it keeps none of its own.
func (c *Client) Attach(ctx context.Context, repository string, subject document.Digest, r Referrer) error {
	c.attaching.Lock()
	defer c.attaching.Unlock()
	was, i, all, err := c.tagged(ctx, repository, subject)
	if err == nil && !slices.ContainsFunc(all, func(there Referrer) bool { return there.Digest == r.Digest }) {
		var one []byte
		if one, err = document.Canonical(r); err == nil {
			i.Manifests = append(i.Manifests, one)
			err = c.retag(ctx, repository, subject, was, i)
		}
	}
	if err != nil {
		return fault.Add(c.unwritten(err), "list manifest %s with %s in %q of %q", r.Digest, subject, repository, c.Name())
	}
	return nil
}

// Detach takes a manifest out of that list, and the list away where it is empty.
func (c *Client) Detach(ctx context.Context, repository string, subject, manifest document.Digest) error {
	c.attaching.Lock()
	defer c.attaching.Unlock()
	was, i, all, err := c.tagged(ctx, repository, subject)
	if err != nil || !slices.ContainsFunc(all, func(there Referrer) bool { return there.Digest == manifest }) {
		return err
	}
	i.Manifests = slices.DeleteFunc(i.Manifests, func(raw json.RawMessage) bool {
		var r Referrer
		return json.Unmarshal(raw, &r) == nil && r.Digest == manifest
	})
	if len(i.Manifests) == 0 {
		return c.Delete(ctx, Thing{repository, Manifests, was})
	}
	if err := c.retag(ctx, repository, subject, was, i); err != nil {
		return fault.Add(err, "take manifest %s from the list of %s in %q of %q", manifest, subject, repository, c.Name())
	}
	return nil
}

// retag lets the tag mean a new list, and takes the one that it meant away: nothing
// else leads to that.
func (c *Client) retag(ctx context.Context, repository string, subject, was document.Digest, i index) error {
	text, err := json.Marshal(i)
	if err != nil {
		return fault.Wrap(fault.Broken, err, "write a list of manifests")
	}
	if len(text) > maxIndex {
		return fault.New(fault.Unavailable, "the list of what is about %s comes to more than %d bytes", subject, maxIndex)
	}
	err = effect.Do("elsewhere.referrers.tag", func() error {
		_, err := c.put(ctx, repository, tagOf(subject), oci.MediaReferrers, text)
		return err
	})
	if err == nil && was != "" && was != document.Sum(text) {
		_ = c.Delete(ctx, Thing{repository, Manifests, was}) // where it stays, nothing leads there
	}
	return err
}
