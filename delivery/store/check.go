package deliverystore

import (
	"fmt"

	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// CheckRow is one check of a build, and what came of it.
type CheckRow struct {
	Attempt

	Compared    bool // it was built, and what it made is compared
	Same        bool // of one that was built: each artifact is the same
	Differences []build.Difference
	Made        document.Digest // of one that was built: what it made
}

// AddCheck records a check of what another request ended in, that nobody makes yet.
func AddCheck(tx *db.Tx, r RequestRow) error {
	if r.Check == "" || r.Avoid == "" {
		return fault.New(fault.Broken, "record a check of %q: it checks nothing", r.Module)
	}
	return AddRequest(tx, r)
}

// saveCheck records what a check has made, held against what it checks. No build
// comes of it and no verdict; where the two are not the same, it is a finding
// about the build.
func saveCheck(tx *db.Tx, r RequestRow, row AnswerRow) error {
	a := row.Answer
	first, found, err := db.One(tx, scanBuild, `SELECT `+buildColumns+` FROM build WHERE id = (SELECT build FROM answer WHERE request = $1)`, r.Check)
	if err != nil {
		return err
	}
	if !found {
		return fault.New(fault.NotFound, "what request %q checks has left the record", r.ID)
	}
	differences := differ(first, a)
	text, err := db.JSON(differences)
	if err != nil {
		return err
	}
	bytes, err := db.JSON(a.Where)
	if err != nil {
		return err
	}
	compared := true
	for _, d := range differences {
		compared = compared && !hasFiles(d, first.Where, *a.Where)
	}
	_, err = tx.Exec(`INSERT INTO checked (request, check_of, module, build, bytes, same, compared, differences) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		r.ID, r.Check, r.Module, string(a.Build), bytes, db.Flag(len(differences) == 0), db.Flag(compared), text)
	if err != nil || len(differences) == 0 {
		return err
	}
	says := fmt.Sprintf("not reproducible: builder %s made %s of it, and builder %s made %s", first.Builder, first.ID.Short(), a.Builder, a.Build.Short())
	if _, err := tx.Exec(`UPDATE answer SET finding = $1 WHERE request = $2`, says, r.Check); err != nil {
		return err
	}
	tx.Changed("request", r.Check)
	tx.Changed("build", string(first.ID))
	_, err = tx.Exec(`UPDATE build SET finding = $1 WHERE id = $2`, says, string(first.ID))
	return err
}

// differ is what a build and the check of it did not make alike.
func differ(first artifact.Build, a build.Answer) []build.Difference {
	all := build.Differences(build.Artifacts(first.Manifest, first.Where), build.Artifacts(*a.Manifest, *a.Where))
	if len(all) == 0 && first.ID != a.Build {
		all = []build.Difference{{Type: build.OfManifest, Was: first.ID, Is: a.Build}}
	}
	return all
}

// hasFiles reports whether a difference is one of two archives.
func hasFiles(d build.Difference, was, is build.Where) bool {
	_, a := was.Archives[d.Was]
	_, b := is.Archives[d.Is]
	return a && b
}

// Uncompared is a check of which the files of archives are not compared yet.
type Uncompared struct {
	Request     string
	Module      string
	Was, Is     build.Where
	Differences []build.Difference
}

// HasFiles reports whether this difference is one of two archives, and how each of
// them travels.
func (u Uncompared) HasFiles(d build.Difference) (was, is build.Packed, has bool) {
	return u.Was.Archives[d.Was], u.Is.Archives[d.Is], hasFiles(d, u.Was, u.Is)
}

// ToCompare is the checks of a module whose files are not compared yet.
func ToCompare(tx *db.Tx, module string) ([]Uncompared, error) {
	return db.All(tx, func(r db.Row) (u Uncompared, err error) {
		var was, is, differences string
		if err = r.Scan(&u.Request, &u.Module, &was, &is, &differences); err != nil {
			return u, err
		}
		if u.Was, err = db.FromJSON[build.Where]("where a build lies", was); err != nil {
			return u, err
		}
		if u.Is, err = db.FromJSON[build.Where]("what a check made", is); err != nil {
			return u, err
		}
		u.Differences, err = db.FromJSON[[]build.Difference]("what is unlike", differences)
		return u, err
	}, `SELECT c.request, c.module, coalesce(b.bytes, ''), c.bytes, c.differences FROM checked c
		LEFT JOIN answer a ON a.request = c.check_of LEFT JOIN build b ON b.id = a.build WHERE c.module = $1 AND c.compared = 0 ORDER BY c.request`, module)
}

// WithoutFiles is the modules of which ToCompare gives something.
func WithoutFiles(tx *db.Tx) ([]string, error) {
	return db.All(tx, db.Text, `SELECT DISTINCT module FROM checked WHERE compared = 0 ORDER BY module`)
}

// SaveCompared records which files a check did not make alike.
func SaveCompared(tx *db.Tx, request string, differences []build.Difference) error {
	text, err := db.JSON(differences)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE checked SET compared = 1, differences = $1 WHERE request = $2`, text, request)
	return err
}

// Checks is every check of what a request ended in, newest first.
func Checks(tx *db.Tx, request string) ([]CheckRow, error) {
	attempts, err := db.All(tx, scanAttempt, selectAttempt+`WHERE r.check_of = $1 ORDER BY r.asked_in DESC, r.id`, request)
	if err != nil {
		return nil, err
	}
	out := make([]CheckRow, 0, len(attempts))
	for _, a := range attempts {
		c, _, err := db.One(tx, scanChecked, `SELECT same, compared, differences, build FROM checked WHERE request = $1`, a.Request)
		if err != nil {
			return nil, err
		}
		c.Attempt = a
		out = append(out, c)
	}
	return out, nil
}

func scanChecked(r db.Row) (c CheckRow, err error) {
	var same, compared int64
	var differences string
	if err = r.Scan(&same, &compared, &differences, (*string)(&c.Made)); err != nil {
		return c, err
	}
	c.Same, c.Compared = same == 1, compared == 1
	c.Differences, err = db.FromJSON[[]build.Difference]("what is unlike", differences)
	return c, err
}
