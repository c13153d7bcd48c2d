package deliverystore_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	mesh "noxmesh"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

func reading(key string) imports.Reading {
	return imports.Reading{Key: key, Says: imports.Say(map[string]imports.Found{"go": {
		Owns:    []imports.Own{{Name: "example.com/" + key, At: imports.Place{File: "go.mod", Line: 1}}},
		Imports: []imports.Import{{Name: "example.com/x", Test: true, At: imports.Place{File: "a_test.go", Line: 3}}, {Path: "a/b", At: imports.Place{File: "c.ts"}}},
		Faults:  []imports.Fault{{At: imports.Place{File: "b.go", Line: 9}, Why: "want }"}},
	}})}
}

// What a module's code says is kept for as long as its source is at it, whatever
// becomes of the others in its row.
func TestWhatCodeSays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web", "dns", "db")
		dbtest.Write(t, d, func(tx *db.Tx) error { // the three share a row
			_, err := tx.Exec(`DELETE FROM code`)
			if err != nil {
				return err
			}
			_, err = tx.Exec(`UPDATE module SET part = 7`)
			return err
		})
		want := map[string]imports.Reading{"web": {}, "dns": {}, "db": {}}
		all := func() {
			t.Helper()
			for name, code := range want {
				dbtest.Read(t, d, func(tx *db.Tx) error {
					s, err := deliverystore.Source(tx, name)
					if d := cmp.Diff(code, s.Code); d != "" {
						t.Errorf("%s: %s", name, d)
					}
					return err
				})
			}
		}
		at := func(module string, code imports.Reading) {
			t.Helper()
			dbtest.Write(t, d, func(tx *db.Tx) error {
				return deliverystore.SaveSource(tx, source.Source{Module: module, State: source.Read, Code: code})
			})
			want[module] = code
			all()
		}
		at("web", reading("one"))
		at("dns", reading("one"))
		at("db", reading("of the third"))
		at("dns", reading("two"))
		at("dns", reading("two"))
		at("web", imports.Reading{})
		at("web", imports.Reading{Key: "nothing", Says: imports.Say(nil)})
		at("db", reading("three"))
		rows := func(want int) {
			t.Helper()
			dbtest.Read(t, d, func(tx *db.Tx) error {
				n, _, err := db.One(tx, db.Number, `SELECT count(*) FROM code`)
				if int(n) != want {
					t.Errorf("%d rows, want %d", n, want)
				}
				return err
			})
		}
		rows(1)
		for _, name := range []string{"dns", "db", "web"} {
			dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.RemoveModule(tx, name, t0()) })
			delete(want, name)
			all()
		}
		rows(0)
	})
}

// Where a manifest says what it needs is kept with it.
func TestLinesAreKept(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web")
		for _, want := range []manifest.Lines{{}, {Requires: map[string]int{"light": 4}, Instances: map[string]int{"db": 9}}, {Requires: map[string]int{"light": 5}}} {
			dbtest.Write(t, d, func(tx *db.Tx) error {
				return deliverystore.SaveSource(tx, source.Source{Module: "web", State: source.Read, Lines: want})
			})
			dbtest.Read(t, d, func(tx *db.Tx) error {
				s, err := deliverystore.Source(tx, "web")
				if d := cmp.Diff(want, s.Lines); d != "" {
					t.Error(d)
				}
				return err
			})
		}
	})
}

