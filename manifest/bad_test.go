package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// What is said of each bad manifest stands beside it, and has been read by
// somebody who asked: would I know what to type next?
func TestBadManifests(t *testing.T) {
	t.Parallel()
	bad := badManifests(t)
	if len(bad) < 140 {
		t.Errorf("%d bad manifests, there were more", len(bad))
	}
	for name, in := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.DecodeSource("module.json", in)
			if err == nil {
				t.Fatal("it is taken")
			}
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("kind %s", fault.KindOf(err))
			}
			plain(t, err)
			file := filepath.Join("testdata", "bad", name+".want")
			got := err.Error() + "\n"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
		})
	}
}

// badManifests is testdata/bad, by name, each with what is wanted of it.
func badManifests(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "bad", "*"))
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string][]byte{}
	for _, file := range files {
		name, isInput := strings.CutSuffix(filepath.Base(file), ".json")
		if !isInput {
			if _, err := os.Stat(strings.TrimSuffix(file, ".want") + ".json"); err != nil {
				t.Errorf("%s is wanted of nothing", file)
			}
			continue
		}
		if bad[name], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return bad
}

// plain checks that an error can be shown to a person: on lines of a bounded
// length, of which there are few, with nothing in them that a terminal obeys.
func plain(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if len(text) > 64<<10 || strings.Count(text, "\n") > 51 {
		t.Errorf("%d bytes in %d lines", len(text), 1+strings.Count(text, "\n"))
	}
	for line := range strings.SplitSeq(text, "\n") {
		if !utf8.ValidString(line) || len(line) > 2<<10 || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("a line of %d bytes: %q", len(line), document.Short(line))
		}
	}
}

func TestAManifestOf10MBIsNotLookedInto(t *testing.T) { //nolint:paralleltest // it counts allocations
	in := []byte(`{"module": "board", "summary": "` + strings.Repeat("x", 10<<20) + `"}`)
	const want = "module.json: the document has 10485794 bytes; at most 1048576 are read"
	var err error
	if n := testing.AllocsPerRun(1, func() { _, err = manifest.DecodeSource("module.json", in) }); n > 100 {
		t.Errorf("%.0f allocations", n)
	}
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// All faults are said, up to a number that a person still reads.
func TestOfVeryManyFaultsTheFirstFiftyAreSaid(t *testing.T) {
	t.Parallel()
	in := `{"module": "board", "provides": [` + strings.TrimSuffix(strings.Repeat(`"X", `, 1000), ", ") + `]}`
	_, err := manifest.DecodeSource("module.json", []byte(in))
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 51 || !strings.HasSuffix(lines[50], "more is wrong from here on; mend the faults before it first") {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

// A key, a number and a name that never end are cut in what is said of them.
func TestWhatIsSaidOfALongThingIsShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500_000)
	for name, in := range map[string]string{
		"key":      `{"module": "board", "` + long + `": 1}`,
		"path":     `{"module": "board", "settings": {"` + long + `": {"tpye": "string", "a": 1, "b": 2, "c": 3}}}`,
		"number":   `{"module": ` + strings.Repeat("9", 500_000) + `, "settings": {"a": {"type": "integer", "default": ` + strings.Repeat("9", 500_000) + `}}}`,
		"name":     `{"module": "` + long + `"}`,
		"template": `{"module": "board", "resources": [{"id": "a", "type": "link", "path": "/a", "target": "${` + long + `}"}]}`,
		"open":     `{"module": "board", "resources": [{"id": "a", "type": "link", "path": "/a", "target": "${` + long + `"}]}`,
		"bare":     `{"module": ` + long + `}`,
		"type":     `{"module": "board", "resources": [{"id": "a", "type": "` + long + `", "path": "/a"}]}`,
	} {
		_, err := manifest.DecodeSource("module.json", []byte(in))
		if err == nil {
			t.Errorf("%s is taken", name)
			continue
		}
		plain(t, err)
	}
}
