package controller

import (
	"cmp"
	"context"
	"net/url"

	"noxmesh/api"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// answerProvenance shows what a build was made of: as it lies in the registry now,
// and only where the key of the builder that answered has signed it.
func (c *Controller) answerProvenance(ctx context.Context, _ api.Who, in api.ProvenanceIn) (out api.ProvenanceOut, err error) {
	var a deliverystore.Attested
	var b identitystore.BuilderRow
	err = c.db.Read(ctx, func(tx *db.Tx) (err error) {
		if a, err = attestedOf(tx, in.Build); err != nil {
			return err
		}
		b, err = identitystore.AnyBuilder(tx, a.Builder)
		return err
	})
	if err != nil {
		return out, err
	}
	if a.Provenance == "" {
		return out, fault.New(fault.NotFound, "build %s of %q has no provenance: builder %q was of a version that says nothing of it", a.Build.Short(), a.Request.Module, b.Name).
			With("upgrade the builder; what is built after that has one")
	}
	subject, envelope, err := c.attested(ctx, a, b)
	if err != nil {
		kind := fault.KindOf(err)
		if kind == fault.Denied || kind == fault.Invalid {
			kind = fault.Conflict // nothing that who asks may not
		}
		return out, fault.Wrap(kind, err, "the provenance of build %s of %q", a.Build.Short(), a.Request.Module)
	}
	out = api.ProvenanceOut{
		Request: a.Request.ID, Module: a.Request.Module, Build: string(a.Build), Repository: c.hosted(a.Request.Target),
		Subject: string(subject), Manifest: string(a.Provenance), Builder: cmp.Or(b.Name, b.ID),
		Envelope: api.Envelope{PayloadType: string(envelope.PayloadType), Payload: envelope.Payload},
	}
	for _, s := range envelope.Signatures {
		out.Envelope.Signatures = append(out.Envelope.Signatures, api.Signature(s))
	}
	out.Key, err = b.Sign.PEM()
	return out, err
}

// attested is the provenance of a build as it lies in the registry now, and what it
// is attached to.
func (c *Controller) attested(ctx context.Context, a deliverystore.Attested, b identitystore.BuilderRow) (subject document.Digest, signed link.Envelope, err error) {
	subject, signed, err = c.attestation(ctx, a.Request.Target, a.Provenance)
	if err != nil {
		return "", signed, err
	}
	s, err := opened(signed, b.Sign)
	if err == nil && s.Subject[0].Digest["sha256"] != subject.Hex() {
		err = fault.New(fault.Denied, "it is about %s, and attached to %s", document.Printable(s.Subject[0].Digest["sha256"]), subject.Short())
	}
	return subject, signed, err
}

// attestedOf is the newest build of a module, or the one build that a person means.
func attestedOf(tx *db.Tx, word string) (deliverystore.Attested, error) {
	if _, known, err := deliverystore.OneModule(tx, word); err != nil || known {
		if err != nil {
			return deliverystore.Attested{}, err
		}
		return deliverystore.NewestAttested(tx, word)
	}
	request, err := deliverystore.FindRequest(tx, word)
	if err != nil {
		return deliverystore.Attested{}, err
	}
	return deliverystore.AttestedBy(tx, request)
}

// hosted is a repository of the registry, as other tools name it.
func (c *Controller) hosted(repository string) string {
	u, err := url.Parse(c.at.Registry)
	if err != nil || u.Host == "" {
		return repository
	}
	return u.Host + "/" + repository
}
