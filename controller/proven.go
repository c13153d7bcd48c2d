package controller

import (
	"context"
	"time"

	"noxmesh/delivery/build"
	"noxmesh/delivery/provenance"
	"noxmesh/document"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/link"
)

// proven finds out whether what a builder says of a build is what was asked of it:
// what it published is the build that it answers with, and beside that lies, signed
// with its key, the one statement that follows from the request and the answer. A
// finding is why not, and fault.Unavailable that nobody can tell now. What a check
// made is published nowhere and is no build: it is compared, and needs none.
func (c *Controller) proven(ctx context.Context, b identitystore.BuilderRow, r build.Request, a build.Answer) (finding string, err error) {
	if a.Outcome != build.OutcomeBuilt || r.Check != "" { // a check is never declared, and nothing of it is published
		return "", nil
	}
	if err = c.prove(ctx, b, r, a); err == nil {
		return "", nil
	}
	if kind := fault.KindOf(err); kind == fault.Denied || kind == fault.Invalid {
		return "the provenance of what builder " + b.Name + " built does not stand: " + err.Error(), nil
	}
	return "", fault.Add(err, "verify the provenance of request %q", r.ID)
}

// pulled is what an error of the registry means for whoever says what lies there:
// that it does not is a finding, and everything else none of his doing.
func pulled(err error) error {
	switch fault.KindOf(err) {
	case fault.NotFound, fault.Invalid:
		return fault.Wrap(fault.Denied, err, "")
	case fault.Denied, fault.Unknown, fault.Unavailable, fault.Conflict, fault.Broken:
	}
	return fault.Wrap(fault.Unavailable, err, "")
}

func (c *Controller) prove(ctx context.Context, b identitystore.BuilderRow, r build.Request, a build.Answer) error {
	if a.Provenance == "" {
		return fault.New(fault.Denied, "there is none; upgrade the builder")
	}
	published, err := c.pull.PullManifest(ctx, r.Target, a.Published)
	if err != nil {
		return pulled(err)
	}
	if published.Config.Digest != a.Build {
		return fault.New(fault.Denied, "manifest %s is of build %s, and the answer is about build %s", a.Published.Short(), published.Config.Digest.Short(), a.Build.Short())
	}
	subject, signed, err := c.attestation(ctx, r.Target, a.Provenance)
	if err != nil {
		return err
	}
	if subject != a.Published {
		return fault.New(fault.Denied, "manifest %s is about manifest %s, and %s was published", a.Provenance.Short(), subject.Short(), a.Published.Short())
	}
	statement, err := opened(signed, b.Sign)
	if err != nil {
		return err
	}
	return provenance.Verify(statement, provenance.Made{
		Request: r, Builder: b.ID, Manifest: *a.Manifest, Published: a.Published, Blobs: blobsOf(published),
		Began: time.UnixMilli(a.Began), Finished: time.UnixMilli(a.Ended),
	})
}

// attestation is the signed statement in a manifest, and the manifest that this one
// is attached to.
func (c *Controller) attestation(ctx context.Context, repository string, manifest document.Digest) (subject document.Digest, signed link.Envelope, err error) {
	about, err := c.pull.PullManifest(ctx, repository, manifest)
	if err != nil {
		return "", signed, pulled(err)
	}
	switch {
	case about.Subject == nil || about.Subject.MediaType != oci.MediaManifest:
		return "", signed, fault.New(fault.Denied, "manifest %s is about no other manifest", manifest.Short())
	case about.ArtifactType != oci.MediaProvenance || len(about.Layers) != 1 || about.Layers[0].MediaType != oci.MediaProvenance:
		return "", signed, fault.New(fault.Denied, "manifest %s holds no provenance: want one layer of type %s", manifest.Short(), oci.MediaProvenance)
	case about.Layers[0].Size > link.EnvelopeLimit:
		return "", signed, fault.New(fault.Denied, "it has %d bytes, at most %d are read", about.Layers[0].Size, link.EnvelopeLimit)
	}
	data, err := c.pull.PullBytes(ctx, oci.Blob{Repository: repository, Digest: about.Layers[0].Digest, Size: about.Layers[0].Size})
	if err != nil {
		return "", signed, pulled(err)
	}
	signed, err = link.DecodeEnvelope(data)
	return about.Subject.Digest, signed, err
}

// opened is the statement in an envelope that this key signed.
func opened(envelope link.Envelope, key link.PublicKey) (provenance.Statement, error) {
	payload, err := envelope.Open(link.TypeStatement, key)
	if err != nil {
		return provenance.Statement{}, err
	}
	return provenance.Decode(payload)
}

// blobsOf is what a manifest names, as its provenance does.
func blobsOf(m oci.Manifest) (all []provenance.Blob) {
	for _, l := range m.Layers {
		all = append(all, provenance.Blob{Name: l.Annotations[oci.TitleAnnotation], Digest: l.Digest})
	}
	return all
}

// notTaken is what is recorded of an answer whose provenance does not stand: no
// build, and no verdict. It is asked for again, as when a builder could not.
func notTaken(a build.Answer, finding string) build.Answer {
	return build.Answer{
		Format: a.Format, Mesh: a.Mesh, Request: a.Request, Builder: a.Builder, Log: a.Log, LogSize: a.LogSize, Began: a.Began, Ended: a.Ended,
		Outcome: build.OutcomeEnvironment, Why: finding,
	}
}
