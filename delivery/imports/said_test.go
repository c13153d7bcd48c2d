package imports_test

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"noxmesh/delivery/imports"
)

func drawFound(t *rapid.T) map[string]imports.Found {
	text := rapid.StringOf(rapid.RuneFrom([]rune{'a', 'b', '/', '@', '`', '1', 'ä', '\n'}))
	name := rapid.Map(text, func(s string) string { return s + "." })
	long := rapid.Map(rapid.IntRange(1, 2000), func(n int) string { return strings.Repeat("x", n) })
	place := rapid.Custom(func(t *rapid.T) imports.Place {
		return imports.Place{File: rapid.OneOf(name, long).Draw(t, "file"), Line: rapid.IntRange(0, 100_000).Draw(t, "line")}
	})
	return rapid.MapOfN(rapid.SampledFrom([]string{"go", "rust", "javascript"}), rapid.Custom(func(t *rapid.T) (f imports.Found) {
		f.Owns = rapid.SliceOf(rapid.Custom(func(t *rapid.T) imports.Own {
			return imports.Own{Name: text.Draw(t, "own"), At: place.Draw(t, "at")}
		})).Draw(t, "owns")
		f.Imports = rapid.SliceOf(rapid.Custom(func(t *rapid.T) imports.Import {
			i := imports.Import{Test: rapid.Bool().Draw(t, "test"), At: place.Draw(t, "at")}
			if rapid.Bool().Draw(t, "path") {
				i.Path = name.Draw(t, "path")
			} else {
				i.Name = rapid.OneOf(text, long).Draw(t, "name")
			}
			return i
		})).Draw(t, "imports")
		f.Faults = rapid.SliceOf(rapid.Custom(func(t *rapid.T) imports.Fault {
			return imports.Fault{At: place.Draw(t, "at"), Why: text.Draw(t, "why"), Test: rapid.Bool().Draw(t, "test")}
		})).Draw(t, "faults")
		return f
	}), 0, 3).Draw(t, "found")
}

// What is said is what was found, its names come in order, and whatever is cut
// off is missed.
func TestSaidIsWhatWasFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		found := drawFound(t)
		said, err := imports.ParseSaid(string(imports.Say(found)))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(found, said.Found(), cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		faulty := slices.ContainsFunc(slices.Collect(maps.Values(found)), func(f imports.Found) bool { return len(f.Faults) > 0 })
		if said.Faulty() != faulty {
			t.Fatalf("%q has faults: %v", said, !faulty)
		}
		words := map[string]imports.Found{}
		last := ""
		for w := range said.Words(nil) {
			if w.Language < last {
				t.Fatalf("%s after %s", w.Language, last)
			}
			last = w.Language
			f := words[w.Language]
			switch {
			case w.Owned:
				f.Owns = append(f.Owns, imports.Own{Name: string(w.Text)})
			case w.Path:
				f.Imports = append(f.Imports, imports.Import{Path: string(w.Text), Test: w.Test})
			default:
				f.Imports = append(f.Imports, imports.Import{Name: string(w.Text), Test: w.Test})
			}
			words[w.Language] = f
		}
		without := cmpopts.IgnoreTypes(imports.Place{}, imports.Fault{})
		some := cmpopts.IgnoreMapEntries(func(_ string, f imports.Found) bool { return len(f.Owns)+len(f.Imports) == 0 })
		if d := cmp.Diff(found, words, cmpopts.EquateEmpty(), without, cmpopts.IgnoreFields(imports.Found{}, "Faults"), some); d != "" {
			t.Fatal(d)
		}
		if len(said) > 0 {
			short := said[:rapid.IntRange(1, len(said)-1).Draw(t, "cut")]
			if _, err := imports.ParseSaid(string(short)); err == nil {
				t.Fatalf("%q of %q is whole", short, said)
			}
		}
	})
}

