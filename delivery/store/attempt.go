package deliverystore

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"noxmesh/delivery"
	"noxmesh/delivery/build"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

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
	Doing       string    // of one that is under way: the step, as far as its builder has said
	DoingSince  time.Time
	Steps       []build.Took
	Artifacts   []build.Artifact
	LogSize     int64
	Collected   time.Time       // when the build's bytes were taken away; zero where they were not
	Commands    bool            // it has commands to run
	Environment document.Digest // the image that they run in; empty: the builder's own root file system
	Network     bool            // of one that was built: they could reach other machines
	Provenance  document.Digest // of one that was built: what says what of; empty where nothing does
	Finding     string
	Check       string // the request that it checks; empty: it is none
}

// every is a limit that limits nothing.
const every = int64(1) << 40

// Listing says which part of the record of builds is asked for.
type Listing struct {
	Module string    // empty: every module
	Failed bool      // only those that ended without a fit build, and not because they were not wanted
	Since  time.Time // only those that were asked for then or later; zero: whenever
	Before string    // only those that stand after this request in the list; empty: from the newest on
	Limit  int       // 0: all of them
}

// Builds is the record of builds, newest first, however they ended.
func Builds(tx *db.Tx, l Listing) ([]Attempt, error) {
	n, before := cmp.Or(int64(l.Limit), every), int64(math.MaxInt64)
	if l.Before != "" {
		r, err := Request(tx, l.Before)
		if err != nil {
			return nil, err
		}
		before = db.Millis(r.MadeAt)
	}
	return db.All(tx, scanAttempt, selectAttempt+`WHERE ($1 = '' OR r.module = $1) AND r.made_at >= $2
		AND (r.made_at < $3 OR (r.made_at = $3 AND r.id > $4))
		AND ($5 = 0 OR a.outcome IN ('failed', 'environment') OR b.verdict = 'unfit' OR (r.state = 'withdrawn' AND r.lost >= $6))
		ORDER BY r.made_at DESC, r.id LIMIT $7`, l.Module, db.Millis(l.Since), before, l.Before, db.Flag(l.Failed), int64(lostAt), n)
}

// OneAttempt is the line of the record of builds that this request is.
func OneAttempt(tx *db.Tx, request string) (Attempt, error) {
	a, found, err := db.One(tx, scanAttempt, selectAttempt+`WHERE r.id = $1`, request)
	if err == nil && !found {
		_, err = Request(tx, request)
	}
	return a, err
}

const selectAttempt = `SELECT r.document, r.state, r.builder, r.why, r.made_at, r.leased_at, r.step, r.step_at, r.commands,
	coalesce(a.builder, ''), coalesce(a.outcome, ''), coalesce(a.step, ''), coalesce(a.why, ''), coalesce(a.build, ''), coalesce(a.steps, ''),
	coalesce(a.tests, ''), coalesce(a.began, 0), coalesce(a.ended, 0), coalesce(a.at, 0), coalesce(a.log_size, 0), coalesce(a.finding, ''),
	coalesce(a.provenance, ''),
	coalesce(b.content, ''), coalesce(b.verdict, ''), coalesce(b.manifest, ''), coalesce(b.bytes, ''), coalesce(b.collected, 0)
	FROM request r LEFT JOIN answer a ON a.request = r.id LEFT JOIN build b ON b.id = a.build `

// answered is what the record says of an answer, as it stands there.
type answered struct {
	outcome, step, why, build, steps, tests string
	content, verdict, manifest, bytes       string
	began, ended, at, collected             int64
}

func scanAttempt(r db.Row) (a Attempt, err error) {
	var doc, state, asked, lost string
	var madeAt, leased, doing, commands int64
	var is answered
	err = r.Scan(&doc, &state, &asked, &lost, &madeAt, &leased, &a.Doing, &doing, &commands,
		&a.Builder, &is.outcome, &is.step, &is.why, &is.build, &is.steps, &is.tests, &is.began, &is.ended, &is.at, &a.LogSize, &a.Finding, (*string)(&a.Provenance),
		&is.content, &is.verdict, &is.manifest, &is.bytes, &is.collected)
	if err != nil {
		return a, err
	}
	q, err := db.FromJSON[build.Request]("a request", doc)
	if err != nil {
		return a, err
	}
	a.Request, a.Module, a.Commit, a.Tree, a.Platform, a.Number = q.ID, q.Module, q.Commit, q.Tree, q.Platform, q.Attempt
	a.Check = q.Check
	a.Commands, a.Environment, a.Asked, a.State, a.Why = commands == 1, q.In(), db.Time(madeAt), state, lost
	if State(state) == Leased {
		a.DoingSince = db.Time(doing)
	} else {
		a.Doing = ""
	}
	if is.outcome == "" {
		if State(state) != Open {
			a.Builder, a.Began = asked, db.Time(leased)
		}
		return a, nil
	}
	return a, a.answered(is)
}

