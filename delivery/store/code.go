package deliverystore

import (
	"fmt"
	"hash/fnv"
	"strings"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/source"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// Coded is a module, where it is, and what its code says.
type Coded struct {
	Module     string
	Repository string
	Folder     string
	Says       imports.Said
}

// parts is how many rows hold what the code of all modules says, each of some of
// them. All of it is read at each start: to go from row to row, and for each to
// another table to see where its module is, cost more than what is in them. One
// that says something else is written with the others of its row.
const parts = 1 << 10

// partOf is the row of a module that comes. Any would do: the module has its number.
func partOf(module string) int64 {
	h := fnv.New32a()
	h.Write([]byte(module))
	return int64(h.Sum32() % parts)
}

// some is how many modules Codes gives at a time, at the least.
const some = 64

// Codes goes through what the code of every module says, some modules at a time:
// nothing, of those that nobody has looked at. Nothing else is read of them, so
// that the graph of build edges is soon there.
func Codes(tx *db.Tx, take func([]Coded)) error {
	var all []Coded
	_, err := db.All(tx, func(r db.Row) (none struct{}, err error) {
		text, err := db.Text(r)
		for err == nil && text != "" {
			var c Coded
			if c, text, err = cutEntry(text); err == nil {
				c.Says, err = saidOf(string(c.Says))
			}
			all = append(all, c)
		}
		if len(all) >= some {
			take(all)
			all = all[:0]
		}
		return none, err
	}, `SELECT says FROM code`)
	take(all)
	return err
}

// entry is what is in a row of one module: how many bytes each text of it has,
// and the texts.
func (c Coded) entry() string {
	return fmt.Sprintf("%d %d %d %d %s%s%s%s", len(c.Module), len(c.Repository), len(c.Folder), len(c.Says), c.Module, c.Repository, c.Folder, c.Says)
}

// cutEntry is the first entry of a row, and what is left of it. What the module's
// code says is as it was kept.
func cutEntry(row string) (c Coded, left string, err error) {
	var is [4]int
	left = row
	for i := range is {
		digits := 0
		for digits < len(left) && left[digits]-'0' <= 9 && is[i] <= len(row) {
			is[i] = 10*is[i] + int(left[digits]-'0')
			digits++
		}
		if digits == 0 || !strings.HasPrefix(left[digits:], " ") {
			return c, "", errCut(row)
		}
		left = left[digits+1:]
	}
	if is[0]+is[1]+is[2]+is[3] > len(left) {
		return c, "", errCut(row)
	}
	c.Module, left = left[:is[0]], left[is[0]:]
	c.Repository, left = left[:is[1]], left[is[1]:]
	c.Folder, left = left[:is[2]], left[is[2]:]
	c.Says, left = imports.Said(left[:is[3]]), left[is[3]:]
	return c, left, nil
}

func errCut(row string) error {
	return fault.New(fault.Broken, "what is kept of the code of modules is damaged at %.40q", row)
}

// kept is where the record has what a module's code says.
type kept struct {
	Coded

	there         bool
	part          int64
	before, after string // what else is in the row
}

func keptOf(tx *db.Tx, module string) (k kept, err error) {
	var row string
	_, known, err := db.One(tx, func(r db.Row) (none struct{}, err error) {
		return none, r.Scan(&k.Module, &k.Repository, &k.Folder, &k.part, &row)
	}, `SELECT m.name, m.repository, m.folder, m.part, coalesce(c.says, '') FROM module m LEFT JOIN code c ON c.part = m.part WHERE m.name = $1`, module)
	if err != nil || !known {
		return k, err
	}
	for left := row; left != ""; {
		c, next, err := cutEntry(left)
		if err != nil {
			return k, err
		}
		if c.Module == module {
			k.there, k.Says, k.before, k.after = true, c.Says, row[:len(row)-len(left)], next
			return k, nil
		}
		left = next
	}
	k.before = row
	return k, nil
}

// saveCode keeps what the code of a module in the record says.
func saveCode(tx *db.Tx, module string, says imports.Said) error {
	k, err := keptOf(tx, module)
	if err != nil {
		return err
	}
	k.Says = says
	_, err = tx.Exec(`INSERT INTO code (part, says) VALUES ($1, $2) ON CONFLICT (part) DO UPDATE SET says = excluded.says`, k.part, k.before+k.entry()+k.after)
	return err
}

// saveSays keeps what a source's code says, where that is another than before.
func saveSays(tx *db.Tx, s source.Source) error {
	was, _, err := db.One(tx, db.Text, `SELECT code FROM source WHERE module = $1`, s.Module)
	if err != nil || was == s.Code.Key {
		return err
	}
	return saveCode(tx, s.Module, s.Code.Says)
}

// dropCode drops what the code of a module said.
func dropCode(tx *db.Tx, module string) error {
	k, err := keptOf(tx, module)
	if err != nil {
		return err
	}
	if left := k.before + k.after; left != "" {
		_, err = tx.Exec(`UPDATE code SET says = $1 WHERE part = $2`, left, k.part)
	} else {
		_, err = tx.Exec(`DELETE FROM code WHERE part = $1`, k.part)
	}
	return err
}

// says is what the code of one module says.
func says(tx *db.Tx, module string) (imports.Said, error) {
	k, err := keptOf(tx, module)
	if err != nil {
		return "", err
	}
	if !k.there {
		return "", fault.New(fault.Broken, "nothing is kept of what the code of %q says", module)
	}
	return saidOf(strings.Clone(string(k.Says))) // and not all of the row
}

// saidOf is what a module's code says, as it was kept. Up to schema 6 it was JSON.
func saidOf(says string) (imports.Said, error) {
	if !strings.HasPrefix(says, "{") {
		return imports.ParseSaid(says)
	}
	found, err := db.FromJSON[map[string]imports.Found]("what a module's code says", says)
	return imports.Say(found), err
}
