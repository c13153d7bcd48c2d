package deliverystore

import (
	"slices"
	"strings"
	"time"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// State is where a request stands.
type State = delivery.AskState

// The states of a request.
const (
	Open      = delivery.Open
	Leased    = delivery.Leased
	Done      = delivery.Done
	Withdrawn = delivery.Withdrawn
)

// RequestRow is one request and where it stands.
type RequestRow struct {
	build.Request
	Envelope   link.Envelope // the request as it is signed
	Commands   bool          // it has commands to run, and needs a builder with a sandbox
	MadeAt     time.Time
	State      State
	Since      time.Time // since when it is in State
	Builder    string    // leased: who has it; afterwards: who had it last
	LeasedAt   time.Time // when it was last given; zero: never
	HeardAt    time.Time // when that builder last said that it is working; zero: not yet
	LeaseUntil time.Time
	Deadline   time.Time // no lease goes beyond it
	Lost       int64     // how many leases ran out
	Why        string    // withdrawn: why; open again: what became of the last lease
	Given      []string  // every builder that it was ever given to
	Avoid      string    // of a check: who made what it checks, and takes it only where nobody else does
}

// GivenTo reports whether this builder was ever given the request, and so may answer it.
func (r RequestRow) GivenTo(builder string) bool { return slices.Contains(r.Given, builder) }

// What is asked for of a request: all of it, or where it stands, without what is asked.
const (
	wholeOf    = `id, document, envelope, ` + standingOf
	onlyWhere  = `id, '', '', ` + standingOf
	standingOf = `commands, made_at, state, since, builder, leased_at, heard_at, lease_until, deadline, lost, why, avoid,
		coalesce((SELECT string_agg(g.builder, ' ') FROM given g WHERE g.request = r.id), '')`
)

func scanRequest(r db.Row) (q RequestRow, err error) {
	var id, document, envelope, state, given string
	var commands, made, since, leased, heard, until, deadline int64
	err = r.Scan(&id, &document, &envelope, &commands, &made, &state, &since, &q.Builder, &leased, &heard, &until, &deadline, &q.Lost, &q.Why, &q.Avoid, &given)
	if err != nil {
		return q, err
	}
	if given != "" {
		q.Given = db.Sorted(strings.Split(given, " "), func(s string) string { return s })
	}
	q.Commands, q.State, q.MadeAt, q.Since = commands == 1, State(state), db.Time(made), db.Time(since)
	q.LeasedAt, q.HeardAt, q.LeaseUntil, q.Deadline = db.Time(leased), db.Time(heard), db.Time(until), db.Time(deadline)
	if document == "" {
		q.ID = id
		return q, nil
	}
	if q.Request, err = db.FromJSON[build.Request]("request "+id, document); err != nil {
		return q, err
	}
	q.Envelope, err = db.FromJSON[link.Envelope]("the envelope of request "+id, envelope)
	return q, err
}

// requests answers a query that ends in what the given tail says, with all of each row.
func requests(tx *db.Tx, tail string, args ...any) ([]RequestRow, error) {
	return db.All(tx, scanRequest, `SELECT `+wholeOf+` FROM request r `+tail, args...)
}

// standing is where a request stands, without what is asked; false where there is
// no such request.
func standing(tx *db.Tx, id string) (RequestRow, bool, error) {
	return db.One(tx, scanRequest, `SELECT `+onlyWhere+` FROM request r WHERE id = $1`, id)
}

// revision is the one that this write makes of the record: what was written
// before has a smaller one, whatever the clock said.
const revision = `(SELECT revision FROM fence)`

// AddRequest records a request that is open for any builder. Adding one that is
// there changes nothing, wherever it stands, but for one that was withdrawn as
// moved: it is open again, as it is asked for now.
func AddRequest(tx *db.Tx, r RequestRow) error {
	if r.ID == "" || r.Module == "" {
		return fault.New(fault.Broken, "record a request: it has no id or no module")
	}
	document, err := db.JSON(r.Request)
	if err != nil {
		return err
	}
	envelope, err := db.JSON(r.Envelope)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO request (id, module, commit_hash, platform, commands, document, envelope, made_at, state, since,
		builder, leased_at, heard_at, lease_until, deadline, lost, why, asked_in, check_of, avoid)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'open', $9, '', 0, 0, 0, 0, 0, '', `+revision+`, $11, $12) ON CONFLICT (id) DO UPDATE
		SET commands = excluded.commands, document = excluded.document, envelope = excluded.envelope, made_at = excluded.made_at,
		state = 'open', since = excluded.since, why = '', asked_in = excluded.asked_in
		WHERE request.state = 'withdrawn' AND request.why LIKE $10`,
		r.ID, r.Module, r.Commit, r.Platform, db.Flag(r.Commands), document, envelope, db.Millis(r.MadeAt), db.Millis(r.MadeAt), delivery.MovedOn+"%", r.Check, r.Avoid)
	tx.Changed("request", r.ID)
	return err
}

// dropRequests takes out the requests of which this holds.
func dropRequests(tx *db.Tx, where string, args ...any) error {
	ids, err := db.All(tx, db.Text, `SELECT id FROM request WHERE `+where, args...)
	if err != nil || len(ids) == 0 {
		return err
	}
	for _, id := range ids {
		tx.Changed("request", id)
	}
	_, err = tx.Exec(`DELETE FROM request WHERE `+where, args...)
	return err
}

// Request is the request with this id.
func Request(tx *db.Tx, id string) (RequestRow, error) {
	rows, err := requests(tx, `WHERE id = $1`, id)
	if err != nil {
		return RequestRow{}, err
	}
	if len(rows) == 0 {
		return RequestRow{}, noRequest(id)
	}
	return rows[0], nil
}

func noRequest(id string) error {
	return fault.New(fault.NotFound, "there is no request %q", id).With("mesh builds lists them")
}

// Requests is the requests of a module in a state, oldest first; an empty
// module or state is any.
func Requests(tx *db.Tx, module string, state State) ([]RequestRow, error) {
	return requests(tx, `WHERE ($1 = '' OR module = $1) AND ($2 = '' OR state = $2) ORDER BY made_at, id`, module, string(state))
}

// Withdraw ends a request that nobody is to answer any more, and says why. One
// that is done stays done.
func Withdraw(tx *db.Tx, id, why string, now time.Time) error {
	tx.Changed("request", id)
	n, err := tx.Exec(`UPDATE request SET state = 'withdrawn', why = $1, since = $2 WHERE id = $3 AND state IN ('open', 'leased')`,
		why, db.Millis(now), id)
	if err != nil {
		return err
	}
	if n == 0 {
		_, err = Request(tx, id)
		return err
	}
	return settleLog(tx, id)
}

// keptMoved is how many requests of a module stay in the record that were
// withdrawn as moved before anybody had them.
const keptMoved = int64(10)

// WithdrawMoved ends a request that the comparison would not make any more, if
// it is open still: one that a builder has taken meanwhile goes on. It reports
// whether it was.
func WithdrawMoved(tx *db.Tx, module string, w delivery.Withdrawal, now time.Time) (bool, error) {
	tx.Changed("request", w.ID)
	n, err := tx.Exec(`UPDATE request SET state = 'withdrawn', why = $1, since = $2 WHERE id = $3 AND state = 'open'`, w.Why, db.Millis(now), w.ID)
	if err != nil || n == 0 {
		return false, err
	}
	return true, dropRequests(tx, `module = $1 AND state = 'withdrawn' AND leased_at = 0 AND why LIKE $2 AND id NOT IN (
		SELECT id FROM request WHERE module = $1 AND state = 'withdrawn' AND leased_at = 0 AND why LIKE $2 ORDER BY asked_in DESC, id LIMIT $3)`,
		module, delivery.MovedOn+"%", keptMoved)
}

// AskedRow is one request as the comparison sees it, and of which module it is. A
// check is none: nothing is decided by it.
type AskedRow struct {
	Module string
	delivery.Asked
}

const selectAsked = `SELECT r.module, r.id, r.document, r.state, r.builder, r.since, r.why,
	r.step, r.step_at, coalesce(a.outcome, ''), coalesce(a.step, ''), coalesce(a.why, '')
	FROM request r LEFT JOIN answer a ON a.request = r.id WHERE r.check_of = '' `

// Asked is a module's requests as the comparison sees them.
func Asked(tx *db.Tx, module string) ([]delivery.Asked, error) {
	rows, err := db.All(tx, scanAsked, selectAsked+`AND r.module = $1 ORDER BY r.made_at, r.id`, module)
	var out []delivery.Asked
	for _, r := range rows {
		out = append(out, r.Asked)
	}
	return out, err
}

// AllAsked is every request as the comparison sees it.
func AllAsked(tx *db.Tx) ([]AskedRow, error) { return db.All(tx, scanAsked, selectAsked) }

// AskedOne is the request with this id, and false where there is none.
func AskedOne(tx *db.Tx, id string) (AskedRow, bool, error) {
	return db.One(tx, scanAsked, selectAsked+`AND r.id = $1`, id)
}

func scanAsked(r db.Row) (a AskedRow, err error) {
	var document, state, doing, outcome, step, answered string
	var since, doingAt int64
	if err = r.Scan(&a.Module, &a.ID, &document, &state, &a.Builder, &since, &a.Why, &doing, &doingAt, &outcome, &step, &answered); err != nil {
		return a, err
	}
	q, err := db.FromJSON[build.Request]("request "+a.ID, document)
	a.Closure = artifact.Closure{Tree: q.Tree, Platform: q.Platform, Inputs: q.Closure, Environment: q.In(), Bases: q.Bases}
	a.Attempt, a.State, a.Since = q.Attempt, State(state), db.Time(since)
	if a.State == Leased {
		a.Doing, a.DoingAt = doing, db.Time(doingAt)
	}
	if a.State == Done {
		a.Outcome, a.Step, a.Why = build.Outcome(outcome), build.Step(step), answered
	}
	return a, err
}
