package sim

import (
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/link"
	"noxmesh/manifest"
)

// lie is a builder that says what is not so, with its own good key: it answers
// for work that it was never given, or answers a second time and differently.
func (w *world) lie() {
	liar := w.someMaker()
	told := w.office.seen["to answer"]
	if len(told) == 0 {
		return
	}
	e, err := link.DecodeEnvelope(told[w.rng.IntN(len(told))])
	if err != nil {
		return
	}
	a, err := build.DecodeAnswer(e.Payload)
	if err != nil {
		return // the broker had bent it
	}
	own := a.Builder == liar.id
	a.Builder = liar.id
	switch {
	case own && a.Manifest != nil: // its own work, answered already: another content this time
		a.Manifest = another(*a.Manifest)
		a.Build, err = a.Manifest.BuildDigest()
		w.must(err)
		a.Content, err = a.Manifest.ContentDigest()
		w.must(err)
	case own:
		return
	case a.Manifest != nil && w.rng.IntN(2) == 0: // another's work, of a commit that nobody asked for
		m := *a.Manifest
		m.Built.Tree = files{}.tree()
		a.Manifest = &m
		a.Build, err = m.BuildDigest()
		w.must(err)
	}
	forged, err := link.Seal(liar.key, link.TypeBuildAnswer, a)
	w.must(err)
	data, err := document.Canonical(forged)
	w.must(err)
	w.note(liar.name, "lies about request %s", a.Request[:8])
	w.later(w.latency(), func() {
		c := w.main()
		if c == nil || own && !c.answered(a.Request) {
			return // a lie about its own work that comes first is what it has built
		}
		c.serve(letter{link.VerbAnswer, liar.id, data}, nil, nil)
	})
}

// answered reports whether the record has an answer to the request.
func (c *control) answered(request string) bool {
	return c.count(`SELECT count(*) FROM answer WHERE request = $1`, request) > 0
}

// count asks the record for a number, past the queue.
func (c *control) count(query string, args ...any) (n int64) {
	c.w.must(c.db.Read(c.w.ctx, func(tx *db.Tx) (err error) {
		n, _, err = db.One(tx, db.Number, query, args...)
		return err
	}))
	return n
}

// another is a manifest like this one, and yet not the same.
func another(m manifest.Built) *manifest.Built {
	m.Summary += "another"
	return &m
}
