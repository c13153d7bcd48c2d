package deliverystore

import (
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

// Codes is what the code of every module says, by the names of the modules.
// Nothing else is read of them, so that the graph of build edges is soon there:
// each table once, from its beginning to its end.
func Codes(tx *db.Tx) ([]Coded, error) {
	many, _, err := db.One(tx, db.Number, `SELECT count(*) FROM module`)
	if err != nil {
		return nil, err
	}
	modules := make([]Coded, 0, many)
	var c Coded
	if err = each(tx, func() error {
		modules = append(modules, c)
		return nil
	}, `SELECT name, repository, folder FROM module`, &c.Name, &c.Repository, &c.Folder); err != nil {
		return nil, err
	}
	modules = db.Sorted(modules, func(c Coded) string { return c.Name })
	keys := make(map[string]string, len(modules)) // by module
	var module, key, text string
	if err = each(tx, func() error {
		keys[module] = key
		return nil
	}, `SELECT module, code FROM source`, &module, &key); err != nil {
		return nil, err
	}
	says := make(map[string]imports.Said, len(modules)) // by key
	if err = each(tx, func() (err error) {
		says[key], err = saidOf(text)
		return err
	}, `SELECT key, says FROM reading`, &key, &text); err != nil {
		return nil, err
	}
	for i := range modules {
		key := keys[modules[i].Name]
		modules[i].Code = imports.Reading{Key: key, Says: says[key]}
	}
	return modules, nil
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
