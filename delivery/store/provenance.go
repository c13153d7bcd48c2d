package deliverystore

import (
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// Attested is one build that was made, and what says how it came about.
type Attested struct {
	Request    build.Request
	Build      document.Digest
	Provenance document.Digest // empty: its builder says nothing
	Builder    string          // whose key signs it
}

func scanAttested(r db.Row) (a Attested, err error) {
	var doc, made, said string
	if err = r.Scan(&doc, &made, &said, &a.Builder); err != nil {
		return a, err
	}
	a.Build, a.Provenance = document.Digest(made), document.Digest(said)
	a.Request, err = db.FromJSON[build.Request]("a request", doc)
	return a, err
}

const attested = `SELECT r.document, a.build, a.provenance, a.builder FROM answer a JOIN request r ON r.id = a.request JOIN build b ON b.id = a.build`

// AttestedBy is what the answer to a request made, with its provenance. A request
// that made nothing is a Conflict.
func AttestedBy(tx *db.Tx, request string) (Attested, error) {
	a, found, err := db.One(tx, scanAttested, attested+` WHERE a.request = $1`, request)
	if err == nil && !found {
		err = fault.New(fault.Conflict, "nothing was built of request %q", request).With("mesh builds shows what became of it")
	}
	return a, err
}

// NewestAttested is the same of the newest build of a module.
func NewestAttested(tx *db.Tx, module string) (Attested, error) {
	a, found, err := db.One(tx, scanAttested, attested+` WHERE b.module = $1 ORDER BY a.at DESC, b.sequence DESC, a.request LIMIT 1`, module)
	if err == nil && !found {
		err = fault.New(fault.NotFound, "nothing was built of %q yet", module).With("mesh builds %s shows what was tried", module)
	}
	return a, err
}
