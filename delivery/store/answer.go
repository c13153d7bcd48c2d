package deliverystore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"noxmesh/delivery"
	"noxmesh/delivery/build"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// AnswerRow is a builder's answer as it came in.
type AnswerRow struct {
	Answer   build.Answer
	Envelope []byte // the signed message
	Verdict  verdict.Verdict
	At       time.Time

	// Finding is why what the builder signed is not what is recorded; empty where it
	// is. It stands beside the answer, and is about that builder.
	Finding string
}

// Saved is what an answer was to the record.
type Saved string

// What an answer can be. SavedDiffers is a finding: the first answer stands.
// SavedNot leaves nothing in the record, and must not be acknowledged as if it did.
const (
	SavedFirst   Saved = "first"
	SavedAgain   Saved = "again"
	SavedDiffers Saved = "differs"
	SavedNot     Saved = "not"
)

// JudgedByTests is who gives the verdict that comes with an answer.
const JudgedByTests = "tests"

// SaveAnswer records what a builder made of a request, and with it the build.
// The first answer is the fact and ends the request; another one that says the
// same changes nothing; one with another build is a finding about both. An
// answer of a builder that was never given the request is Denied, and one that
// does not hold what its digests say is Invalid. That one builder could not is
// no answer while another has the request, or may have it, and none once nobody
// asks; nor is that a build failed which somebody has cancelled just before.
func SaveAnswer(tx *db.Tx, row AnswerRow) (Saved, error) {
	a := row.Answer
	r, err := Request(tx, a.Request)
	if err != nil {
		return "", err
	}
	if !r.GivenTo(a.Builder) {
		return "", fault.New(fault.Denied, "request %q was never given to builder %q", r.ID, a.Builder)
	}
	if err := checkAnswer(r, a); err != nil {
		return "", err
	}
	first, found, err := db.One(tx, scanFirst, `SELECT builder, outcome, build FROM answer WHERE request = $1`, r.ID)
	if err != nil {
		return "", err
	}
	if found {
		tx.Changed("request", r.ID)
		return saveLater(tx, r, first, row)
	}
	if a.Outcome == build.OutcomeEnvironment && (r.State != Leased || r.Builder != a.Builder) || a.Outcome != build.OutcomeBuilt && cancelled(r) {
		return SavedNot, nil
	}
	tx.Changed("request", r.ID)
	if err := insertAnswer(tx, r, row); err != nil {
		return "", err
	}
	if err := saveMade(tx, r, row); err != nil {
		return "", err
	}
	if err := settleLog(tx, r.ID); err != nil {
		return "", err
	}
	_, err = tx.Exec(`UPDATE request SET state = 'done', since = $1, builder = $2, why = '' WHERE id = $3`, db.Millis(row.At), a.Builder, r.ID)
	return SavedFirst, err
}

// cancelled reports whether a person has withdrawn the request.
func cancelled(r RequestRow) bool {
	return r.State == Withdrawn && strings.HasPrefix(r.Why, delivery.CancelledBy)
}

// checkAnswer refuses an answer that is not about this request or contradicts itself.
func checkAnswer(r RequestRow, a build.Answer) error {
	if a.Outcome != build.OutcomeBuilt {
		return nil
	}
	if a.Manifest == nil || a.Where == nil {
		return fault.New(fault.Invalid, "the answer to request %q says built, and has no built manifest or no word of where it lies", r.ID)
	}
	whole, err := a.Manifest.BuildDigest()
	if err != nil {
		return err
	}
	content, err := a.Manifest.ContentDigest()
	if err != nil {
		return err
	}
	if whole != a.Build || content != a.Content {
		return fault.New(fault.Invalid, "the answer to request %q says build %s with content %s, and its manifest is %s with %s",
			r.ID, a.Build.Short(), a.Content.Short(), whole.Short(), content.Short())
	}
	made := a.Manifest.Built
	if a.Manifest.Module != r.Module || made.Commit != r.Commit || made.Tree != r.Tree || made.Platform != r.Platform || made.Environment != r.In() || !slices.Equal(made.Bases, r.Bases) {
		return fault.New(fault.Denied, "the answer to request %q is about another module, commit, tree, platform or environment than was asked", r.ID)
	}
	return nil
}

type firstAnswer struct {
	builder string
	outcome build.Outcome
	build   document.Digest
}

