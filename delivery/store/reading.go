package deliverystore

import (
	"slices"
	"strings"

	mesh "noxmesh"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/source"
	"noxmesh/internal/db"
)

// saveReading keeps what a module's code says, once for all that say it.
func saveReading(tx *db.Tx, s source.Source) error {
	was, _, err := db.One(tx, db.Text, `SELECT code FROM source WHERE module = $1`, s.Module)
	if err != nil || was == s.Code.Key {
		return err
	}
	if err := dropReading(tx, s.Module); err != nil || s.Code.Key == "" {
		return err
	}
	_, err = tx.Exec(`INSERT INTO reading (key, says) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`, s.Code.Key, string(s.Code.Says))
	return err
}

// dropReading drops what this module's code said, where no other's says it.
func dropReading(tx *db.Tx, module string) error {
	_, err := tx.Exec(`DELETE FROM reading WHERE key = (SELECT code FROM source WHERE module = $1)
		AND NOT EXISTS (SELECT 1 FROM source WHERE code = reading.key AND module <> $1)`, module)
	return err
}

// Coded is a module and what its code says.
type Coded struct {
	mesh.Module

	Code imports.Reading
}

// some is how many modules Codes gives at a time.
const some = 256

// Codes goes through what the code of every module says, some modules at a time,
// in the order in which the record has it and at last those of which it has
// nothing. Nothing else is read of them, so that the graph of build edges is soon
// there: each table once, from its beginning to its end. What was given is the
// taker's, who may work on it while the rest is read.
func Codes(tx *db.Tx, take func([]*Coded)) error {
	l, err := modulesOf(tx)
	if err != nil {
		return err
	}
	var key, says string
	if err := each(tx, func() error {
		said, err := saidOf(says)
		if err == nil {
			l.give(key, said, take)
		}
		return err
	}, `SELECT key, says FROM reading`, &key, &says); err != nil {
		return err
	}
	for at := range l.modules {
		if l.next[at] != given {
			l.put(at, take)
		}
	}
	take(l.given)
	return nil
}

// listed is every module while what their code says is read.
type listed struct {
	modules []Coded
	first   map[string]int // by key of a reading: the first module of which it is
	next    []int          // by module: the next one of which the same is, or the end of them, or that it was given
	given   []*Coded       // that are given next
}

const (
	ends  = -1
	given = -2
)

// modulesOf is the modules, and which reading each has.
func modulesOf(tx *db.Tx) (l listed, err error) {
	all, err := fields(tx, `SELECT coalesce(string_agg(name || $1 || repository || $1 || folder, $1), '') FROM module`)
	if err != nil {
		return l, err
	}
	many := (len(all) + 2) / 3
	l = listed{modules: make([]Coded, 0, many), first: make(map[string]int, many), next: make([]int, many)}
	at := make(map[string]int, many) // by name
	for m := range slices.Chunk(all, 3) {
		at[m[0]] = len(l.modules)
		l.modules = append(l.modules, Coded{Module: mesh.Module{Name: m[0], Repository: m[1], Folder: m[2]}})
	}
	all, err = fields(tx, `SELECT coalesce(string_agg(module || $1 || code, $1), '') FROM source`)
	if err != nil {
		return l, err
	}
	for s := range slices.Chunk(all, 2) {
		is, there := at[s[0]]
		if !there {
			continue
		}
		l.modules[is].Code.Key, l.next[is] = s[1], ends
		if before, there := l.first[s[1]]; there {
			l.next[is] = before
		}
		l.first[s[1]] = is
	}
	return l, nil
}

// fields is what is in every row of a table, one after another. They are read as
// one text, since to go from row to row costs more than what is in these; they
// are apart by what no name, address, folder or key holds.
func fields(tx *db.Tx, query string) ([]string, error) {
	const apart = "\n"
	text, _, err := db.One(tx, db.Text, query, apart)
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(text, apart), nil
}

// give gives every module that has this reading.
func (l *listed) give(key string, says imports.Said, take func([]*Coded)) {
	at, there := l.first[key]
	for there && at != ends {
		next := l.next[at]
		l.modules[at].Code.Says = says
		l.put(at, take)
		at = next
	}
}

func (l *listed) put(at int, take func([]*Coded)) {
	l.next[at] = given
	if l.given = append(l.given, &l.modules[at]); len(l.given) == some {
		take(l.given)
		l.given = make([]*Coded, 0, some)
	}
}

// each goes through an answer, of which the columns of one row after the other
// are put where they are wanted.
func each(tx *db.Tx, do func() error, query string, into ...any) error {
	_, err := db.All(tx, func(r db.Row) (none struct{}, err error) {
		if err = r.Scan(into...); err == nil {
			err = do()
		}
		return none, err
	}, query)
	return err
}

func scanSays(r db.Row) (imports.Said, error) {
	says, err := db.Text(r)
	if err != nil {
		return "", err
	}
	return saidOf(says)
}

// saidOf is what a module's code says, as it was kept. Up to schema 6 it was JSON.
func saidOf(says string) (imports.Said, error) {
	if !strings.HasPrefix(says, "{") {
		return imports.ParseSaid(says)
	}
	found, err := db.FromJSON[map[string]imports.Found]("what a module's code says", says)
	return imports.Say(found), err
}
