package builder

import (
	"bytes"
	"context"
	"time"

	"noxmesh/delivery/provenance"
	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/link"
	"noxmesh/manifest"
)

// signer is who says what a build was made of.
type signer struct {
	id  string
	key link.Key
}

// attest signs what the build was made of, and attaches that to the manifest which
// is about to be published: it names the one that it is about, and is listed with
// it. That the subject comes later is as the registries' specification has it.
func (o *order) attest(ctx context.Context, built manifest.Built, m oci.Manifest) (document.Digest, error) {
	text, digest, err := m.Encode()
	if err != nil {
		return "", err
	}
	statement, err := provenance.Of(provenance.Made{
		Request: o.request, Builder: o.signs.id, Manifest: built, Published: digest, Blobs: blobsOf(m),
		Began: o.given, Finished: o.given.Add(time.Since(o.given)),
	})
	if err != nil {
		return "", err
	}
	if _, err := statement.Encode(); err != nil { // it keeps the rules of its form
		return "", err
	}
	envelope, err := link.Seal(o.signs.key, link.TypeStatement, statement)
	if err != nil {
		return "", err
	}
	signed, err := document.Canonical(envelope)
	if err != nil {
		return "", err
	}
	subject := oci.Descriptor{MediaType: oci.MediaManifest, Digest: digest, Size: int64(len(text))}
	about := oci.About(subject, oci.Descriptor{
		MediaType: oci.MediaProvenance, Digest: document.Sum(signed), Size: int64(len(signed)),
		Annotations: map[string]string{"in-toto.io/predicate-type": provenance.PredicateType},
	})
	for _, b := range [][]byte{signed, []byte(oci.Empty)} {
		err := o.patiently(ctx, func() error { return o.push(ctx, document.Sum(b), int64(len(b)), bytes.NewReader(b)) })
		if err != nil {
			return "", err
		}
	}
	var is document.Digest
	err = o.patiently(ctx, func() error {
		return effect.Do("builder.provenance.push", func() (err error) {
			is, err = o.registry.PushManifest(ctx, o.request.Target, about)
			return err
		})
	})
	if err != nil {
		return "", fault.Add(err, "manifest of %q", o.request.Target)
	}
	return is, nil
}

// blobsOf is what a manifest names, as its provenance does.
func blobsOf(m oci.Manifest) []provenance.Blob {
	var all []provenance.Blob
	for _, l := range m.Layers {
		all = append(all, provenance.Blob{Name: l.Annotations[oci.TitleAnnotation], Digest: l.Digest})
	}
	return all
}