// answered fills in what an answer says.
func (a *Attempt) answered(is answered) (err error) {
	a.State, a.Outcome, a.Step, a.Why, a.Tests = is.outcome, build.Outcome(is.outcome), build.Step(is.step), is.why, build.Tests(is.tests)
	a.Build, a.Content, a.Verdict = document.Digest(is.build), document.Digest(is.content), verdict.Parse(is.verdict)
	a.Began, a.Ended, a.At, a.Collected = db.Time(is.began), db.Time(is.ended), db.Time(is.at), db.Time(is.collected)
	if a.Steps, err = db.FromJSON[[]build.Took]("how long the steps of request "+a.Request+" took", is.steps); err != nil || is.manifest == "" {
		return err
	}
	m, err := db.FromJSON[manifest.Built]("the manifest of build "+is.build, is.manifest)
	if err != nil {
		return err
	}
	w, err := db.FromJSON[build.Where]("where build "+is.build+" lies", is.bytes)
	a.Network, a.Artifacts = m.Built.Network, build.Artifacts(m, w)
	return err
}

// PastOf is the last builds of a module for a platform that ended well, newest first.
func PastOf(tx *db.Tx, module, platform string, last int) ([]delivery.Past, error) {
	return db.All(tx, func(r db.Row) (p delivery.Past, err error) {
		var began, ended int64
		var steps string
		if err = r.Scan(&began, &ended, &steps); err != nil {
			return p, err
		}
		p.Took = max(0, time.Duration(ended-began)*time.Millisecond)
		p.Steps, err = db.FromJSON[[]build.Took]("how long the steps of a build took", steps)
		return p, err
	}, `SELECT a.began, a.ended, a.steps FROM answer a JOIN request r ON r.id = a.request
		WHERE a.module = $1 AND r.platform = $2 AND a.outcome = 'built' AND a.tests <> 'failed' AND r.check_of = '' ORDER BY a.at DESC, a.request LIMIT $3`,
		module, platform, int64(last))
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
		`SELECT r.id, r.module, r.commit_hash FROM request r LEFT JOIN answer a ON a.request = r.id
		WHERE substr(r.id, 1, $1) = $2
			OR (r.check_of = '' AND (substr(r.commit_hash, 1, $1) = $2 OR substr(coalesce(a.build, ''), 8, $1) = $2))
		ORDER BY r.made_at DESC, r.id`, int64(len(w)), w)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fault.New(fault.NotFound, "no build, request or commit begins with %q", word).
			With("mesh builds lists them, and says how many older ones retention has removed")
	}
	if several := candidates(found); len(several) > 1 {
		return "", fault.New(fault.Invalid, "%d builds begin with %q: %s", len(several), word, shortList(several)).With("give more of it; mesh builds lists them")
	}
	return found[0].id, nil
}

// match is a request and of which commit of which module it is.
type match struct{ id, module, commit string }

func scanMatch(r db.Row) (m match, err error) {
	err = r.Scan(&m.id, &m.module, &m.commit)
	return m, err
}

// candidates is the newest of each commit among these.
func candidates(found []match) []match {
	seen := map[match]bool{}
	var out []match
	for _, m := range found {
		commit := match{module: m.module, commit: m.commit}
		if !seen[commit] {
			seen[commit] = true
			out = append(out, m)
		}
	}
	return out
}

// namedMost is how many candidates are named.
const namedMost = 5

func shortList(all []match) string {
	var words []string
	for _, m := range all[:min(len(all), namedMost)] {
		words = append(words, fmt.Sprintf("%s (%s at %s)", m.id[:min(12, len(m.id))], m.module, m.commit[:min(12, len(m.commit))]))
	}
	if more := len(all) - namedMost; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}
