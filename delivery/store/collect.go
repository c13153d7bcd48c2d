package deliverystore

import (
	"time"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/db"
)

// MarkCollected records that the bytes of a build are about to be taken away from
// the registry, since nothing names it. From then on it cannot be declared.
func MarkCollected(tx *db.Tx, id document.Digest, at time.Time) error {
	tx.Changed("build", string(id))
	n, err := tx.Exec(`UPDATE build SET gone = 1, collected = $1 WHERE id = $2`, db.Millis(at), string(id))
	if err == nil && n == 0 {
		_, err = Build(tx, id)
	}
	return err
}

// Left is when each module left that the mesh had and no longer has.
func Left(tx *db.Tx) (map[string]time.Time, error) {
	type left struct {
		name string
		at   time.Time
	}
	rows, err := db.All(tx, func(r db.Row) (l left, err error) {
		var at int64
		err = r.Scan(&l.name, &at)
		l.at = db.Time(at)
		return l, err
	}, `SELECT name, at FROM module_left`)
	out := make(map[string]time.Time, len(rows))
	for _, l := range rows {
		out[l.name] = l.at
	}
	return out, err
}

// LaidOut is what is laid out for the requests that may still be answered.
func LaidOut(tx *db.Tx) ([]build.Laid, error) {
	rows, err := requests(tx, `WHERE state IN ('open', 'leased') ORDER BY id`)
	var out []build.Laid
	for _, r := range rows {
		out = append(out, r.Laid...)
	}
	return out, err
}

// PublishedBuild is one build and the manifest that names all of it in the registry.
type PublishedBuild struct{ Build, Manifest document.Digest }

// Published is what the record says of one repository of the registry: the builds
// that have not been collected, and whether a builder that was given a request may
// be publishing there now.
func Published(tx *db.Tx, module string) (builds []PublishedBuild, busy bool, err error) {
	_, busy, err = db.One(tx, db.Text, `SELECT id FROM request WHERE module = $1 AND (state = 'leased' OR (state = 'open' AND leased_at > 0)) LIMIT 1`, module)
	if err != nil {
		return nil, false, err
	}
	builds, err = db.All(tx, func(r db.Row) (p PublishedBuild, err error) {
		err = r.Scan((*string)(&p.Build), (*string)(&p.Manifest))
		return p, err
	}, `SELECT id, published FROM build WHERE module = $1 AND collected = 0`, module)
	return builds, busy, err
}
