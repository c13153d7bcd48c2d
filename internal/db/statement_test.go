package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// raw opens a record and gives its only connection that writes.
func raw(t *testing.T) (*DB, *sql.Conn) {
	t.Helper()
	d, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "record.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	c, err := d.writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return d, c
}

// held is the statement that a connection keeps of a text, or nil.
func held(t *testing.T, c *sql.Conn, text string) (s *statement) {
	t.Helper()
	if err := c.Raw(func(is any) error {
		s = is.(*conn).kept[text] //nolint:forcetypeassert // nothing else connects
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, c *sql.Conn, name, value string) {
	t.Helper()
	if _, err := c.ExecContext(t.Context(), `INSERT INTO setting (name, value) VALUES ($1, $2)`, name, value); err != nil {
		t.Fatal(err)
	}
}

const byName = `SELECT value FROM setting WHERE name >= $1 ORDER BY name`

// A text is prepared once on its connection, and each use of it has its own values.
func TestATextIsPreparedOnce(t *testing.T) {
	t.Parallel()
	_, c := raw(t)
	put(t, c, "a", "1")
	first := held(t, c, `INSERT INTO setting (name, value) VALUES ($1, $2)`)
	put(t, c, "b", "2")
	if again := held(t, c, `INSERT INTO setting (name, value) VALUES ($1, $2)`); first == nil || again != first {
		t.Errorf("the statement was %p and then %p", first, again)
	}
	for from, want := range map[string]string{"a": "1", "b": "2"} {
		var value string
		if err := c.QueryRowContext(t.Context(), byName, from).Scan(&value); err != nil || value != want {
			t.Errorf("from %s: %q, %v, want %q", from, value, err, want)
		}
	}
	if _, err := c.ExecContext(t.Context(), `PRAGMA cache_size = 100`); err != nil {
		t.Fatal(err)
	}
	if held(t, c, `PRAGMA cache_size = 100`) != nil {
		t.Error("a PRAGMA is kept, which works while it is prepared")
	}
}

// A text may be used again while its rows are read: neither use disturbs the other.
func TestATextWithinItself(t *testing.T) {
	t.Parallel()
	d, c := raw(t)
	for i := range 4 {
		put(t, c, fmt.Sprint("n", i), fmt.Sprint(i))
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	var got string
	err := d.Read(t.Context(), func(tx *Tx) error {
		outer, err := tx.Query(byName, "n0")
		if err != nil {
			return err
		}
		defer outer.Close()
		for outer.Next() {
			var value string
			if err := outer.Scan(&value); err != nil {
				return err
			}
			inner, err := All(tx, Text, byName, "n2")
			if err != nil {
				return err
			}
			got += fmt.Sprint(value, inner)
		}
		return outer.Err()
	})
	if want := "0[2 3]1[2 3]2[2 3]3[2 3]"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// What was not read to its end does not show in the next use, and does not keep
// the statement.
func TestATextWhoseRowsWereLeft(t *testing.T) {
	t.Parallel()
	_, c := raw(t)
	put(t, c, "a", "1")
	put(t, c, "b", "2")
	for range 3 {
		rows, err := c.QueryContext(t.Context(), byName, "a")
		if err != nil {
			t.Fatal(err)
		}
		var value string
		if !rows.Next() || rows.Scan(&value) != nil || value != "1" {
			t.Errorf("the first row is %q, %v", value, rows.Err())
		}
		if err := rows.Close(); err != nil { //nolint:sqlclosecheck // what it leaves is looked at next
			t.Fatal(err)
		}
		if s := held(t, c, byName); s == nil || s.open {
			t.Errorf("the statement is %+v", s)
		}
	}
}

// A statement that has failed is let go of, and its text works again.
func TestATextThatHasFailed(t *testing.T) {
	t.Parallel()
	_, c := raw(t)
	const insert = `INSERT INTO setting (name, value) VALUES ($1, $2)`
	put(t, c, "a", "1")
	if _, err := c.ExecContext(t.Context(), insert, "a", "2"); err == nil {
		t.Fatal("a name was taken twice")
	}
	if held(t, c, insert) != nil {
		t.Error("the statement that failed is kept")
	}
	put(t, c, "b", "2")
	if _, err := c.ExecContext(t.Context(), insert, "c"); err == nil {
		t.Fatal("a value is missing")
	}
	put(t, c, "c", "3")
	if _, err := c.QueryContext(t.Context(), `SELECT thing FROM nowhere`); err == nil { //nolint:rowserrcheck,sqlclosecheck // there are none
		t.Fatal("there is no such table")
	}
	if _, err := c.ExecContext(t.Context(), `CREATE TABLE nowhere (thing TEXT)`); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ExecContext(t.Context(), `DELETE FROM nowhere WHERE thing = $1`, "x"); err != nil {
		t.Fatal(err)
	}
	// The schema moves under a statement that is kept: its text means the new one.
	if _, err := c.ExecContext(t.Context(), `ALTER TABLE nowhere ADD COLUMN more TEXT NOT NULL DEFAULT 'm'`); err != nil {
		t.Fatal(err)
	}
	const all = `SELECT * FROM nowhere`
	for _, step := range []struct {
		change  string
		columns int
	}{{`SELECT 1`, 2}, {`ALTER TABLE nowhere ADD COLUMN still TEXT`, 3}, {`ALTER TABLE nowhere DROP COLUMN more`, 2}} {
		if _, err := c.ExecContext(t.Context(), step.change); err != nil {
			t.Fatal(err)
		}
		rows, err := c.QueryContext(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		names, err := rows.Columns()
		if err = errors.Join(err, rows.Close(), rows.Err()); err != nil || len(names) != step.columns { //nolint:sqlclosecheck // before the next change of the schema
			t.Errorf("after %q: columns %q, %v", step.change, names, err)
		}
	}
}

// endless takes hours.
const endless = `WITH RECURSIVE n(i) AS (SELECT $1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n`

// A context that ends stops what runs, and the record goes on with the same text.
func TestATextWhoseContextEnds(t *testing.T) {
	t.Parallel()
	d, c := raw(t)
	put(t, c, "a", "1")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Resume(t.Context(), "me"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ctx, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err := d.Read(ctx, func(tx *Tx) error {
			if _, _, err := One(tx, Text, byName, "a"); err != nil {
				return err
			}
			_, _, err := One(tx, Number, endless, 1)
			return err
		})
		end()
		if err == nil {
			t.Fatal("it came to an end")
		}
		ctx, end = context.WithTimeout(t.Context(), 20*time.Millisecond)
		err = d.Write(ctx, func(tx *Tx) error {
			if _, err := tx.Exec(`UPDATE setting SET value = 'never'`); err != nil {
				return err
			}
			_, _, err := One(tx, Number, endless, 1)
			return err
		})
		end()
		if err == nil {
			t.Fatal("it came to an end")
		}
		if err := d.Read(t.Context(), func(tx *Tx) error {
			value, _, err := One(tx, Text, byName, "a")
			if value != "1" {
				t.Errorf("the value is %q", value)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err := d.Write(t.Context(), func(tx *Tx) error {
			_, err := tx.Exec(`UPDATE setting SET value = '1'`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// Whoever waits for another's write ends with its context, and can write when it is its turn.
func TestABeginWhoseContextEnds(t *testing.T) {
	t.Parallel()
	d, c := raw(t)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Resume(t.Context(), "me"); err != nil {
		t.Fatal(err)
	}
	other, err := openSQLite(d.engine.writes)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	write := func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO setting (name, value) VALUES ('mine', '1')`)
		return err
	}
	ctx, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	if err := d.Write(ctx, write); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("two have written at once, or it has waited for longer: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(t.Context(), write); err != nil {
		t.Fatal(err)
	}
}
