package document_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// The vectors of RFC 8785 that hold no float: the order of keys is that of their
// UTF-16 code units (3.2.3), and strings are escaped in one way (3.2.2.2).
func TestCanonicalFormIsThatOfTheRFC(t *testing.T) {
	t.Parallel()
	sorting := map[string]string{
		"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
		"\U0001F600": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis",
	}
	for name, c := range map[string]struct {
		in   any
		want string
	}{
		"sorting": {
			sorting,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		},
		"strings":                     {"\u20ac$\u000f\nA'B\"\\\\\"/", `"€$\u000f\nA'B\"\\\\\"/"`},
		"controls":                    {"\b\t\n\f\r\x00\x1f\x7f<>&\u2028", `"\b\t\n\f\r\u0000\u001f` + "\x7f<>&\u2028\""},
		"literals":                    {[]any{nil, true, false}, `[null,true,false]`},
		"integers":                    {[]int64{0, -1, 1 << 53, -(1 << 53), 333333333}, `[0,-1,9007199254740992,-9007199254740992,333333333]`},
		"nothing":                     {[]string(nil), `[]`},
		"no map":                      {map[string]string(nil), `{}`},
		"bytes":                       {[]byte{0xfb, 0xff}, `"+/8="`},
		"left out":                    {inner{Path: "/"}, `{"path":"/"}`},
		"an empty text that is there": {inner{Path: "/", Body: new(string)}, `{"body":"","path":"/"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := document.Canonical(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestWhatHasNoEncodingIsOurBug(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"fraction":      map[string]any{"a": 1.5},
		"exponent":      1e300,
		"negative zero": math.Copysign(0, -1),
		"infinity":      math.Inf(1),
		"too large":     []int64{1<<53 + 1},
		"too small":     int64(math.MinInt64),
		"unsigned":      uint64(math.MaxUint64),
		"not UTF-8":     "\xff",
		"channel":       make(chan int),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := document.Canonical(v)
			if fault.KindOf(err) != fault.Broken {
				t.Errorf("got %s, %v", b, err)
			}
		})
	}
}

func values() *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
		rapid.Int64Range(-(1<<53), 1<<53).AsAny(),
	)
	return rapid.OneOf(
		leaf, rapid.SliceOfN(leaf, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), leaf, 0, 6).AsAny(),
		rapid.MapOfN(rapid.String(), rapid.SliceOfN(leaf, 0, 3).AsAny(), 0, 4).AsAny(),
	)
}

// Whoever reads the canonical form with another library reads the same, and its
// keys are sorted as an obvious sort would sort them.
func TestCanonicalFormMeansTheSameToOthers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "value")
		got, err := document.Canonical(v)
		if err != nil {
			t.Fatal(err)
		}
		var theirs any
		d := json.NewDecoder(bytes.NewReader(got))
		d.UseNumber()
		if err := d.Decode(&theirs); err != nil {
			t.Fatal(err)
		}
		if again := obvious(theirs); again != string(got) {
			t.Fatalf("got  %s\nwant %s", got, again)
		}
		if bytes.ContainsAny(got, "\n\t") {
			t.Fatalf("space in %s", got)
		}
	})
}

// obvious is RFC 8785, slowly.
func obvious(v any) string {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.SortedFunc(maps.Keys(v), func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		parts := make([]string, len(keys))
		for i, k := range keys {
			parts[i] = text(k) + ":" + obvious(v[k])
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = obvious(v[i])
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		return text(v)
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return "null"
}

func text(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	out := strings.TrimSuffix(b.String(), "\n")
	// The standard library escapes two letters that the RFC does not.
	out = strings.ReplaceAll(out, `\\`, "\x01")
	out = strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(out)
	return strings.ReplaceAll(out, "\x01", `\\`)
}

func outers() *rapid.Generator[outer] {
	return rapid.Custom(func(t *rapid.T) outer {
		o := outer{
			Name: rapid.String().Draw(t, "name"), Count: rapid.Int64Range(-(1<<53), 1<<53).Draw(t, "count"),
			Raw: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "raw"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "resources") {
			o.Resources = append(o.Resources, inners().Draw(t, "resource"))
		}
		if rapid.Bool().Draw(t, "maybe") {
			in := inners().Draw(t, "in")
			o.Maybe = &in
		}
		for _, s := range rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "inline") {
			if o.Inline == nil {
				o.Inline = map[document.Digest]string{}
			}
			o.Inline[document.Sum([]byte(s))] = s
		}
		if len(o.Raw) == 0 {
			o.Raw = nil
		}
		return o
	})
}

func inners() *rapid.Generator[inner] {
	return rapid.Custom(func(t *rapid.T) inner {
		in := inner{Path: rapid.String().Draw(t, "path"), Size: rapid.Int64Range(0, 1<<53).Draw(t, "size"), Flag: rapid.Bool().Draw(t, "flag")}
		if rapid.Bool().Draw(t, "has body") {
			s := rapid.String().Draw(t, "body")
			in.Body = &s
		}
		return in
	})
}

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := outers().Draw(t, "document")
		b, err := document.Canonical(in)
		if err != nil {
			t.Fatal(err)
		}
		out, err := document.Decode[outer]("f", b, limits())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(in, out); d != "" {
			t.Fatal(d)
		}
		again, err := document.Canonical(out)
		if err != nil || !bytes.Equal(b, again) {
			t.Fatalf("%v\n%s\n%s", err, b, again)
		}
	})
}

// Space and the order of keys are no part of a document.
func TestOrderAndSpaceChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := outers().Draw(t, "document")
		b, err := document.Canonical(in)
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(b, &keys); err != nil {
			t.Fatal(err)
		}
		mixed := []byte("{")
		for i, k := range rapid.Permutation(slices.Sorted(maps.Keys(keys))).Draw(t, "order") {
			if i > 0 {
				mixed = append(mixed, ',')
			}
			mixed = append(append(append(mixed, '\n', '"'), k...), "\" :\t"...)
			mixed = append(mixed, keys[k]...)
		}
		out, err := document.Decode[outer]("f", append(mixed, " }\n"...), limits())
		if err != nil {
			t.Fatal(err)
		}
		again, err := document.CanonicalDigest(out)
		if err != nil || again != document.Sum(b) {
			t.Fatalf("%v, %s", err, again)
		}
	})
}
