package remote

import (
	"strings"
	"testing"

	"noxmesh/document"
	"noxmesh/document/documenttest"
)

func digestOf(s string) string { return string(document.Sum([]byte(s))) }

func pages() []string {
	return []string{
		`{"schemaVersion":2,"mediaType":"` + ociIndex + `","manifests":[{"mediaType":"` + ociManifest + `","digest":"` + digestOf("m") + `","size":2,"platform":{"os":"linux","architecture":"arm64","variant":"v8"}},{"digest":"` + digestOf("a") + `","size":1,"platform":{"os":"unknown","architecture":"unknown"}}]}`,
		`{"schemaVersion":2,"mediaType":"` + dockerManifest + `","config":{"mediaType":"` + dockerConfig + `","digest":"` + digestOf("c") + `","size":2},"layers":[{"mediaType":"application/vnd.docker.image.rootfs.diff.tar.gzip","digest":"` + digestOf("l") + `","size":3}]}`,
		`{"schemaVersion":2,"config":{"mediaType":"` + ociConfig + `","digest":"` + digestOf("c") + `","size":2},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+zstd","digest":"` + digestOf("l") + `","size":3}]}`,
		`{"schemaVersion":2,"config":{"mediaType":"` + ociConfig + `","digest":"` + digestOf("c") + `","size":2},"layers":[],"manifests":[{}]}`,
		`{"schemaVersion":1,"fsLayers":[]}`,
		`{"schemaVersion":2,"config":{"mediaType":"` + ociConfig + `","digest":"sha256:x","size":-1},"layers":[]}`,
		`<html>`,
	}
}

// FuzzPage: what is taken is an index or an image, never both; what is said of a
// refusal can be shown.
func FuzzPage(f *testing.F) {
	if len(pages()) != 7 {
		f.Fatal("a seed is missing")
	}
	for _, s := range pages() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer documenttest.Bounded(t, len(text))()
		p, err := parsePage(text)
		if err != nil {
			shown(t, err)
			return
		}
		if p.isIndex() == (p.Config != nil) {
			t.Errorf("%+v is an index and an image", p)
		}
		if p.isIndex() {
			if d, err := p.choose("linux/arm64"); err != nil {
				shown(t, err)
			} else if !d.valid(maxDocument) || d.Platform.Architecture != "arm64" {
				t.Errorf("%+v was chosen", d)
			}
			return
		}
		i, err := p.image(document.Sum(text), config{})
		if err == nil && len(i.Layers) != 0 {
			t.Errorf("layers without digests: %+v", i)
		}
	})
}

func shown(t *testing.T, err error) {
	t.Helper()
	if s := err.Error(); len(s) > 2000 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' }) {
		t.Errorf("this is said: %q", s)
	}
}

func configs() []string {
	return []string{
		`{"os":"linux","architecture":"arm64","config":{"Env":["PATH=/bin","A=","=b","C\u0000=d"]},"rootfs":{"type":"layers","diff_ids":["` + digestOf("l") + `"]}}`,
		`{"os":7}`, `{}`, `[]`,
	}
}

// FuzzConfig: what comes out of a configuration can stand in an environment.
func FuzzConfig(f *testing.F) {
	if len(configs()) != 4 {
		f.Fatal("a seed is missing")
	}
	for _, s := range configs() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		defer documenttest.Bounded(t, len(text))()
		c, err := parseConfig(text)
		if err != nil {
			shown(t, err)
			return
		}
		if err := c.forPlatform("linux/arm64"); err != nil {
			shown(t, err)
		}
		p := page{Layers: make([]descriptor, len(c.RootFS.DiffIDs))}
		i, err := p.image(document.Sum(text), c)
		if err != nil {
			shown(t, err)
			return
		}
		for _, e := range i.Env {
			if e[0] == "" || strings.ContainsAny(e[0], "=\x00 \n") || strings.ContainsRune(e[1], 0) {
				t.Errorf("%q stands in an environment", e)
			}
		}
	})
}

func TestPagesAreReadOrRefused(t *testing.T) {
	t.Parallel()
	for i, s := range pages()[:3] {
		if _, err := parsePage([]byte(s)); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	for i, s := range pages()[3:] {
		if _, err := parsePage([]byte(s)); err == nil {
			t.Errorf("%d is taken", i+3)
		}
	}
}
