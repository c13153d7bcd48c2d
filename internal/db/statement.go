package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"

	driversqlite "modernc.org/sqlite"

	"noxmesh/internal/fault"
)

// openSQLite is a pool of connections that prepare each text once: to read a
// statement's text costs SQLite more than to run it. The driver of Postgres does
// the same by itself.
func openSQLite(dsn string) (*sql.DB, error) {
	c, err := driversqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{c}), nil
}

// connector opens them.
type connector struct{ driver.Connector }

// Connect is the driver's.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s, ok := made.(session)
	if !ok {
		return nil, errors.Join(fault.New(fault.Broken, "the driver's connection cannot do all that is needed"), made.Close())
	}
	return &conn{session: s, kept: map[string]*statement{}}, nil
}

// session is what a connection of the driver can do.
type session interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is one connection with the statements that it keeps. Like every
// connection it does one thing at a time, which database/sql sees to.
type conn struct {
	session
	kept   map[string]*statement
	within context.Context //nolint:containedctx // of the transaction under way; nil where there is none, or it is database/sql's
}

// during is the context of a statement: that of its transaction, where it has one.
func (c *conn) during(ctx context.Context) context.Context {
	if c.within != nil {
		return c.within
	}
	return ctx
}

// statement is a text that has been prepared.
type statement struct {
	prepared
	text string
	open bool // its rows are being read: it can do nothing else meanwhile
}

// prepared is what a statement of the driver can do.
type prepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// statementLimit is how many texts a connection keeps; the program's own are far
// fewer.
const statementLimit = 512

// keeps reports whether a text may be prepared once and run often. A PRAGMA may
// not, which does some of its work while it is prepared, and a schema's own need not.
func keeps(query string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(query, " \t\n"), " ")
	switch strings.TrimRight(word, "\n") {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "SAVEPOINT", "RELEASE", "ROLLBACK":
		return true
	}
	return false
}

// of is the statement to run for a text, or nil where the driver is to be given
// the text itself.
func (c *conn) of(ctx context.Context, query string) (*statement, error) {
	if s := c.kept[query]; s != nil {
		if s.open {
			return nil, nil //nolint:nilnil // a second one of the same text, while the rows of the first are read
		}
		return s, nil
	}
	if !keeps(query) || len(c.kept) >= statementLimit {
		return nil, nil //nolint:nilnil // it is run once
	}
	return c.prepare(ctx, query)
}

func (c *conn) prepare(ctx context.Context, query string) (*statement, error) {
	made, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	p, ok := made.(prepared)
	if !ok {
		return nil, errors.Join(fault.New(fault.Broken, "the driver's statement cannot do all that is needed"), made.Close())
	}
	s := &statement{prepared: p, text: query}
	c.kept[query] = s
	return s, nil
}

// drop lets go of a statement that has failed: what it is like then is not looked into.
func (c *conn) drop(s *statement) {
	delete(c.kept, s.text)
	_ = s.Close() // it says once more what the failure has said
}

// ExecContext is the driver's.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	ctx = c.during(ctx)
	s, err := c.of(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return c.session.ExecContext(ctx, query, args)
	}
	result, err := s.ExecContext(ctx, args)
	if err != nil {
		c.drop(s)
	}
	return result, err
}

// QueryContext is the driver's.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	ctx = c.during(ctx)
	s, err := c.of(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return c.session.QueryContext(ctx, query, args)
	}
	read, err := s.QueryContext(ctx, args)
	if err != nil {
		c.drop(s)
		return nil, err
	}
	s.open = true
	return &rows{Rows: read, conn: c, of: s}, nil
}

// Close ends the connection with all that it keeps.
func (c *conn) Close() error {
	var wrong []error
	for _, s := range c.kept {
		wrong = append(wrong, s.Close())
	}
	c.kept = nil
	return errors.Join(append(wrong, c.session.Close())...)
}

// rows are what a kept statement answers.
type rows struct {
	driver.Rows
	conn   *conn
	of     *statement
	failed bool
}

// Next is the driver's.
func (r *rows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	r.failed = r.failed || err != nil && !errors.Is(err, io.EOF)
	return err
}

// Close makes the statement free for the next who runs its text.
func (r *rows) Close() error {
	err := r.Rows.Close()
	r.of.open = false
	if r.failed || err != nil {
		r.conn.drop(r.of)
	}
	return err
}

// What begins and ends a transaction.
const (
	begin     = "begin"
	beginTurn = "begin immediate" // of a writer, who waits for the one before it here and not half-way
	commit    = "commit"
	rollback  = "rollback"
)

// control runs one of these.
func (c *conn) control(ctx context.Context, text string) (err error) {
	s := c.kept[text]
	if s == nil {
		if s, err = c.prepare(ctx, text); err != nil {
			return err
		}
	}
	if _, err = s.ExecContext(ctx, nil); err != nil {
		c.drop(s)
	}
	return err
}

// undo leaves no transaction open, where something did not end as it should.
// That there is none is what it mostly finds.
func (c *conn) undo() { _ = c.control(context.Background(), rollback) }

// BeginTx is the driver's. Only a writer waits, and ends its wait with the context.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	text := beginTurn
	if o.ReadOnly {
		text, ctx = begin, context.WithoutCancel(ctx)
	}
	if err := c.control(ctx, text); err != nil {
		c.undo() //nolint:contextcheck // it is done, whoever has gone
		return nil, err
	}
	return transaction{c}, nil
}

// transaction is one that has begun on a connection.
type transaction struct{ conn *conn }

// Commit waits for nobody, so that it does not end with a context: what it says
// is what has become of the write.
func (t transaction) Commit() error {
	err := t.conn.control(context.Background(), commit)
	if err != nil {
		t.conn.undo()
	}
	return err
}

// Rollback is the driver's.
func (t transaction) Rollback() error { return t.conn.control(context.Background(), rollback) }
