package db

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"noxmesh/internal/fault"
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

// Since is what the writes after a revision have changed, up to Revision.
type Since struct {
	Revision int64    // of the state that the transaction sees, without what it has done itself
	Known    bool     // whether the rest is: false where another process has written, or too much for too long
	Changes  []Change // what the writes say; the same may stand there more than once
	Tables   []string // what they have touched, whether they say so or not
}

// Since is what has changed after this revision. In a write it is asked for
// before anything is changed: what follows may be taken back.
func (t *Tx) Since(after int64) (Since, error) {
	upto, _, err := One(t, Number, `SELECT revision FROM fence`)
	if err != nil {
		return Since{}, err
	}
	if t.wrote != nil {
		if len(t.wrote.tables) > 0 {
			return Since{}, fault.New(fault.Broken, "read what has changed: this write has changed something itself")
		}
		upto-- // its own number
	}
	return t.journal.since(after, upto), nil
}

// since forgets what comes up to after: whoever keeps a copy has it.
func (j *journal) since(after, upto int64) Since {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := Since{Revision: upto, Known: after <= upto}
	tables := map[string]bool{}
	for r := after + 1; r <= upto && out.Known; r++ {
		c, there := j.writes[r]
		out.Known = there && !c.tables[unknown]
		out.Changes = append(out.Changes, c.said...)
		maps.Copy(tables, c.tables)
	}
	out.Tables = slices.Sorted(maps.Keys(tables))
	for r := range j.writes {
		if r <= after {
			delete(j.writes, r)
		}
	}
	return out
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
