package db

import "maps"

// Part runs f as a part of the transaction: where it fails, what it did is
// taken back and the rest goes on. So many small writes share one commit, and
// none of them can spoil another's.
func (t *Tx) Part(f func(*Tx) error) error {
	if _, err := t.tx.ExecContext(t.ctx, "SAVEPOINT part"); err != nil {
		return t.failed(err)
	}
	said, tables := len(t.wrote.said), maps.Clone(t.wrote.tables)
	failed := f(t)
	if failed == nil {
		_, err := t.tx.ExecContext(t.ctx, "RELEASE SAVEPOINT part")
		return err
	}
	t.wrote.said, t.wrote.tables = t.wrote.said[:said], tables
	if _, err := t.tx.ExecContext(t.ctx, "ROLLBACK TO SAVEPOINT part"); err != nil {
		return &Spoilt{failed}
	}
	if _, err := t.tx.ExecContext(t.ctx, "RELEASE SAVEPOINT part"); err != nil {
		return &Spoilt{failed}
	}
	return failed
}

// Spoilt is that a part has failed in a way that ended the whole transaction.
type Spoilt struct{ Cause error }

func (s *Spoilt) Error() string { return s.Cause.Error() }

func (s *Spoilt) Unwrap() error { return s.Cause }
