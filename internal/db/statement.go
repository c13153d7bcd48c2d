package db

import (
	"context"
	"database/sql"
	"sync"
)

// statements is the statements of one pool of SQLite connections, prepared
// once: to read a statement's text costs SQLite more than to run it. The
// driver of Postgres does the same by itself.
type statements struct {
	mu     sync.Mutex // guards what follows
	all    map[string]*sql.Stmt
	missed map[string]bool // seen, and not prepared yet
}

// statementLimit is how many are kept; the program's own are far fewer.
const statementLimit = 512

// of is the prepared statement, or nil where the text is to be sent as it is.
func (s *statements) of(query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.all[query]
	if known == nil && len(s.all)+len(s.missed) < statementLimit {
		if s.missed == nil {
			s.missed = map[string]bool{}
		}
		s.missed[query] = true
	}
	return known
}

// prepare prepares what was missed. It is called outside of transactions: one
// that holds the pool's last connection must not wait for another.
func (s *statements) prepare(ctx context.Context, pool *sql.DB) {
	s.mu.Lock()
	missed := s.missed
	s.missed = nil
	s.mu.Unlock()
	for query := range missed {
		made, err := pool.PrepareContext(ctx, query)
		if err != nil {
			continue // what is wrong with it, running it says
		}
		s.mu.Lock()
		if s.all == nil {
			s.all = map[string]*sql.Stmt{}
		}
		was := s.all[query]
		if was == nil {
			s.all[query] = made
		}
		s.mu.Unlock()
		if was != nil {
			_ = made.Close() //nolint:sqlclosecheck // another was quicker
		}
	}
}

func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, made := range s.all {
		_ = made.Close() // its pool is closed next
	}
	s.all, s.missed = nil, nil
}

// prepared is the statement in this transaction, or nil where its text is to be sent.
func (t *Tx) prepared(query string) *sql.Stmt {
	if t.pool == nil {
		return nil
	}
	s := t.pool.of(query)
	if s == nil {
		return nil
	}
	return t.tx.StmtContext(t.ctx, s)
}

func (t *Tx) exec(query string, args []any) (sql.Result, error) {
	if s := t.prepared(query); s != nil { //nolint:sqlclosecheck // it is the pool's, and ends with the transaction
		return s.ExecContext(t.ctx, args...)
	}
	return t.tx.ExecContext(t.ctx, query, args...)
}

func (t *Tx) query(query string, args []any) (*sql.Rows, error) {
	if s := t.prepared(query); s != nil { //nolint:sqlclosecheck // it is the pool's, and ends with the transaction
		return s.QueryContext(t.ctx, args...)
	}
	return t.tx.QueryContext(t.ctx, query, args...)
}

// statements is where the statements of a pool are kept; nil on Postgres.
func (d *DB) statements(pool *sql.DB) *statements {
	switch {
	case d.engine.kind != sqlite:
		return nil
	case pool == d.writer:
		return &d.writes
	}
	return &d.reads
}

func (d *DB) prepare(ctx context.Context, pool *sql.DB) {
	if s := d.statements(pool); s != nil {
		s.prepare(ctx, pool)
	}
}
