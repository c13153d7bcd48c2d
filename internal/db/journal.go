package db

import (
	"strings"
	"sync"
)

// Change names one row, or one thing's rows, that a write has changed.
type Change struct {
	Table string
	Key   string
}

// changes is what one write says that it has changed, and the tables that it
// has touched, whether it says so or not.
type changes struct {
	said   []Change
	tables map[string]bool
}

// Changed says that the transaction has changed what stands in a table under
// this key, so that whoever keeps a copy reads it again. A write that changes a
// table and says nothing of it makes copies be read anew as a whole.
func (t *Tx) Changed(table, key string) {
	if t.wrote != nil {
		t.wrote.said = append(t.wrote.said, Change{table, key})
	}
}

// Revision is the number of the write that made the state that a read sees. In
// a write it is that of the write itself.
func (t *Tx) Revision() (int64, error) {
	n, _, err := One(t, Number, `SELECT revision FROM fence`)
	return n, err
}

// journal is what the writes of this process have changed, by revision, for
// whoever keeps a copy of the record. It is written before the commit, so that
// whoever sees a revision finds what made it; a write that was rolled back left
// its number to the next one, which replaces what it noted.
type journal struct {
	mu     sync.Mutex // guards what follows
	writes map[int64]changes
}

// journalLimit is how many writes are remembered where nobody asks for them;
// beyond it a copy is read anew as a whole.
const journalLimit = 4096

func (j *journal) note(revision int64, c changes) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.writes == nil || len(j.writes) >= journalLimit {
		j.writes = map[int64]changes{}
	}
	if was, again := j.writes[revision]; again {
		// The attempt before may have been committed though its answer was lost.
		c.said = append(c.said, was.said...)
		for t := range was.tables {
			c.tables[t] = true
		}
	}
	j.writes[revision] = c
}

// spoil notes that nobody knows what became of a write: what a copy makes of
// that revision is nothing less than the whole.
func (j *journal) spoil(revision int64) {
	j.note(revision, changes{tables: map[string]bool{unknown: true}})
}

// unknown is the table that a write has touched of which nothing is known.
const unknown = "?"

// ChangesBetween is what the writes after one revision and up to another have
// changed, and false where that is not known: another process has written, or
// it is too long ago. Of the tables it says which were touched. Those up to
// after are forgotten.
func (d *DB) ChangesBetween(after, upto int64) (all []Change, tables map[string]bool, known bool) {
	j := &d.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	tables = map[string]bool{}
	for r := after + 1; r <= upto; r++ {
		c, there := j.writes[r]
		if !there {
			return nil, nil, false
		}
		if c.tables[unknown] {
			return nil, nil, false
		}
		all = append(all, c.said...)
		for t := range c.tables {
			tables[t] = true
		}
	}
	for r := range j.writes {
		if r <= after {
			delete(j.writes, r)
		}
	}
	return all, tables, after <= upto
}

// table is the table that a statement changes.
func table(query string) string {
	words := strings.Fields(query[:min(len(query), 120)])
	for i, w := range words {
		switch w {
		case "INTO", "FROM", "UPDATE":
			if i+1 < len(words) {
				name, _, _ := strings.Cut(words[i+1], "(")
				return name
			}
		}
	}
	return ""
}
