package deliverystore

import (
	"strings"
	"time"

	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

const buildColumns = `id, content, module, manifest, bytes, published, request, builder, at, verdict, gone, finding, sequence, collected`

func scanBuild(r db.Row) (b artifact.Build, err error) {
	var id, content, text, bytes, published, judged string
	var at, gone, collected int64
	err = r.Scan(&id, &content, &b.Module, &text, &bytes, &published, &b.Request, &b.Builder, &at, &judged, &gone, &b.Finding, &b.Sequence, &collected)
	if err != nil {
		return b, err
	}
	b.ID, b.Content, b.Published = document.Digest(id), document.Digest(content), document.Digest(published)
	b.At, b.Gone, b.Collected, b.Verdict = db.Time(at), gone == 1, db.Time(collected), verdict.Parse(judged)
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

// MarkGone records that the registry has been seen not to hold the build.
func MarkGone(tx *db.Tx, id document.Digest) error { return mark(tx, id, true) }

// MarkPresent records that the registry has been seen to hold the build.
func MarkPresent(tx *db.Tx, id document.Digest) error { return mark(tx, id, false) }

func mark(tx *db.Tx, id document.Digest, gone bool) error {
	tx.Changed("build", string(id))
	n, err := tx.Exec(`UPDATE build SET gone = $1, collected = collected * $2 WHERE id = $3`, db.Flag(gone), db.Flag(gone), string(id))
	if err == nil && n == 0 {
		_, err = Build(tx, id)
	}
	return err
}

// Attempt is one request and how it ended: a line of the record of builds.
type Attempt struct {
	Request     string
	Module      string
	Commit      string
	Tree        string
	Platform    string
	Number      int64  // which attempt at this closure
	State       string // open, leased or withdrawn; of one that was answered: built, failed or environment
	Outcome     build.Outcome
	Step        build.Step
	Why         string
	Build       document.Digest
	Content     document.Digest
	Verdict     verdict.Verdict // the build's
	Tests       build.Tests
	Builder     string
	Asked       time.Time
	Began       time.Time // by the builder's clock; of one that is under way, when it was given
	Ended       time.Time // by the builder's clock
	At          time.Time // when the answer was committed
	LogSize     int64
	Collected   time.Time       // when the build's bytes were taken away; zero where they were not
	Commands    bool            // it has commands to run
	Environment document.Digest // the image that they run in; empty: the builder's own root file system
	Network     bool            // of one that was built: they could reach other machines
	Finding     string
}

// every is a limit that limits nothing.
const every = int64(1) << 40

// Builds is the record of builds of a module, newest first, however they
// ended; of every module where the name is empty, and all of them where limit is 0.
func Builds(tx *db.Tx, module string, limit int) ([]Attempt, error) {
	n := int64(limit)
	if n <= 0 {
		n = every
	}
	return db.All(tx, scanAttempt, `SELECT r.document, r.state, r.builder, r.why, r.made_at, r.leased_at,
		coalesce(a.builder, ''), coalesce(a.outcome, ''), coalesce(a.step, ''), coalesce(a.why, ''), coalesce(a.build, ''),
		coalesce(b.content, ''), coalesce(b.verdict, ''), coalesce(a.tests, ''), coalesce(a.began, 0), coalesce(a.ended, 0),
		coalesce(a.at, 0), coalesce(a.log_size, 0), coalesce(a.finding, ''), r.commands,
		CASE WHEN b.manifest LIKE '%"network":true%' THEN 1 ELSE 0 END, coalesce(b.collected, 0)
		FROM request r LEFT JOIN answer a ON a.request = r.id LEFT JOIN build b ON b.id = a.build
		WHERE ($1 = '' OR r.module = $1) ORDER BY r.made_at DESC, r.id LIMIT $2`, module, n)
}

func scanAttempt(r db.Row) (a Attempt, err error) {
	var doc, state, asked, lost, outcome, step, why, made, content, judged, tests string
	var madeAt, leased, began, ended, at, commands, network, collected int64
	err = r.Scan(&doc, &state, &asked, &lost, &madeAt, &leased, &a.Builder, &outcome, &step, &why, &made,
		&content, &judged, &tests, &began, &ended, &at, &a.LogSize, &a.Finding, &commands, &network, &collected)
	if err != nil {
		return a, err
	}
	q, err := db.FromJSON[build.Request]("a request", doc)
	a.Request, a.Module, a.Commit, a.Tree, a.Platform, a.Number = q.ID, q.Module, q.Commit, q.Tree, q.Platform, q.Attempt
	a.Commands, a.Environment, a.Network, a.Collected = commands == 1, q.In(), network == 1, db.Time(collected)
	a.Asked, a.State, a.Why, a.At = db.Time(madeAt), state, lost, db.Time(at)
	if outcome == "" {
		if State(state) != Open {
			a.Builder, a.Began = asked, db.Time(leased)
		}
		return a, err
	}
	a.State, a.Outcome, a.Step, a.Why, a.Tests = outcome, build.Outcome(outcome), build.Step(step), why, build.Tests(tests)
	a.Build, a.Content, a.Verdict = document.Digest(made), document.Digest(content), verdict.Parse(judged)
	a.Began, a.Ended = db.Time(began), db.Time(ended)
	return a, err
}

// FindRequest is the id of the one request that a person means with the
// beginning of a request's id, of a build's digest or of a commit. Several
// attempts at one commit are one answer, the newest.
func FindRequest(tx *db.Tx, word string) (string, error) {
	w := strings.TrimPrefix(word, "sha256:")
	if w == "" || strings.Trim(w, "0123456789abcdef") != "" {
		return "", fault.New(fault.Invalid, "%q is not the beginning of a build, a request or a commit", word).
			With("mesh builds lists them")
	}
	found, err := db.All(tx, scanMatch,
		`SELECT r.id, r.module || ' ' || r.commit_hash FROM request r LEFT JOIN answer a ON a.request = r.id
		WHERE substr(r.id, 1, $1) = $2 OR substr(r.commit_hash, 1, $1) = $2 OR substr(coalesce(a.build, ''), 8, $1) = $2
		ORDER BY r.made_at DESC, r.id`, int64(len(w)), w)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fault.New(fault.NotFound, "no build, request or commit begins with %q", word).With("mesh builds lists them")
	}
	for _, m := range found {
		if m.commit != found[0].commit {
			return "", fault.New(fault.Invalid, "%d builds begin with %q", len(found), word).With("give more of it; mesh builds lists them")
		}
	}
	return found[0].id, nil
}

// match is a request and of which commit of which module it is.
type match struct{ id, commit string }

func scanMatch(r db.Row) (m match, err error) {
	err = r.Scan(&m.id, &m.commit)
	return m, err
}
