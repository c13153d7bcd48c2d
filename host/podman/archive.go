package podman

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"noxmesh/document"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// Archive is an image on its way into podman: an OCI layout as a stream.
type Archive struct{ tar *tar.Writer }

// Blob writes one blob of the image: fill writes exactly so many bytes.
func (a *Archive) Blob(digest document.Digest, size int64, fill func(io.Writer) error) error {
	if err := a.file("blobs/sha256/"+digest.Hex(), size); err != nil {
		return err
	}
	return fill(a.tar)
}

func (a *Archive) file(name string, size int64) error {
	return a.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644, Typeflag: tar.TypeReg})
}

// Index names the image that was written, by the digest and the size of its manifest.
func (a *Archive) Index(name string, digest document.Digest, size int64) error {
	const manifest = "application/vnd.oci.image.manifest.v1+json"
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []any{map[string]any{
		"mediaType": manifest, "digest": digest, "size": size, "annotations": map[string]string{"org.opencontainers.image.ref.name": name},
	}}})
	if err != nil {
		return fault.Wrap(fault.Broken, err, "name the image %q", name)
	}
	for file, text := range map[string]string{"oci-layout": `{"imageLayoutVersion":"1.0.0"}`, "index.json": string(index)} {
		if err := a.file(file, int64(len(text))); err != nil {
			return err
		}
		if _, err := io.WriteString(a.tar, text); err != nil {
			return err
		}
	}
	return a.tar.Close()
}

// load has podman read what fill writes. Where fill fails podman sees a stream that
// breaks off, and takes in nothing.
func (p Podman) load(ctx context.Context, name string, fill func(*Archive) error) error {
	from, to := io.Pipe()
	filled := make(chan error, 1)
	go func() { // it ends with podman, which closes its end
		err := fill(&Archive{tar.NewWriter(to)})
		filled <- err
		_ = to.CloseWithError(err) // it is never one of its own
	}()
	done, err := p.sys.Run(ctx, system.Command{Name: program, Args: []string{"load", "--quiet"}, Input: from})
	_ = from.CloseWithError(errEnded) // likewise
	wrong := <-filled
	switch {
	case wrong != nil && !errors.Is(wrong, errEnded): // what podman says of it is that it breaks off
		return wrong
	case err != nil:
		return err
	case done.Code != 0 && blamed(done.Said) != nil:
		return fault.Wrap(fault.Conflict, blamed(done.Said), "take in the image %q", name)
	case done.Code != 0:
		return fault.Wrap(fault.Conflict, fault.New(fault.Conflict, "podman says: %s", loadWords(done.Said)), "take in the image %q", name)
	}
	return wrong
}

var errEnded = errors.New("podman has ended")

// loadWords is why no image could be taken in: podman tries each form that an image may
// have, and says of each why it is not that one.
func loadWords(said string) string {
	for line := range strings.Lines(said) {
		if why, ok := strings.CutPrefix(line, " * oci-archive: "); ok {
			return lastWords(why)
		}
	}
	return lastWords(said)
}
