package deliverystore

import (
	"time"

	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

const buildColumns = `id, content, module, manifest, bytes, published, request, builder, at, verdict, gone, finding, sequence, collected, gone_at`

func scanBuild(r db.Row) (b artifact.Build, err error) {
	var id, content, text, bytes, published, judged string
	var at, gone, collected, goneAt int64
	err = r.Scan(&id, &content, &b.Module, &text, &bytes, &published, &b.Request, &b.Builder, &at, &judged, &gone, &b.Finding, &b.Sequence, &collected, &goneAt)
	if err != nil {
		return b, err
	}
	b.ID, b.Content, b.Published = document.Digest(id), document.Digest(content), document.Digest(published)
	b.At, b.Gone, b.GoneAt, b.Collected, b.Verdict = db.Time(at), gone == 1, db.Time(goneAt), db.Time(collected), verdict.Parse(judged)
	if b.Manifest, err = db.FromJSON[manifest.Built]("the manifest of build "+id, text); err != nil {
		return b, err
	}
	b.Where, err = db.FromJSON[build.Where]("where build "+id+" lies", bytes)
	return b, err
}

// Build is the build with this id.
func Build(tx *db.Tx, id document.Digest) (artifact.Build, error) {
	b, found, err := db.One(tx, scanBuild, `SELECT `+buildColumns+` FROM build WHERE id = $1`, string(id))
	if err == nil && !found {
		err = fault.New(fault.NotFound, "there is no build %q", id).With("mesh builds lists them")
	}
	return b, err
}

// MadeBuilds is every build that was made of a module, newest first.
func MadeBuilds(tx *db.Tx, module string) ([]artifact.Build, error) {
	return db.All(tx, scanBuild, `SELECT `+buildColumns+` FROM build WHERE module = $1 ORDER BY sequence DESC`, module)
}

// AllBuilds is every build that was ever made.
func AllBuilds(tx *db.Tx) ([]artifact.Build, error) {
	return db.All(tx, scanBuild, `SELECT `+buildColumns+` FROM build`)
}

// MarkGone records that the registry has been seen not to hold the build, and
// since when that is known.
func MarkGone(tx *db.Tx, id document.Digest, at time.Time) error {
	return mark(tx, id, `UPDATE build SET gone_at = CASE gone WHEN 1 THEN gone_at ELSE $1 END, gone = 1 WHERE id = $2`, db.Millis(at), string(id))
}

// MarkPresent records that the registry has been seen to hold the build. One that
// is being collected, or was, stays gone: it is leaving.
func MarkPresent(tx *db.Tx, id document.Digest) error {
	return mark(tx, id, `UPDATE build SET gone = 0, gone_at = 0 WHERE id = $1 AND collected = 0`, string(id))
}

func mark(tx *db.Tx, id document.Digest, update string, args ...any) error {
	tx.Changed("build", string(id))
	n, err := tx.Exec(update, args...)
	if err == nil && n == 0 {
		_, err = Build(tx, id)
	}
	return err
}
