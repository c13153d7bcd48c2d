package builder

import (
	"context"
	"path/filepath"

	"noxmesh/builder/shelf"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

// A check makes again what was made before, to be compared: from nothing that
// this builder has kept but images, which are named by digest, and nothing of it
// is published that anybody could take for a build.

// librariesFor is where the libraries of a build are unpacked: those that are kept,
// and for a check a place of its own.
func (b *builder) librariesFor(r build.Request, at *bench) (*shelf.Shelf, error) {
	if r.Check == "" {
		return b.shelf, nil
	}
	return shelf.Open(shelf.Config{Dir: filepath.Join(at.dir, "libraries"), Most: b.config.Limits.Libraries, Free: b.config.Limits.Free})
}

// compared says what a build would be, and pushes of it what says which files
// archives hold, so that they can be compared. No manifest names that: it is
// collected when a while has gone by.
func (o *order) compared(ctx context.Context, result *made, body []byte) error {
	m := oci.Manifest{ArtifactType: oci.MediaBuilt, Config: oci.Descriptor{MediaType: oci.MediaBuilt, Digest: document.Sum(body), Size: int64(len(body))}}
	for _, b := range o.packed.blobs {
		m.Layers = append(m.Layers, oci.Descriptor{MediaType: b.media, Digest: b.digest, Size: b.size, Annotations: map[string]string{oci.TitleAnnotation: b.title}})
		if b.media != oci.MediaIndex {
			continue
		}
		if err := o.patiently(ctx, func() error { return o.pushBlob(ctx, b) }); err != nil {
			return fault.Add(err, "%s", b.title)
		}
	}
	_, digest, err := m.Encode()
	if err != nil {
		return err
	}
	result.published, result.where = digest, o.packed.where
	o.log.Note("a check of request %s: nothing is published", o.request.Check)
	return nil
}