// Codes is what the graph of build edges is made of: each module that there is,
// once, and what its source's code says.
func TestCodes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web", "dns", "new")
		dbtest.Write(t, d, func(tx *db.Tx) error {
			for module, key := range map[string]string{"web": "one", "dns": "one", "new": ""} {
				code := imports.Reading{}
				if key != "" {
					code = reading(key)
				}
				if err := deliverystore.SaveSource(tx, source.Source{Module: module, State: source.Read, Code: code}); err != nil {
					return err
				}
			}
			return nil
		})
		codes := func() (all []deliverystore.Coded) {
			dbtest.Read(t, d, func(tx *db.Tx) error {
				return deliverystore.Codes(tx, func(some []deliverystore.Coded) { all = append(all, some...) })
			})
			return db.Sorted(all, func(c deliverystore.Coded) string { return c.Module })
		}
		of := func(name string, says imports.Said) deliverystore.Coded {
			m := module(name)
			return deliverystore.Coded{Module: name, Repository: m.Repository, Folder: m.Folder, Says: says}
		}
		want := []deliverystore.Coded{of("dns", reading("one").Says), of("new", ""), of("web", reading("one").Says)}
		if d := cmp.Diff(want, codes()); d != "" {
			t.Error(d)
		}
		for _, damaged := range []string{"", "3 1 1 ", "3 1 1 1", "3 1 1 7 weba11234567", "x", "3 1 1 999999999999999999999 weba1", "3 1 1 0 weba1 "} {
			dbtest.Write(t, d, func(tx *db.Tx) error {
				_, err := tx.Exec(`UPDATE code SET says = $1`, damaged)
				return err
			})
			err := d.Read(t.Context(), func(tx *db.Tx) error { return deliverystore.Codes(tx, func([]deliverystore.Coded) {}) })
			if damaged != "" {
				wantKind(t, err, fault.Broken)
			} else if err != nil {
				t.Error(err)
			}
			wantKind(t, d.Read(t.Context(), func(tx *db.Tx) error {
				_, err := deliverystore.Source(tx, "dns")
				return err
			}), fault.Broken)
		}
	})
}

// What schemas up to 20 have kept, each reading once by its key, and up to 6 as
// JSON, is what Codes and Source say.
func TestReadingsOfSchemasBefore(t *testing.T) {
	t.Parallel()
	dbtest.EachAddress(t, func(t *testing.T, dsn string) {
		d := dbtest.Open(t, dsn, "c")
		where := func(name string) mesh.Module {
			return mesh.Module{Name: name, Repository: "https://forge.example/größer/" + name, Ref: "refs/heads/main", Folder: "ein Ordner/" + name}
		}
		says := map[string]imports.Said{"web": reading("one").Says, "dns": reading("one").Says, "db": reading("größer").Says, "new": "", "bare": ""}
		keys := map[string]string{"web": "one", "dns": "one", "db": "three"} // new was not looked at, bare not read
		asJSON, err := db.JSON(says["db"].Found())
		if err != nil || !strings.HasPrefix(asJSON, `{"go":{`) {
			t.Fatalf("%q %v", asJSON, err)
		}
		dbtest.Write(t, d, func(tx *db.Tx) error {
			for name := range says {
				if err := deliverystore.AddModule(tx, where(name), "me", t0()); err != nil {
					return err
				}
				if name == "new" {
					continue
				}
				if err := deliverystore.SaveSource(tx, source.Source{Module: name, State: source.Read, Code: imports.Reading{Key: keys[name]}}); err != nil {
					return err
				}
			}
			for _, back := range []string{ // whatever has come since has to go as well
				`DROP TABLE secret`, `ALTER TABLE ledger DROP COLUMN secrets`,
				`DROP TABLE code`, `ALTER TABLE module DROP COLUMN part`, `CREATE TABLE reading (key text PRIMARY KEY, says text NOT NULL)`,
				`CREATE INDEX source_code ON source (code, module)`, `DELETE FROM schema_version WHERE version_id >= 21`,
			} {
				if _, err := tx.Exec(back); err != nil {
					return err
				}
			}
			for key, text := range map[string]string{"one": string(says["web"]), "three": asJSON} {
				if _, err := tx.Exec(`INSERT INTO reading (key, says) VALUES ($1, $2)`, key, text); err != nil {
					return err
				}
			}
			return nil
		})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = dbtest.Open(t, dsn, "c")
		var want []deliverystore.Coded
		for name := range says {
			want = append(want, deliverystore.Coded{Module: name, Repository: where(name).Repository, Folder: where(name).Folder, Says: says[name]})
		}
		byName := func(c deliverystore.Coded) string { return c.Module }
		var got []deliverystore.Coded
		dbtest.Read(t, d, func(tx *db.Tx) error {
			for name := range keys {
				s, err := deliverystore.Source(tx, name)
				if d := cmp.Diff(imports.Reading{Key: keys[name], Says: says[name]}, s.Code); d != "" || err != nil {
					t.Errorf("%s: %s %v", name, d, err)
				}
			}
			return deliverystore.Codes(tx, func(some []deliverystore.Coded) { got = append(got, some...) })
		})
		if d := cmp.Diff(db.Sorted(want, byName), db.Sorted(got, byName)); d != "" {
			t.Error(d)
		}
		dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.RemoveModule(tx, "web", t0()) })
	})
}
