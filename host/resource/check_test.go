package resource

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/report"
)

func inquiry(id, file string, after ...string) declaration.Resource {
	return declaration.Resource{ID: id, Type: declaration.Check, After: after, Traits: &declaration.Traits{File: file}}
}

func TestACheckComesAfterItsModule(t *testing.T) {
	t.Parallel()
	dir := func(id, path string) declaration.Resource {
		return declaration.Resource{ID: id, Type: declaration.Directory, Path: path, Mode: "0755"}
	}
	items, _ := newItems(declaration.Body{Resources: []declaration.Resource{
		dir("m/a", "/a"), inquiry("m/c", "/a/b"), dir("m/b", "/a/b"), inquiry("m/d", "/a/b"), inquiry("n/e", "/"), dir("o/f", "/x"), inquiry("m/g", "/", "m/d"), inquiry("m/h", "/", "m/a"),
	}})
	want := []string{"0 []", "1 [0]", "1 [0]", "2 [0 2]", "0 []", "0 []", "3 [3 0 2]", "2 [0 2]"}
	for i, it := range items {
		if got := fmt.Sprint(it.level, " ", it.needs); got != want[i] {
			t.Errorf("%s: got %s, want %s", it.res.ID, got, want[i])
		}
	}
}

// What is only asked is asked at each look, and leaves nothing behind.
func TestACheckHoldsNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for i := range m.engine.kinds {
		if m.engine.kinds[i].of == declaration.Check {
			m.engine.kinds[i].kind = checked{} // who asks once only
		}
	}
	file := m.depot.file("m/f", "/etc/f", "x")
	m.wantStates("f changed, c ok", file, inquiry("m/c", "/etc/f"))
	if r := m.wantStates("f ok, c ok", file, inquiry("m/c", "/etc/f")); r.Wrote || !r.Right {
		t.Errorf("%+v", r)
	}
	if len(m.engine.record.Holds) > 0 || m.engine.record.Done["m/c"] != "" {
		t.Errorf("%+v", m.engine.record)
	}
	r := m.wantStates("f ok, c failed, d blocked", file, inquiry("m/c", "/etc/g"), inquiry("m/d", "/etc/f", "m/c"))
	if got := r.Resources[1].Error; got != `look at "check m/c": look at /etc/g: there is nothing` || r.Right || r.Outcome != report.OutcomeFailed || m.engine.Soon() != lookAgain {
		t.Errorf("%s %+v", got, r)
	}
	m.wantStates("f ok", file)
	if e, _ := m.engine.record.Entries.Get("/etc/f"); e.Phase != keep.Done {
		t.Errorf("%+v", e)
	}
}

// Whatever a command writes, one line of it is said, which is short and plain.
func TestWhatACommandHasSaidIsOneLine(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"": ", and did not say why", " \n\t\r\n": ", and did not say why", "\x1b": ", and did not say why", "a": ": a", "a\nb\n": ": b", "a\r\nb c\td\x00\n\n": ": b c d",
		"a\xffb": ": a b", strings.Repeat("ü", 201): ": " + strings.Repeat("ü", 200) + "…",
	} {
		if got := lastLine(said); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		got := lastLine(string(rapid.SliceOfN(rapid.Byte(), 0, 4<<10).Draw(t, "said")))
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 203 || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q", got)
		}
	})
}
