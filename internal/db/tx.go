package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand/v2"
	"strings"
	"time"

	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// attempts is how often a write is begun that Postgres gave up for another's
// sake. With the fence locked first it does not happen; a dozen is never.
const attempts = 12

// Tx is one transaction. It is for one goroutine, and ends with the function
// that it was given to.
type Tx struct {
	ctx     context.Context //nolint:containedctx // a transaction ends with the context it began with
	tx      begun
	engine  engine
	epoch   int64
	journal *journal
	wrote   *changes // nil in a read
}

// Write runs f in one transaction, under the fence, and commits what it did if
// it returns nil. Writes come one after another. When Write returns nil the
// change is durable; when it returns a Conflict because another controller has
// taken over, nothing was changed. f may be run more than once, so that it
// changes nothing but the record.
func (d *DB) Write(ctx context.Context, f func(*Tx) error) error {
	noted := int64(0)
	err := d.exclusive(ctx, "write to the record", func(tx begun) error {
		mine, revision, err := d.hold(ctx, tx)
		if err != nil {
			return err
		}
		wrote := changes{tables: map[string]bool{}}
		if err := f(&Tx{ctx: ctx, tx: tx, engine: d.engine, epoch: mine.epoch, journal: &d.journal, wrote: &wrote}); err != nil {
			return err
		}
		d.journal.note(revision, wrote)
		noted = revision
		return nil
	})
	if err != nil && noted > 0 {
		d.journal.spoil(noted)
	}
	return err
}

// Read runs f on one consistent state of the record. f can change nothing.
func (d *DB) Read(ctx context.Context, f func(*Tx) error) error {
	tx, err := d.begin(ctx, d.reader, driver.TxOptions{ReadOnly: true, Isolation: driver.IsolationLevel(sql.LevelRepeatableRead)})
	if err != nil {
		return d.engine.classify(err, "read the record")
	}
	defer func() { _ = tx.Rollback() }() // after a commit there is nothing to roll back
	if err := f(&Tx{ctx: ctx, tx: tx, engine: d.engine, epoch: d.Epoch(), journal: &d.journal}); err != nil {
		return d.engine.classify(err, "read the record")
	}
	return nil
}

// exclusive runs f as the only writer of this process, and again where Postgres asks for it.
func (d *DB) exclusive(ctx context.Context, doing string, f func(begun) error) error {
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return fault.Wrap(fault.Unavailable, ctx.Err(), "%s: wait for the write before it", doing)
	}
	for n := 1; ; n++ {
		err := d.once(ctx, f)
		if err == nil {
			return nil
		}
		if n == attempts || !again(err) {
			return d.engine.classify(err, doing)
		}
		select {
		case <-time.After(rand.N(time.Duration(n) * 10 * time.Millisecond)):
		case <-ctx.Done():
			return fault.Wrap(fault.Unavailable, ctx.Err(), "%s", doing)
		}
	}
}

func (d *DB) once(ctx context.Context, f func(begun) error) error {
	tx, err := d.begin(ctx, d.writer, driver.TxOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit there is nothing to roll back
	if err := f(tx); err != nil {
		return err
	}
	return effect.Do("db.write.commit", tx.Commit)
}

// Epoch is the epoch that the transaction writes in.
func (t *Tx) Epoch() int64 { return t.epoch }

// Exec runs a statement and returns how many rows it changed.
func (t *Tx) Exec(query string, args ...any) (int64, error) {
	if t.wrote != nil {
		t.wrote.tables[table(query)] = true
	}
	result, err := t.tx.ExecContext(t.ctx, query, plain(args)...)
	if err != nil {
		return 0, t.failed(err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, t.failed(err)
	}
	return n, nil
}

// Row is one row of an answer, to be read once.
type Row interface {
	// Scan reads the row's columns, in their order. Called once.
	Scan(dest ...any) error
}

// QueryRow asks for one row. Its Scan returns sql.ErrNoRows where there is none; One says it with a bool.
func (t *Tx) QueryRow(query string, args ...any) Row {
	return t.tx.QueryRowContext(t.ctx, query, plain(args)...)
}

// Query asks for rows. All reads and closes them; whoever calls Query itself must.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	rows, err := t.tx.QueryContext(t.ctx, query, plain(args)...)
	if err != nil {
		return nil, t.failed(err)
	}
	return rows, nil
}

// failed leaves an error that asks for another attempt as it is.
func (t *Tx) failed(err error) error {
	if again(err) {
		return err
	}
	return t.engine.classify(err, "use the record")
}

// plain makes text that both databases hold alike: Postgres refuses a NUL and
// anything that is not UTF-8, and some of it was written by a node.
func plain(args []any) []any {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
		}
	}
	return args
}
