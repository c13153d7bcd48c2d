package inventorystore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/report"
	"noxmesh/trouble"
)

// SaveReport records a node's report, and reports whether it was newer than the
// last; an older one changes nothing. With it go the trouble of the node and
// when each content was first applied, and the versions of secrets. Facts that it does not repeat are kept.
func SaveReport(tx *db.Tx, r report.Report, envelope []byte, at time.Time) (bool, error) {
	was, found, err := db.One(tx, scanReport, `SELECT COALESCE(r.sequence, 0), COALESCE(r.report, ''), COALESCE(r.trouble, '')
		FROM node n LEFT JOIN node_report r ON r.node = n.id WHERE n.id = $1 AND n.removed_at = 0`, r.Node)
	if err == nil && !found {
		err = missing(tx, r.Node)
	}
	if err != nil {
		return false, err
	}
	if was.sequence >= r.Sequence {
		return false, nil
	}
	if r.Facts == nil {
		if r.Facts, err = factsIn(was.report); err != nil {
			return false, err
		}
	}
	text, err := db.JSON(r)
	if err != nil {
		return false, err
	}
	troubled, err := troubleText(troubleAfter(was.trouble, r, at))
	if err != nil {
		return false, err
	}
	tx.Changed("node_report", r.Node)
	_, err = tx.Exec(`INSERT INTO node_report (node, sequence, report, envelope, at, trouble) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (node) DO UPDATE SET sequence = excluded.sequence, report = excluded.report, envelope = excluded.envelope,
		at = excluded.at, trouble = excluded.trouble`,
		r.Node, r.Sequence, text, string(envelope), db.Millis(at), troubled)
	if err != nil {
		return false, err
	}
	if err := saveApplied(tx, r, at); err != nil {
		return false, err
	}
	return true, saveAppliedSecrets(tx, r, at)
}

type storedReport struct {
	sequence int64
	report   string
	trouble  trouble.Trouble
}

// factsIn is the facts in a report of the record, of which nothing else is looked at.
func factsIn(text string) (*report.Facts, error) {
	said, err := db.PartOf[struct {
		Facts *report.Facts `json:"facts"`
	}]("the last report", text)
	return said.Facts, err
}

func scanReport(r db.Row) (s storedReport, err error) {
	var troubled string
	if err = r.Scan(&s.sequence, &s.report, &troubled); err != nil {
		return s, err
	}
	s.trouble, err = db.FromJSON[trouble.Trouble]("the trouble of the last report", troubled)
	return s, err
}

// troubleAfter is the node's trouble after one more report. A clean report
// clears it. The host counts too, and it counts what never arrived here.
func troubleAfter(was trouble.Trouble, r report.Report, at time.Time) trouble.Trouble {
	switch {
	case r.Outcome == report.OutcomeConfirming:
		return was
	case r.Outcome == report.OutcomeApplied && r.Trouble == nil:
		return trouble.Trouble{}
	}
	at = db.Time(db.Millis(at))
	fingerprint, says := failureOf(r)
	if r.Trouble != nil {
		fingerprint = r.Trouble.Fingerprint
	}
	now := was.Again("node/"+r.Node, fingerprint, says, at)
	if r.Trouble == nil || r.Trouble.Count <= now.Count {
		return now
	}
	if age := time.Duration(r.Ended-r.Trouble.Since) * time.Millisecond; now.Count == 1 && age > 0 && age < maxAge {
		now.Since = at.Add(-age) // measured by the node's own clock, both ends
	}
	now.Count = r.Trouble.Count
	return now
}

// maxAge is the longest that a node is believed to have been in trouble before
// anybody heard of it: a clock that jumped would say decades.
const maxAge = 400 * 24 * time.Hour

