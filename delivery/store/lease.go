package deliverystore

import (
	"fmt"
	"time"

	"noxmesh/internal/db"
)

// lostAt is how many lost leases withdraw a request: it may be what ends its builders.
const lostAt = 3

// checkPatience is how long a check waits for another builder than the one that
// made what is checked: as long as that may have to deliver something first.
const checkPatience = 10 * time.Minute

// Leasing is a builder that asks for work.
type Leasing struct {
	Builder  string
	Platform string
	Sandbox  bool // it can run commands
	Checks   bool // it can make a check
	Alone    bool // there is no other builder that could make a check of what it made
	Now      time.Time
	Lease    time.Duration
}

// Waiting reports whether Lease may find something for a builder of this platform.
func Waiting(tx *db.Tx, platform string) (bool, error) {
	_, found, err := db.One(tx, db.Text, `SELECT id FROM request
		WHERE platform = $1 AND (state = 'open' OR (state = 'leased' AND heard_at = 0)) LIMIT 1`, platform)
	return found, err
}

// Lease records a request as the builder's and returns it, or nil where there
// is none for it. A check comes after everything that is to be delivered. The module that was served longest ago comes first, and of it
// the oldest request, both by the order of the record: no clock starves anybody. A request that the builder was given and has not begun is
// the same request again, since the message that gave it may be lost; one that
// it had begun is a lost lease, since it asks for work only when it has none.
func Lease(tx *db.Tx, l Leasing) (*RequestRow, error) {
	again, err := settleHeld(tx, l)
	if err != nil || again != nil {
		return again, err
	}
	rows, err := requests(tx, `WHERE state = 'open' AND platform = $1 AND commands <= $2
		AND (check_of = '' OR ($3 = 1 AND (avoid <> $4 OR $5 = 1 OR made_at <= $6)))
		ORDER BY CASE WHEN check_of = '' THEN 0 ELSE 1 END, (SELECT max(given_in) FROM request s WHERE s.module = r.module), asked_in, made_at, id LIMIT 1`,
		l.Platform, db.Flag(l.Sandbox), db.Flag(l.Checks), l.Builder, db.Flag(l.Alone), db.Millis(l.Now.Add(-checkPatience)))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	r, now := rows[0], db.Time(db.Millis(l.Now))
	r.State, r.Since, r.Builder, r.LeasedAt, r.HeardAt = Leased, now, l.Builder, now, time.Time{}
	r.Deadline = now.Add(time.Duration(r.Limit) * time.Second)
	r.LeaseUntil = earlier(now.Add(l.Lease), r.Deadline)
	if !r.GivenTo(l.Builder) {
		r.Given = db.Sorted(append(r.Given, l.Builder), func(s string) string { return s })
	}
	if err := saveState(tx, r); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(`UPDATE request SET given_in = `+revision+`, step = '', step_at = 0 WHERE id = $1`, r.ID); err != nil {
		return nil, err
	}
	// What another builder had said of it is not the beginning of this one's log.
	if _, err := tx.Exec(`DELETE FROM log WHERE request = $1`, r.ID); err != nil {
		return nil, err
	}
	_, err = tx.Exec(`INSERT INTO given (request, builder, given_at) VALUES ($1, $2, $3)
		ON CONFLICT (request, builder) DO UPDATE SET given_at = excluded.given_at`, r.ID, l.Builder, db.Millis(now))
	return &r, err
}

