package declaration

import (
	"maps"
	"net/url"
	"slices"
	"strconv"

	"noxmesh/document"
)

func (c *checker) where(w Where) {
	if w.Registry != "" {
		c.registry(w.Registry)
	}
	for _, digest := range slices.Sorted(maps.Keys(w.Inline)) {
		c.inline(digest, w.Inline[digest])
	}
	for _, digest := range slices.Sorted(maps.Keys(w.Blobs)) {
		path, blob := document.Join("where.blobs", string(digest)), w.Blobs[digest]
		c.keyDigest(path, digest)
		c.repository(path, blob.Repository)
		c.size(path+".size", blob.Size, 0)
	}
	for _, digest := range slices.Sorted(maps.Keys(w.Archives)) {
		path, packed := document.Join("where.archives", string(digest)), w.Archives[digest]
		c.keyDigest(path, digest)
		c.repository(path, packed.Repository)
		c.digest(path+".index", packed.Index)
		c.size(path+".index_size", packed.IndexSize, 1)
		c.digest(path+".blob", packed.Blob)
		c.size(path+".size", packed.Size, 1)
	}
}

func (c *checker) registry(s string) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Scheme+"://"+u.Host != s {
		c.Fault("where.registry", "want https://HOST:PORT and no path", "%q is not a registry", document.Short(s))
	}
}

func (c *checker) inline(digest document.Digest, text string) {
	got := document.Sum([]byte(text))
	if got == digest && len(text) <= InlineLimit {
		return
	}
	path := document.Join("where.inline", string(digest))
	c.keyDigest(path, digest)
	if len(text) > InlineLimit {
		c.Fault(path, "want at most "+strconv.Itoa(InlineLimit)+"; a larger one is a blob", "%d bytes", len(text))
		return
	}
	if digest.Valid() && got != digest {
		c.FaultKey(path, "want "+string(got), "the text has another digest")
	}
}

func (c *checker) keyDigest(path string, d document.Digest) {
	if !d.Valid() {
		c.FaultKey(path, "want sha256: and 64 lower-case hexadecimal digits", "%q is not a digest", document.Short(string(d)))
	}
}

func (c *checker) repository(path, name string) {
	if !document.IsRepository(name) {
		c.Fault(path+".repository", "want a repository of the registry", "%q is not a repository", document.Short(name))
	}
}

func (c *checker) size(path string, n, least int64) {
	if n < least {
		c.Fault(path, "want "+strconv.FormatInt(least, 10)+" or more", "size %d", n)
	}
}
