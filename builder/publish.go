package builder

import (
	"bytes"
	"context"
	"io"
	"os"
	"time"

	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/internal/planted"
)

// publish puts the blobs where everybody can read them, then what says how the
// build came about, and then, in one step, the build: nothing names a blob before
// all are there, and no build is seen without its provenance.
func (o *order) publish(ctx context.Context, result *made) error {
	var err error
	if result.manifest, err = o.derive(); err != nil {
		return err
	}
	body, err := result.manifest.Encode()
	if err != nil {
		return err
	}
	if o.request.Check != "" {
		return o.compared(ctx, result, body)
	}
	config := oci.Descriptor{MediaType: oci.MediaBuilt, Digest: document.Sum(body), Size: int64(len(body))}
	m := oci.Manifest{ArtifactType: oci.MediaBuilt, Config: config}
	if planted.Is("manifest published before its blobs") {
		if err := o.publishEarly(ctx, m); err != nil {
			return err
		}
	}
	for _, b := range o.packed.blobs {
		if err := o.patiently(ctx, func() error { return o.pushBlob(ctx, b) }); err != nil {
			return fault.Add(err, "%s", b.title)
		}
		m.Layers = append(m.Layers, oci.Descriptor{
			MediaType: b.media, Digest: b.digest, Size: b.size,
			Annotations: map[string]string{oci.TitleAnnotation: b.title},
		})
	}
	for _, i := range o.packed.composed {
		err := o.patiently(ctx, func() error {
			return effect.Do("builder.image.push", func() error {
				_, err := o.registry.PushManifest(ctx, o.request.Target, i)
				return err
			})
		})
		if err != nil {
			return fault.Add(err, "an image")
		}
	}
	err = o.patiently(ctx, func() error { return o.push(ctx, config.Digest, config.Size, bytes.NewReader(body)) })
	if err != nil {
		return fault.Add(err, "the built manifest")
	}
	if result.provenance, err = o.attest(ctx, result.manifest, m); err != nil {
		return fault.Add(err, "the provenance")
	}
	err = o.patiently(ctx, func() error {
		return effect.Do("builder.manifest.push", func() (err error) {
			result.published, err = o.registry.PushManifest(ctx, o.request.Target, m)
			return err
		})
	})
	if err != nil {
		return fault.Add(err, "the build")
	}
	result.where = o.packed.where
	o.log.Note("%d blobs, manifest %s, provenance %s", len(m.Layers)+1, result.published, result.provenance)
	return nil
}

// publishEarly is a planted bug: what names blobs that are not there.
func (o *order) publishEarly(ctx context.Context, m oci.Manifest) error {
	for _, b := range o.packed.blobs {
		m.Layers = append(m.Layers, oci.Descriptor{MediaType: b.media, Digest: b.digest, Size: b.size})
	}
	_, err := o.registry.PushManifest(ctx, o.request.Target, m)
	return err
}

// registryPatience is how long a registry that does not answer, or does not know
// yet that the lease goes on, is waited for. Whoever starts it again needs
// seconds, and what is to be published may have taken an hour.
const registryPatience = 30 * time.Second

// patiently tries again while it may be the registry's fault.
func (o *order) patiently(ctx context.Context, push func() error) error {
	over, wait := time.Now().Add(registryPatience), backoff{random: o.random}
	for {
		err := push()
		kind := fault.KindOf(err)
		if kind != fault.Unavailable && kind != fault.Denied || ctx.Err() != nil || time.Now().After(over) {
			return err
		}
		o.log.Note("try again: %s", said(err))
		wait.pause(ctx)
	}
}

func (o *order) pushBlob(ctx context.Context, b blob) error {
	f, err := os.Open(b.path)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open what was packed")
	}
	defer f.Close()
	return o.push(ctx, b.digest, b.size, f)
}

func (o *order) push(ctx context.Context, digest document.Digest, size int64, body io.Reader) error {
	return effect.Do("builder.blob.push", func() error {
		return o.registry.PushBlob(ctx, oci.Blob{Repository: o.request.Target, Digest: digest, Size: size}, body)
	})
}