// The record holds neither NUL nor what is not UTF-8.
func TestSaidIsText(t *testing.T) {
	t.Parallel()
	said := imports.Say(map[string]imports.Found{"javascript": {Imports: []imports.Import{{Name: "\x00virtual\xff", At: imports.Place{File: "a.js", Line: 1}}}}})
	if got := said.Found()["javascript"].Imports[0].Name; got != "\ufffdvirtual\ufffd" || strings.Contains(string(said), "\x00") {
		t.Errorf("%q of %q", got, said)
	}
}

// What was kept before there was a checksum is read like before.
func TestSaidOfTheFormatBefore(t *testing.T) {
	t.Parallel()
	said, err := imports.ParseSaid("1AABgoABMexample.com/auAexample.com/bNb/cBFgo.modIa_test.goA@AAlI@BACMwant }")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]imports.Found{"go": {
		Owns:    []imports.Own{{Name: "example.com/a", At: imports.Place{File: "go.mod", Line: 1}}},
		Imports: []imports.Import{{Name: "example.com/b", Test: true, At: imports.Place{File: "a_test.go", Line: 300}}, {Path: "b/c", At: imports.Place{File: "go.mod", Line: 2}}},
		Faults:  []imports.Fault{{At: imports.Place{File: "a_test.go", Line: 3}, Why: "want }", Test: true}},
	}}
	if d := cmp.Diff(want, said.Found()); d != "" {
		t.Error(d)
	}
	if again := imports.Say(want); !slices.Equal(slices.Collect(texts(said)), slices.Collect(texts(again))) {
		t.Errorf("%q is not what %q says", again, said)
	}
}

func texts(s imports.Said) iter.Seq[string] {
	return func(yield func(string) bool) {
		for w := range s.Words(nil) {
			if !yield(string(w.Text)) {
				return
			}
		}
	}
}

// Whatever letter of it has become another is missed.
func TestSaidThatIsDamaged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		said := []byte(imports.Say(drawFound(t)))
		if len(said) == 0 {
			t.Skip("nothing")
		}
		at := rapid.IntRange(0, len(said)-1).Draw(t, "at")
		was := said[at]
		said[at] = rapid.Byte().Filter(func(b byte) bool { return b != was }).Draw(t, "is")
		if _, err := imports.ParseSaid(string(said)); err == nil && at > 0 {
			t.Fatalf("%q is whole", said)
		}
	})
}

// FuzzSaid: what is not whole is refused, and what is whole can be read and said
// again. Of whatever text with its checksum, what can be read is.
func FuzzSaid(f *testing.F) {
	f.Add("")
	f.Add("{}")
	f.Add("1")
	f.Add("1@")
	f.Add("1@ABgo@@@@")
	f.Add("@ABgo@@@@")
	f.Add("@AB@goABD@aaaFDbG@cz")
	f.Add(string(imports.Say(map[string]imports.Found{"go": {
		Owns:    []imports.Own{{Name: "example.com/a", At: imports.Place{File: "go.mod", Line: 1}}},
		Imports: []imports.Import{{Name: "example.com/b", Test: true, At: imports.Place{File: "a_test.go", Line: 300}}, {Path: "b/c"}},
		Faults:  []imports.Fault{{At: imports.Place{File: "b.go"}, Why: "want }", Test: true}},
	}, "rust": {}})))
	f.Fuzz(func(t *testing.T, text string) {
		sealed := imports.Sealed(text)
		if _, err := imports.ParseSaid(string(sealed)); err != nil && text != "" {
			t.Errorf("%q: %v", sealed, err)
		}
		_, _ = slices.Collect(sealed.Words(nil)), sealed.Found()
		said, err := imports.ParseSaid(text)
		if err != nil {
			return
		}
		found := said.Found()
		again := imports.Say(found)
		if d := cmp.Diff(found, again.Found(), cmpopts.EquateEmpty()); d != "" && strings.ToValidUTF8(text, "") == text && !strings.Contains(text, "\x00") {
			t.Error(d)
		}
		_ = slices.Collect(said.Words(nil))
	})
}