// settleHeld looks at what the builder holds though it asks for work.
func settleHeld(tx *db.Tx, l Leasing) (*RequestRow, error) {
	held, err := requests(tx, `WHERE state = 'leased' AND builder = $1 ORDER BY given_in, leased_at, id`, l.Builder)
	if err != nil {
		return nil, err
	}
	for i, r := range held {
		if r.HeardAt.IsZero() && l.Now.Before(r.LeaseUntil) {
			return &held[i], nil
		}
		if _, err := lose(tx, r, "builder "+r.Builder+" has begun it and then asked for other work", l.Now); err != nil {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // it holds nothing
}

// HoldsUnbegun reports whether GiveBack would find something of this builder.
func HoldsUnbegun(tx *db.Tx, builder string) (bool, error) {
	_, found, err := db.One(tx, db.Text, `SELECT id FROM request WHERE state = 'leased' AND builder = $1 AND heard_at = 0 LIMIT 1`, builder)
	return found, err
}

// GiveBack opens again what the builder was given and has not begun, since it
// now says why it can make nothing. It has lost no lease by that.
func GiveBack(tx *db.Tx, builder, why string, now time.Time) (given []RequestRow, err error) {
	given, err = requests(tx, `WHERE state = 'leased' AND builder = $1 AND heard_at = 0 ORDER BY given_in, id`, builder)
	for i := range given {
		r := &given[i]
		r.State, r.Since, r.Why = Open, now, "builder "+builder+" gave it back: "+why
		if err == nil {
			err = saveState(tx, *r)
		}
	}
	return given, err
}

// Extend prolongs the lease of a builder that says it is working, never beyond
// the request's deadline. A stop that is not empty is why it must not go on. A
// builder whose lease ran out while nobody else took the request has it again.
func Extend(tx *db.Tx, id, builder string, now time.Time, lease time.Duration) (stop string, err error) {
	r, there, err := standing(tx, id)
	if err != nil {
		return "", err
	}
	switch {
	case !there:
		return "nobody asks for it any more", nil
	case !r.GivenTo(builder):
		return "it was not given to this builder", nil
	case r.State == Done:
		return "it has been answered", nil
	case r.State == Withdrawn:
		return "it was withdrawn: " + r.Why, nil
	case r.State == Leased && r.Builder != builder:
		return "it was given to builder " + r.Builder, nil
	case r.State == Open && r.Builder != builder:
		return "its lease ran out, and another builder had it since", nil
	case !now.Before(r.Deadline):
		whole, err := Request(tx, id)
		return "its time is over, " + (time.Duration(whole.Limit) * time.Second).String(), err
	}
	if r.State == Open {
		r.Since, r.Why = now, ""
	}
	r.State, r.HeardAt, r.LeaseUntil = Leased, now, earlier(now.Add(lease), r.Deadline)
	return "", saveState(tx, r)
}

// Doing records which step of a request its builder is at, and since when. Only
// a step that it was not at before is recorded.
func Doing(tx *db.Tx, id, step string, since time.Time) error {
	_, err := tx.Exec(`UPDATE request SET step = $1, step_at = $2 WHERE id = $3 AND step <> $1`, step, db.Millis(since), id)
	tx.Changed("request", id)
	return err
}

// MoveLeases keeps leases as long as they are when the clock that they were
// given by has been set forward by so much, or back. Where nobody knows, since
// the process is new, it is zero; a lease that ends later than one that is given
// now was given by a clock that was ahead, and is cut to that.
func MoveLeases(tx *db.Tx, by time.Duration, now time.Time, lease time.Duration) error {
	held, err := requests(tx, `WHERE state = 'leased' ORDER BY id`)
	if err != nil {
		return err
	}
	for _, r := range held {
		was := r
		r.LeasedAt, r.LeaseUntil, r.Deadline = r.LeasedAt.Add(by), r.LeaseUntil.Add(by), r.Deadline.Add(by)
		if !r.HeardAt.IsZero() {
			r.HeardAt = r.HeardAt.Add(by)
		}
		r.Deadline = earlier(r.Deadline, now.Add(time.Duration(r.Limit)*time.Second))
		r.LeaseUntil = earlier(earlier(r.LeaseUntil, now.Add(lease)), r.Deadline)
		if r.Deadline.Equal(was.Deadline) && r.LeaseUntil.Equal(was.LeaseUntil) {
			continue
		}
		if err := saveState(tx, r); err != nil {
			return err
		}
	}
	return nil
}

// LapseLeases opens every request again whose lease has run out, and withdraws
// those that have lost their third. It returns them as they then stand.
func LapseLeases(tx *db.Tx, now time.Time) ([]RequestRow, error) {
	over, err := requests(tx, `WHERE state = 'leased' AND lease_until <= $1 ORDER BY lease_until, id`, db.Millis(now))
	if err != nil {
		return nil, err
	}
	for i, r := range over {
		how := "builder " + r.Builder + " has not been heard of since " + latest(r.LeasedAt, r.HeardAt).UTC().Format(time.RFC3339)
		if !now.Before(r.Deadline) {
			how = fmt.Sprintf("builder %s has not answered within %s", r.Builder, time.Duration(r.Limit)*time.Second)
		}
		if over[i], err = lose(tx, r, how, now); err != nil {
			return nil, err
		}
	}
	return over, nil
}

// lose is the request after its builder has lost it.
func lose(tx *db.Tx, r RequestRow, how string, now time.Time) (RequestRow, error) {
	r.Lost++
	r.State, r.Since, r.Why = Open, now, how
	if r.Lost >= lostAt {
		r.State, r.Why = Withdrawn, fmt.Sprintf("%d leases of it were lost; the last: %s", r.Lost, how)
		if err := settleLog(tx, r.ID); err != nil {
			return r, err
		}
	}
	return r, saveState(tx, r)
}

func saveState(tx *db.Tx, r RequestRow) error {
	tx.Changed("request", r.ID)
	_, err := tx.Exec(`UPDATE request SET state = $1, since = $2, builder = $3, leased_at = $4, heard_at = $5, lease_until = $6,
		deadline = $7, lost = $8, why = $9 WHERE id = $10`,
		string(r.State), db.Millis(r.Since), r.Builder, db.Millis(r.LeasedAt), db.Millis(r.HeardAt), db.Millis(r.LeaseUntil),
		db.Millis(r.Deadline), r.Lost, r.Why, r.ID)
	return err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
