package builder

import (
	"context"
	"io"
	"os"

	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Registry takes what a build made. It may write to one repository, while the
// request is open.
type Registry interface {
	// PushBlob makes sure that the registry holds these bytes, and reads that
	// back. One that is there already is not sent.
	PushBlob(ctx context.Context, digest document.Digest, size int64, body io.ReadSeeker) error
	// PushManifest publishes the built manifest over blobs that are there.
	PushManifest(ctx context.Context, built []byte, blobs []Layer) (document.Digest, error)
}

// Layer is one blob of a published build.
type Layer struct {
	Digest document.Digest
	Size   int64
}

// publish puts the blobs where everybody can read them, and then, in one step,
// the build: nothing names a blob before all are there.
func (o *order) publish(ctx context.Context, result *made) error {
	var err error
	if result.manifest, err = o.derive(); err != nil {
		return err
	}
	body, err := document.Canonical(result.manifest)
	if err != nil {
		return err
	}
	var layers []Layer
	for _, b := range o.packed.blobs {
		if err := o.pushBlob(ctx, b); err != nil {
			return fault.Add(err, "%s", b.what)
		}
		layers = append(layers, Layer{b.digest, b.size})
	}
	err = effect.Do("builder.manifest.push", func() error {
		result.published, err = o.registry.PushManifest(ctx, body, layers)
		return err
	})
	if err != nil {
		return fault.Add(err, "the build's manifest")
	}
	result.where = o.packed.where
	o.log.Note("%d blobs, manifest %s", len(layers), result.published)
	return nil
}

func (o *order) pushBlob(ctx context.Context, b blob) error {
	return effect.Do("builder.blob.push", func() error {
		f, err := os.Open(b.path)
		if err != nil {
			return fault.Wrap(fault.Unavailable, err, "open what was packed")
		}
		defer f.Close()
		return o.registry.PushBlob(ctx, b.digest, b.size, f)
	})
}
