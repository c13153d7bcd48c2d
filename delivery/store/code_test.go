package deliverystore

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery/imports"
)

// What was put into a row comes out of it, and of a row that is damaged nothing
// comes that is not in it.
func TestRowsOfCode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want, row := []Coded(nil), ""
		for range rapid.IntRange(0, 5).Draw(t, "modules") {
			text := func(what string) string { return rapid.StringN(0, 20, -1).Draw(t, what) }
			c := Coded{Module: text("module"), Repository: text("repository"), Folder: text("folder"), Says: imports.Said(text("says"))}
			want, row = append(want, c), row+c.entry()
		}
		got, err := all(row)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Fatalf("%s %v", d, err)
		}
		damaged := []byte(row)
		for at := range damaged {
			if rapid.IntRange(0, 9).Draw(t, "damaged") == 0 {
				damaged[at] = rapid.Byte().Draw(t, "by")
			}
		}
		row = string(damaged[:rapid.IntRange(0, len(damaged)).Draw(t, "cut")])
		got, err = all(row)
		size := 0
		for _, c := range got {
			size += len(c.entry())
		}
		if size > len(row) || err == nil && row != "" && len(got) == 0 {
			t.Fatalf("%q of %q: %v", got, row, err)
		}
	})
}

func all(row string) (all []Coded, err error) {
	for row != "" {
		var c Coded
		if c, row, err = cutEntry(row); err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}