func scanFirst(r db.Row) (f firstAnswer, err error) {
	var outcome, made string
	err = r.Scan(&f.builder, &outcome, &made)
	f.outcome, f.build = build.Outcome(outcome), document.Digest(made)
	return f, err
}

// saveLater compares one more answer with the one that stands.
func saveLater(tx *db.Tx, r RequestRow, first firstAnswer, row AnswerRow) (Saved, error) {
	if r.Check != "" {
		return SavedAgain, nil // the first is what was compared
	}
	a, request := row.Answer, row.Answer.Request
	if first.outcome != build.OutcomeBuilt || a.Outcome != build.OutcomeBuilt || first.build == a.Build {
		return SavedAgain, nil
	}
	says := fmt.Sprintf("not reproducible: builder %s made %s of it, and builder %s made %s", first.builder, first.build.Short(), a.Builder, a.Build.Short())
	if _, err := tx.Exec(`UPDATE answer SET finding = $1 WHERE request = $2`, says, request); err != nil {
		return "", err
	}
	tx.Changed("build", string(first.build))
	_, err := tx.Exec(`UPDATE build SET finding = $1 WHERE id = $2`, says, string(first.build))
	return SavedDiffers, err
}

func insertAnswer(tx *db.Tx, r RequestRow, row AnswerRow) error {
	a := row.Answer
	if r.Check != "" { // what it made is no build, and has no verdict
		a.Build, row.Verdict = "", verdict.Outstanding
	}
	steps := "" // not said
	if len(a.Steps) > 0 {
		var err error
		if steps, err = db.JSON(a.Steps); err != nil {
			return err
		}
	}
	_, err := tx.Exec(`INSERT INTO answer (request, module, builder, outcome, step, why, build, tests, verdict, log_size, began, ended, at, finding, envelope, steps, provenance)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		r.ID, r.Module, a.Builder, string(a.Outcome), string(a.Step), a.Why, string(a.Build), string(a.Tests), row.Verdict.String(),
		a.LogSize, a.Began, a.Ended, db.Millis(row.At), row.Finding, string(row.Envelope), steps, string(a.Provenance))
	return err
}

// saveMade records what came of a request: a build, or of a check what it says of one.
func saveMade(tx *db.Tx, r RequestRow, row AnswerRow) error {
	switch {
	case row.Answer.Outcome != build.OutcomeBuilt:
		return nil
	case r.Check != "":
		return saveCheck(tx, r, row)
	}
	return saveBuild(tx, row)
}

// saveBuild records the build. One that was made before is the same build: it
// is there again, where the newer answer says, and is judged anew.
func saveBuild(tx *db.Tx, row AnswerRow) error {
	a := row.Answer
	text, err := db.JSON(a.Manifest)
	if err != nil {
		return err
	}
	bytes, err := db.JSON(a.Where)
	if err != nil {
		return err
	}
	tx.Changed("build", string(a.Build))
	_, err = tx.Exec(`INSERT INTO build (id, content, module, manifest, bytes, published, request, builder, at, verdict, gone, finding, sequence)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'outstanding', 0, '', (SELECT coalesce(max(sequence), 0) + 1 FROM build))
		ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes, published = excluded.published, gone = 0, gone_at = 0, collected = 0`,
		string(a.Build), string(a.Content), a.Manifest.Module, text, bytes, string(a.Published), a.Request, a.Builder, db.Millis(row.At))
	if err != nil || row.Verdict == verdict.Outstanding {
		return err
	}
	return SetVerdict(tx, Judgement{a.Build, JudgedByTests, row.Verdict, row.At})
}

// Judgement is one verdict on one build.
type Judgement struct {
	Build   document.Digest
	By      string // JudgedByTests, or a lab
	Verdict verdict.Verdict
	At      time.Time
}

// SetVerdict records a verdict; the build's own is the last one given.
func SetVerdict(tx *db.Tx, j Judgement) error {
	tx.Changed("build", string(j.Build))
	n, err := tx.Exec(`UPDATE build SET verdict = $1 WHERE id = $2`, j.Verdict.String(), string(j.Build))
	if err != nil {
		return err
	}
	if n == 0 {
		return fault.New(fault.NotFound, "there is no build %q", j.Build)
	}
	_, err = tx.Exec(`INSERT INTO verdict (build, judged_by, at, verdict) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		string(j.Build), j.By, db.Millis(j.At), j.Verdict.String())
	return err
}
