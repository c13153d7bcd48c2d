package db

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"noxmesh/internal/fault"
)

// begun is a transaction that has begun and not ended.
type begun interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	Commit() error
	Rollback() error
}

// begin begins a transaction on a pool.
func (d *DB) begin(ctx context.Context, pool *sql.DB, o driver.TxOptions) (begun, error) {
	if d.engine.kind == postgres {
		return pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: o.ReadOnly, Isolation: sql.IsolationLevel(o.Isolation)})
	}
	return beginOn(ctx, pool, o)
}

// beginOn begins one in SQLite.
func beginOn(ctx context.Context, pool *sql.DB, o driver.TxOptions) (begun, error) {
	held, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &own{held: held, ctx: ctx, unending: context.WithoutCancel(ctx)}
	if err := held.Raw(func(made any) error { return t.begin(made, o) }); err != nil {
		_ = held.Close() // why it did not begin is the thing to tell
		return nil, err
	}
	return t, nil
}

// own is a transaction of SQLite. That of database/sql has a goroutine that waits
// for the end of its context, and one more for the answer to each question; here
// the connection itself is told of it. Whatever answers a question must be closed
// before the transaction ends.
type own struct {
	held     *sql.Conn
	ctx      context.Context //nolint:containedctx // a transaction ends with the context it began with
	unending context.Context //nolint:containedctx // the same for database/sql, which would wait for its end
	conn     *conn
	tx       driver.Tx // nil once it has ended
}

func (t *own) begin(made any, o driver.TxOptions) (err error) {
	c, ok := made.(*conn)
	if !ok {
		return fault.New(fault.Broken, "begin a transaction on %T", made)
	}
	if t.tx, err = c.BeginTx(t.ctx, o); err == nil {
		t.conn, c.within = c, t.ctx
	}
	return err
}

// ExecContext is that of database/sql.
func (t *own) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	return t.held.ExecContext(t.unending, query, args...) //nolint:contextcheck // the connection has the other
}

// QueryContext is that of database/sql.
func (t *own) QueryContext(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.held.QueryContext(t.unending, query, args...) //nolint:contextcheck // the connection has the other
}

// QueryRowContext is that of database/sql.
func (t *own) QueryRowContext(_ context.Context, query string, args ...any) *sql.Row {
	return t.held.QueryRowContext(t.unending, query, args...) //nolint:contextcheck // the connection has the other
}

// Commit is that of database/sql: where the context has ended, nothing is committed.
func (t *own) Commit() error {
	if t.ctx.Err() == nil {
		return t.end(driver.Tx.Commit)
	}
	_ = t.Rollback() // the context is why
	return t.ctx.Err()
}

// Rollback is that of database/sql.
func (t *own) Rollback() error { return t.end(driver.Tx.Rollback) }

func (t *own) end(how func(driver.Tx) error) error {
	if t.tx == nil {
		return sql.ErrTxDone
	}
	err := t.held.Raw(func(any) error {
		t.conn.within = nil
		return how(t.tx)
	})
	t.tx = nil
	if e := t.held.Close(); err == nil {
		err = e
	}
	return err
}
