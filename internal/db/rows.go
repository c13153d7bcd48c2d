package db

import (
	"database/sql"
	"errors"
	"time"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// All reads every row of an answer.
func All[T any](tx *Tx, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, tx.failed(err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, tx.failed(err)
	}
	return all, nil
}

// One reads the only row of an answer, and false where there is none.
func One[T any](tx *Tx, scan func(Row) (T, error), query string, args ...any) (T, bool, error) {
	v, err := scan(tx.QueryRow(query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		var none T
		return none, false, nil
	}
	if err != nil {
		return v, false, tx.failed(err)
	}
	return v, true, nil
}

// Text scans an answer of one column of text.
func Text(r Row) (s string, err error) {
	err = r.Scan(&s)
	return s, err
}

// Number scans an answer of one column of numbers.
func Number(r Row) (n int64, err error) {
	err = r.Scan(&n)
	return n, err
}

// Millis is a time as the record holds it; the zero time is 0.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Time is what Millis made a number of.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Flag is yes or no as the record holds it.
func Flag(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// stored bounds a document in the record. Every one of them was bounded more
// tightly when it came in; this only keeps a damaged one from being read for ever.
var stored = document.Limits{Bytes: 32 << 20, Depth: 64} //nolint:gochecknoglobals // a constant struct

// JSON is v as the record holds it.
func JSON(v any) (string, error) {
	b, err := document.Canonical(v)
	return string(b), err
}

// FromJSON is the T that JSON made text of; "" is the zero T.
func FromJSON[T any](what, text string) (T, error) {
	if text == "" {
		var none T
		return none, nil
	}
	if v, err := document.Again[T]([]byte(text)); err == nil {
		return v, nil
	}
	v, err := document.Decode[T](what, []byte(text), stored)
	if err != nil {
		return v, fault.Wrap(fault.Broken, err, "read the record")
	}
	return v, nil
}

// PartOf is what the text that JSON made says under the keys of T: nothing else in
// it is looked at. "" is the zero T.
func PartOf[T any](what, text string) (T, error) {
	if text == "" {
		var none T
		return none, nil
	}
	v, err := document.Part[T]([]byte(text))
	if err != nil {
		return v, fault.Wrap(fault.Broken, err, "read the record: %s", what)
	}
	return v, nil
}
