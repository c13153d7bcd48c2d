package db

import (
	"strings"
	"testing"

	"noxmesh/document/documenttest"
	"noxmesh/internal/fault"
)

// FuzzParse: an address is taken as one of two engines, and what is shown of it
// is as harmless as what is said of a wrong one.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "sqlite:/var/lib/mesh/record.db", "sqlite:record.db", "sqlite:/a/../b", "sqlite:/a?mode=ro", "sqlite:/\x00",
		"postgres://mesh:hunter22@db/mesh?sslmode=disable", "postgresql:///mesh?host=/run/postgresql", "postgres://%zz", "mysql://x", "\x1b[2J",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		e, err := parse(dsn)
		if err != nil {
			documenttest.Plain(t, err)
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("kind %s: %v", fault.KindOf(err), err)
			}
			return
		}
		if e.kind == sqlite && (strings.Contains(e.path, "\x00") || !strings.HasPrefix(e.path, "/")) {
			t.Errorf("the file of %q is %q", dsn, e.path)
		}
	})
}

// FuzzFromJSON: what the record holds is read as it is written.
func FuzzFromJSON(f *testing.F) {
	type row struct {
		Names []string          `json:"names,omitempty"`
		By    map[string]string `json:"by,omitempty"`
		At    int64             `json:"at"`
	}
	documenttest.Fuzz(f, documenttest.Codec[row]{
		Kind:   fault.Broken,
		Decode: func(b []byte) (row, error) { return FromJSON[row]("row", string(b)) },
		Encode: func(v row) ([]byte, error) { s, err := JSON(v); return []byte(s), err },
	}, 1, []byte(`{"at":1,"by":{"a":"b"},"names":["x"]}`))
}
