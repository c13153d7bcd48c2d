package deliverystore_test

import (
	"slices"
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

// A reading is kept once, for as long as a source is at it.
func TestReadings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web", "dns")
		at := func(module string, code imports.Reading) {
			t.Helper()
			dbtest.Write(t, d, func(tx *db.Tx) error {
				return deliverystore.SaveSource(tx, source.Source{Module: module, State: source.Read, Code: code})
			})
		}
		kept := func(want string) {
			t.Helper()
			dbtest.Read(t, d, func(tx *db.Tx) error {
				keys, err := db.All(tx, db.Text, `SELECT key FROM reading`)
				slices.Sort(keys)
				if got := strings.Join(keys, " "); got != want {
					t.Errorf("kept: %q, want %q", got, want)
				}
				return err
			})
		}
		at("web", reading("one"))
		at("dns", reading("one"))
		kept("one")
		dbtest.Read(t, d, func(tx *db.Tx) error {
			s, err := deliverystore.Source(tx, "dns")
			if d := cmp.Diff(reading("one"), s.Code); d != "" {
				t.Error(d)
			}
			return err
		})
		at("web", reading("two"))
		kept("one two")
		at("web", reading("two"))
		at("dns", imports.Reading{})
		kept("two")
		dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.RemoveModule(tx, "web", t0()) })
		kept("")
		at("dns", imports.Reading{Key: "nothing", Says: imports.Say(nil)})
		kept("nothing")
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
				return deliverystore.Codes(tx, func(some []*deliverystore.Coded) {
					for _, c := range some {
						all = append(all, *c)
					}
				})
			})
			return db.Sorted(all, func(c deliverystore.Coded) string { return c.Name })
		}
		at := func(name string) mesh.Module {
			m := module(name)
			m.Ref = ""
			return m
		}
		want := []deliverystore.Coded{{Module: at("dns"), Code: reading("one")}, {Module: at("new")}, {Module: at("web"), Code: reading("one")}}
		if d := cmp.Diff(want, codes()); d != "" {
			t.Error(d)
		}
		dbtest.Write(t, d, func(tx *db.Tx) error {
			_, err := tx.Exec(`UPDATE reading SET says = $1`, string(reading("one").Says[1:]))
			return err
		})
		wantKind(t, d.Read(t.Context(), func(tx *db.Tx) error {
			return deliverystore.Codes(tx, func([]*deliverystore.Coded) {})
		}), fault.Broken)
	})
}

// What schema 6 has kept is read as what it said.
func TestAReadingOfSchema6IsRead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web")
		dbtest.Write(t, d, func(tx *db.Tx) error {
			if err := deliverystore.SaveSource(tx, source.Source{Module: "web", State: source.Read, Code: reading("one")}); err != nil {
				return err
			}
			was, err := db.JSON(reading("one").Says.Found())
			if err != nil || !strings.HasPrefix(was, `{"go":{`) {
				t.Fatalf("%q %v", was, err)
			}
			_, err = tx.Exec(`UPDATE reading SET says = $1`, was)
			return err
		})
		dbtest.Read(t, d, func(tx *db.Tx) error {
			s, err := deliverystore.Source(tx, "web")
			if d := cmp.Diff(reading("one"), s.Code); d != "" {
				t.Error(d)
			}
			return err
		})
		dbtest.Read(t, d, func(tx *db.Tx) error {
			return deliverystore.Codes(tx, func(all []*deliverystore.Coded) {
				if d := cmp.Diff(reading("one"), all[0].Code); d != "" {
					t.Error(d)
				}
			})
		})
	})
}