// failureOf is the failed resources, and the first of them in words.
func failureOf(r report.Report) (fingerprint, says string) {
	var ids []string
	for _, res := range r.Resources {
		if res.State != report.StateFailed {
			continue
		}
		ids = append(ids, res.ID)
		if says == "" {
			says = res.ID + ": " + res.Error
		}
	}
	slices.Sort(ids)
	if len(ids) > 1 {
		says = fmt.Sprintf("%s (and %d more)", says, len(ids)-1)
	}
	if says == "" {
		says = "the apply failed"
	}
	return strings.Join(ids, ","), says
}

func troubleText(t trouble.Trouble) (string, error) {
	if t.Count == 0 {
		return "", nil
	}
	return db.JSON(t)
}

// Said is what a node has reported last.
type Said struct {
	Node    string
	Report  report.Report
	At      time.Time
	Trouble trouble.Trouble
}

// SaidBy is what the node has reported last, and false where it never did.
func SaidBy(tx *db.Tx, node string) (Said, bool, error) {
	return db.One(tx, scanSaid, `SELECT node, report, at, trouble FROM node_report WHERE node = $1`, node)
}

func scanSaid(r db.Row) (s Said, err error) {
	var said, troubled string
	var at int64
	if err = r.Scan(&s.Node, &said, &at, &troubled); err != nil {
		return s, err
	}
	s.At = db.Time(at)
	if s.Report, err = db.FromJSON[report.Report]("the report of node "+s.Node, said); err != nil {
		return s, err
	}
	s.Trouble, err = db.FromJSON[trouble.Trouble]("the trouble of node "+s.Node, troubled)
	return s, err
}

// AppliedModule is the content of a module that a node last reported as
// applied, and when it first did.
type AppliedModule struct {
	Content document.Digest
	At      time.Time
}

// Applied is what the node has reported as applied, by module. A failure or
// drift since then does not change it: it says when, and not whether.
func Applied(tx *db.Tx, node string) (map[string]AppliedModule, error) {
	rows, err := db.All(tx, scanApplied, `SELECT node, module, content, at FROM applied WHERE node = $1`, node)
	applied := make(map[string]AppliedModule, len(rows))
	for _, a := range rows {
		applied[a.module] = a.AppliedModule
	}
	return applied, err
}

// AllApplied is what every node has reported as applied, by node and module.
func AllApplied(tx *db.Tx) (map[string]map[string]AppliedModule, error) {
	rows, err := db.All(tx, scanApplied, `SELECT node, module, content, at FROM applied`)
	all := map[string]map[string]AppliedModule{}
	for _, a := range rows {
		if all[a.node] == nil {
			all[a.node] = map[string]AppliedModule{}
		}
		all[a.node][a.module] = a.AppliedModule
	}
	return all, err
}

type appliedRow struct {
	node, module string
	AppliedModule
}

func scanApplied(r db.Row) (a appliedRow, err error) {
	var at int64
	err = r.Scan(&a.node, &a.module, (*string)(&a.Content), &at)
	a.At = db.Time(at)
	return a, err
}

// saveApplied keeps the time at which each content was first applied, and
// forgets the modules that are no longer on the node. What stands is not
// written again.
func saveApplied(tx *db.Tx, r report.Report, at time.Time) error {
	had, err := Applied(tx, r.Node)
	if err != nil {
		return err
	}
	for _, m := range report.AppliedModules(r) {
		if had[m.Module].Content == m.Content {
			continue
		}
		_, err := tx.Exec(`INSERT INTO applied (node, module, content, at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (node, module) DO UPDATE SET content = excluded.content, at = excluded.at`,
			r.Node, m.Module, string(m.Content), db.Millis(at))
		if err != nil {
			return err
		}
	}
	named := make(map[string]bool, len(r.Modules))
	for _, m := range r.Modules {
		named[m.Module] = true
	}
	for name := range had {
		if named[name] {
			continue
		}
		if _, err := tx.Exec(`DELETE FROM applied WHERE node = $1 AND module = $2`, r.Node, name); err != nil {
			return err
		}
	}
	return nil
}
