package archive_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/archive"
	"noxmesh/archive/archivetest"
	"noxmesh/document/documenttest"
	"noxmesh/internal/fault"
)

// What is said of each hostile archive stands in testdata/hostile.want. All are
// refused, and of all but the last kind nothing has been written by then: not a
// byte, not a directory, not a time has changed in the target or around it. What
// only the content of a later frame can show is refused when it is read.
func TestWhatIsSaidOfHostileArchives(t *testing.T) {
	t.Parallel()
	v := archivetest.NewVictim(t)
	said := map[string]string{}
	refuse := func(name string, idx archive.Index, src archive.Source) {
		t.Helper()
		o := newOutside(t)
		before := snapshot(t, o.dir, "")
		err := archive.Unpack(t.Context(), idx, src, o.target)
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
			return
		}
		documenttest.Plain(t, err)
		if after := snapshot(t, o.dir, ""); after != before {
			t.Errorf("%s: refused after something was written; before:\n%s\nafter:\n%s", name, before, after)
		}
		said[name] = err.Error()
	}
	for name, idx := range archivetest.Indexes() {
		refuse("index, "+name, idx, unread{t})
	}
	for name, stream := range v.Streams(t) {
		refuse("stream, "+name, v.Index, source(archivetest.Forge(t, stream, 1<<20).Bytes()))
	}
	for name, change := range v.Tables(t) {
		f := archivetest.Forge(t, v.Stream, 1<<20)
		if strings.Contains(name, "border") || strings.Contains(name, "swapped") || strings.Contains(name, "twice") || strings.Contains(name, "before the table") {
			continue // it takes two frames: TestHostileTables has it
		}
		change(f)
		refuse("frames, "+name, v.Index, source(f.Bytes()))
	}
	if len(said) < 130 {
		t.Errorf("%d hostile archives, there were more", len(said))
	}
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(said)) {
		got.WriteString(name + "\n    " + strings.ReplaceAll(said[name], "\n", "\n    ") + "\n")
	}
	file := filepath.Join("testdata", "hostile.want")
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Error(d)
	}
}
