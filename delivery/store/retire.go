package deliverystore

import (
	"time"

	"noxmesh/delivery"
	"noxmesh/internal/db"
)

// Lines is every request in the record of builds, with what decides whether it
// stays, but for why a collection keeps its build.
func Lines(tx *db.Tx) ([]delivery.Line, error) {
	return db.All(tx, func(r db.Row) (l delivery.Line, err error) {
		var state string
		var collected, named int64
		err = r.Scan(&l.Request, &l.Module, &l.Order, &state, (*string)(&l.Build), &collected, &named, &l.Log)
		l.Live, l.Bare = State(state) == Open || State(state) == Leased, collected > 0 && named == 0
		return l, err
	}, `SELECT r.id, r.module, r.asked_in, r.state, coalesce(b.id, ''), coalesce(b.collected, 0),
		CASE WHEN EXISTS (SELECT 1 FROM declare_write w WHERE w.build = b.id) OR EXISTS (SELECT 1 FROM declared d WHERE d.build = b.id) THEN 1 ELSE 0 END,
		coalesce((SELECT length(w.packed) FROM log_whole w WHERE w.request = r.id), 0)
			+ coalesce((SELECT sum(length(p.piece)) FROM log_piece p WHERE p.request = r.id), 0)
		FROM request r LEFT JOIN answer a ON a.request = r.id LEFT JOIN build b ON b.id = a.build ORDER BY r.id`)
}

// RemoveLines removes what has been decided to leave the record, and counts it.
func RemoveLines(tx *db.Tx, out delivery.Retired, now time.Time) error {
	for _, l := range out.Lines {
		if err := removeLine(tx, l); err != nil {
			return err
		}
	}
	for _, l := range out.Logs {
		if err := removeLog(tx, l.Request, now); err != nil {
			return err
		}
	}
	for _, count := range []struct {
		of           []delivery.Line
		builds, logs int64
	}{{out.Lines, 1, 0}, {out.Logs, 0, 1}} {
		for _, l := range count.of {
			_, err := tx.Exec(`INSERT INTO retired (module, builds, logs, at) VALUES ($1, $2, $3, $4) ON CONFLICT (module) DO UPDATE
				SET builds = retired.builds + excluded.builds, logs = retired.logs + excluded.logs, at = excluded.at`,
				l.Module, count.builds, count.logs, db.Millis(now))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// removeLine removes a request with its answer and its log, and its build with
// the last line that names it.
func removeLine(tx *db.Tx, l delivery.Line) error {
	if _, err := tx.Exec(`DELETE FROM answer WHERE request = $1`, l.Request); err != nil {
		return err
	}
	if err := dropRequests(tx, `id = $1`, l.Request); err != nil || l.Build == "" {
		return err
	}
	_, still, err := db.One(tx, db.Text, `SELECT request FROM answer WHERE build = $1 LIMIT 1`, string(l.Build))
	if err != nil || still {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM verdict WHERE build = $1`, string(l.Build)); err != nil {
		return err
	}
	tx.Changed("build", string(l.Build))
	_, err = tx.Exec(`DELETE FROM build WHERE id = $1`, string(l.Build))
	return err
}

func removeLog(tx *db.Tx, request string, now time.Time) error {
	for _, table := range []string{"log_whole", "log_piece"} {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE request = $1`, request); err != nil {
			return err
		}
	}
	_, err := tx.Exec(`UPDATE log SET removed_at = $1 WHERE request = $2`, db.Millis(now), request)
	return err
}

// RetiredRow is how much of a module retention has removed from the record.
type RetiredRow struct {
	Module string
	Builds int64
	Logs   int64
	At     time.Time // when it last did
}

// RetiredOf is what retention has removed of a module, or of each where the name is empty.
func RetiredOf(tx *db.Tx, module string) ([]RetiredRow, error) {
	all, err := db.All(tx, func(r db.Row) (o RetiredRow, err error) {
		var at int64
		err = r.Scan(&o.Module, &o.Builds, &o.Logs, &at)
		o.At = db.Time(at)
		return o, err
	}, `SELECT module, builds, logs, at FROM retired WHERE $1 = '' OR module = $1`, module)
	return db.Sorted(all, func(o RetiredRow) string { return o.Module }), err
}
