package container

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Archive is an image on its way into a runtime: an OCI layout as a stream.
type Archive struct {
	tar    *tar.Writer
	docker bool // it says what it is made of in docker's words as well
}

// NewArchive is an archive that is written to w.
func NewArchive(w io.Writer) *Archive { return &Archive{tar: tar.NewWriter(w)} }

// NewDockerArchive is one that is an archive of docker as well, as docker itself writes
// it since 25: before that it reads nothing else.
func NewDockerArchive(w io.Writer) *Archive { return &Archive{tar: tar.NewWriter(w), docker: true} }

// Pour has a runner take in the archive that fill writes, which it reads as it is
// written. Where fill fails it sees a stream that breaks off, takes in nothing, and the
// error is that of fill. Whether it has read to the end, its own answer says.
func Pour(archive func(io.Writer) *Archive, fill func(*Archive) error, take func(io.Reader) error) error {
	from, to := io.Pipe()
	filled := make(chan error, 1)
	go func() { // it ends with take, after which nobody reads
		err := fill(archive(to))
		filled <- err
		_ = to.CloseWithError(err) // it is never one of its own
	}()
	err := take(from)
	_ = from.CloseWithError(errTaken) // likewise
	wrong := <-filled
	if wrong == nil || errors.Is(wrong, errTaken) || errors.Is(wrong, io.ErrClosedPipe) { // a request closes what it was to read
		return err
	}
	return wrong
}

var errTaken = errors.New("nobody reads it any more")

// Manifest is what an image is made of.
type Manifest struct {
	Name   string // what it is to be called
	Digest document.Digest
	Size   int64
	Config document.Digest
	Layers []document.Digest // the lowest first
}

// Blob writes one blob of the image: fill writes exactly so many bytes.
func (a *Archive) Blob(digest document.Digest, size int64, fill func(io.Writer) error) error {
	if err := a.file(pathOf(digest), size); err != nil {
		return err
	}
	return fill(a.tar)
}

func pathOf(digest document.Digest) string { return "blobs/sha256/" + digest.Hex() }

func (a *Archive) file(name string, size int64) error {
	return a.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644, Typeflag: tar.TypeReg})
}

// End says which image it was that was written, and ends the archive.
func (a *Archive) End(m Manifest) error {
	if err := a.layout(m); err != nil {
		return err
	}
	if a.docker {
		layers := make([]string, len(m.Layers))
		for i, layer := range m.Layers {
			layers[i] = pathOf(layer)
		}
		if err := a.says("manifest.json", []any{map[string]any{"Config": pathOf(m.Config), "RepoTags": []string{m.Name}, "Layers": layers}}); err != nil {
			return err
		}
	}
	return a.tar.Close()
}

func (a *Archive) layout(m Manifest) error {
	const manifest = "application/vnd.oci.image.manifest.v1+json"
	names := map[string]string{"org.opencontainers.image.ref.name": m.Name}
	if a.docker {
		names["io.containerd.image.name"] = m.Name
	}
	if err := a.says("oci-layout", map[string]string{"imageLayoutVersion": "1.0.0"}); err != nil {
		return err
	}
	return a.says("index.json", map[string]any{"schemaVersion": 2, "manifests": []any{map[string]any{
		"mediaType": manifest, "digest": m.Digest, "size": m.Size, "annotations": names,
	}}})
}

func (a *Archive) says(name string, what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return fault.Wrap(fault.Broken, err, "write %q of an image", name)
	}
	if err := a.file(name, int64(len(text))); err != nil {
		return err
	}
	_, err = a.tar.Write(text)
	return err
}
