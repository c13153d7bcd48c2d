package db

import (
	"context"
	"database/sql"
	"sync/atomic"

	"noxmesh/internal/fault"
)

// DB is an open record. It is safe for concurrent use.
type DB struct {
	engine engine
	writer *sql.DB
	reader *sql.DB // the writer itself on Postgres

	journal journal // what this process has written

	turn  chan struct{}         // holds the one token of whoever writes
	fence atomic.Pointer[fence] // what this process may write as; nil before Resume or TakeOver
}

// Open opens the record at dsn and brings its schema up to date. The dsn is
// sqlite: and an absolute path, or a postgres:// address. A record that is
// damaged is Broken, and one written by a newer version is a Conflict: neither
// is touched.
func Open(ctx context.Context, dsn string) (*DB, error) {
	e, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	if err := e.prepare(); err != nil {
		return nil, err
	}
	d := &DB{engine: e, turn: make(chan struct{}, 1)}
	if err := d.open(); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "open the record at %s", e.name)
	}
	if err := d.start(ctx); err != nil {
		_ = d.Close() // the reason that it did not start is the one to tell
		return nil, err
	}
	return d, nil
}

// readers is how many questions are answered side by side; more would only
// wait for the same two or four cores.
const readers = 8

// open makes the pools; nothing is connected yet.
func (d *DB) open() (err error) {
	if d.engine.kind == sqlite {
		if d.writer, err = openSQLite(d.engine.writes); err != nil {
			return err
		}
		d.writer.SetMaxOpenConns(1)
		if d.reader, err = openSQLite(d.engine.reads); err != nil {
			return err
		}
		d.reader.SetMaxOpenConns(readers)
	} else {
		if d.writer, err = sql.Open("pgx", d.engine.writes); err != nil {
			return err
		}
		d.reader = d.writer
		d.writer.SetMaxOpenConns(readers + 1)
	}
	d.reader.SetMaxIdleConns(readers)
	return nil
}

func (d *DB) start(ctx context.Context) error {
	if err := d.check(ctx); err != nil {
		return err
	}
	return d.migrate(ctx)
}

// Close closes the record. Writes under way are rolled back.
func (d *DB) Close() error {
	err := d.writer.Close()
	if d.reader != d.writer {
		if e := d.reader.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		return d.engine.classify(err, "close the record")
	}
	return nil
}

// Anew is the record as whoever has just opened it has it, on the connections of
// one who is gone: nothing is resumed, and nothing is known of what was written
// before. Whatever d was asked must have come to its end; it is not closed, and
// not used any more.
func (d *DB) Anew() *DB {
	return &DB{engine: d.engine, writer: d.writer, reader: d.reader, turn: make(chan struct{}, 1)}
}

// check looks whether the file is whole, before anything is believed of it.
func (d *DB) check(ctx context.Context) error {
	if d.engine.kind != sqlite {
		if err := d.writer.PingContext(ctx); err != nil {
			return d.engine.classify(err, "open the record")
		}
		return nil
	}
	return quickCheck(ctx, d.engine, d.reader)
}

func quickCheck(ctx context.Context, e engine, pool *sql.DB) error {
	var says string
	if err := pool.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&says); err != nil {
		return e.classify(err, "check the record")
	}
	if says != "ok" {
		return e.damaged(says)
	}
	return nil
}
