package imagetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strings"
	"time"

	"noxmesh/document"
)

// Image is one image to be pushed.
type Image struct {
	Platform string // linux/amd64
	Env      []string
	Layers   []Layer // the lowest first
}

// Layer is the entries of one layer.
type Layer []Entry

// Entry is one entry of a layer; a Kind of 0 is a file.
type Entry struct {
	Name string
	Kind byte // as archive/tar has it
	Text string
	Link string
	Mode int64
}

// Tar is the layer's bytes.
func (l Layer) Tar() []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range l {
		h := &tar.Header{Name: e.Name, Typeflag: e.Kind, Linkname: e.Link, Mode: e.Mode, Size: int64(len(e.Text)), ModTime: time.Unix(1, 0)}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			panic(err) // of the test's own making
		}
		if _, err := w.Write([]byte(e.Text)); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

type named struct {
	MediaType string          `json:"mediaType"`
	Digest    document.Digest `json:"digest"`
	Size      int             `json:"size"`
	Platform  *platform       `json:"platform,omitempty"`
}

type platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
}

func platformOf(text string) platform {
	system, machine, _ := strings.Cut(text, "/")
	return platform{system, machine}
}

// The media types of what is pushed.
const (
	MediaIndex    = "application/vnd.oci.image.index.v1+json"
	MediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// JSON is a document's bytes.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// One puts one image there, under no tag: the digest of its manifest, and its size.
func (r *Registry) One(repository string, i Image) (document.Digest, int) {
	r.t.Helper()
	p := platformOf(i.Platform)
	plain, layers := []document.Digest{}, []named{}
	for _, l := range i.Layers {
		text := l.Tar()
		var packed bytes.Buffer
		// What unpacks it is what is tested: to squeeze it would cost a test more than all the rest.
		w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		r.must(err)
		_, err = w.Write(text)
		r.must(err)
		r.must(w.Close())
		plain = append(plain, document.Sum(text))
		layers = append(layers, named{MediaType: mediaLayer, Digest: r.Blob(repository, packed.Bytes()), Size: packed.Len()})
	}
	config := JSON(map[string]any{
		"os": p.OS, "architecture": p.Architecture, "config": map[string]any{"Env": i.Env, "Entrypoint": []string{"/never"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": plain},
	})
	b := JSON(map[string]any{
		"schemaVersion": 2, "mediaType": MediaManifest, "layers": layers,
		"config": named{MediaType: mediaConfig, Digest: r.Blob(repository, config), Size: len(config)},
	})
	return r.Manifest(repository, MediaManifest, b), len(b)
}

// Push puts images there as one index, and lets a tag mean it: the digest of
// each, in order.
func (r *Registry) Push(repository, tag string, images ...Image) []document.Digest {
	r.t.Helper()
	var all []named
	var digests []document.Digest
	for _, i := range images {
		p := platformOf(i.Platform)
		digest, size := r.One(repository, i)
		all, digests = append(all, named{MediaManifest, digest, size, &p}), append(digests, digest)
	}
	r.Tag(repository, tag, r.Manifest(repository, MediaIndex, JSON(map[string]any{"schemaVersion": 2, "mediaType": MediaIndex, "manifests": all})))
	return digests
}
