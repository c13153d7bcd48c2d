package document_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

func TestAllFaultsAreSaidAtOnceInTheOrderOfTheText(t *testing.T) {
	t.Parallel()
	_, err := document.Decode[outer]("module.json", []byte("{\n  \"nme\": 1,\n  \"count\": \"x\",\n  \"resources\": [{\"path\": 3, \"mdoe\": \"\"}]\n}"), limits())
	want := strings.Join([]string{
		`module.json:1:1: at name: the key "name" is missing; want a string`,
		`module.json:1:1: at maybe: the key "maybe" is missing; want an object`,
		`module.json:2:3: at nme: unknown key "nme"; did you mean "name"?`,
		`module.json:3:12: at count: there is a string; want an integer`,
		`module.json:4:26: at resources[0].path: there is a number; want a string`,
		`module.json:4:29: at resources[0].mdoe: unknown key "mdoe"; did you mean "mode"?`,
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestColumnsAreCharacters(t *testing.T) {
	t.Parallel()
	_, err := document.Decode[outer]("f", []byte(`{"name":"äö😀","count":1,"maybe":null,"x":1}`), limits())
	if p := document.ProblemsOf(err); len(p) != 1 || p[0].Column != 38 {
		t.Errorf("got %+v", p)
	}
}

func TestLaterFaultsAreOnlyCounted(t *testing.T) {
	t.Parallel()
	in := `{"name":"a","count":1,"maybe":null,"resources":[` + strings.TrimSuffix(strings.Repeat(`{"path":1},`, 4000), ",") + `]}`
	start := time.Now()
	_, err := document.Decode[outer]("f", []byte(in), limits())
	p := document.ProblemsOf(err)
	if len(p) != 51 || p[50].What != "more is wrong from here on" {
		t.Errorf("%d problems, the last %+v", len(p), p[len(p)-1])
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %s", took)
	}
}

// What a check quotes of a document is shown, and nothing of it obeyed.
func TestAProblemIsOnlyShown(t *testing.T) {
	t.Parallel()
	r := document.Look("f")
	r.Fault("a", "want \u202eit", "no way to %s in \"it\"", "\x1b[2J\x7f\xff\n")
	r.FaultKey("b", "", "%q", "\n")
	want := "f: at a: no way to \\x1b[2J\\x7f\ufffd\\n in \"it\"; want \\u202eit\nf: at b: \"\\n\""
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := document.Printable("a'b\"c\x00" + strings.Repeat("x", 90)); got != `a'b"c\x00`+strings.Repeat("x", 74)+"…" {
		t.Errorf("got %s", got)
	}
}

func TestALongKeyIsCut(t *testing.T) {
	t.Parallel()
	_, err := document.Decode[outer]("f", []byte(`{"name":"a","count":1,"maybe":null,"`+strings.Repeat("k", 9000)+`":1}`), limits())
	if p := document.ProblemsOf(err); len(p) != 1 || len(p[0].What) > 120 {
		t.Errorf("got %v", err)
	}
}

type own struct{ text string }

func (o *own) UnmarshalText(b []byte) error {
	if string(b) == "no" {
		return errors.New("no is not taken")
	}
	o.text = string(b)
	return nil
}

func (o own) MarshalText() ([]byte, error) { return []byte(o.text), nil }

type base struct {
	Format int `json:"format"`
}

type special struct {
	base
	Own   own             `json:"own"`
	Time  time.Time       `json:"time"`
	Free  any             `json:"free"`
	Ratio float64         `json:"ratio,omitempty"`
	Small int8            `json:"small,omitempty"`
	Pair  [2]int          `json:"pair,omitzero"`
	Owns  map[string]*own `json:"owns,omitempty"`
	inner bool            //nolint:unused // must not be a key
	Gone  bool            `json:"-"`
}

func TestTypesThatReadThemselves(t *testing.T) {
	t.Parallel()
	const good = `{"format":1,"own":"yes","time":"2026-11-29T17:00:00Z","free":{"a":[1.5,null]},"ratio":0.5,"pair":[1,2],"owns":{"a":"b"}}`
	v, err := document.Decode[special]("f", []byte(good), limits())
	if err != nil || v.Own.text != "yes" || v.Format != 1 || v.Pair != [2]int{1, 2} || v.Owns["a"].text != "b" {
		t.Fatalf("%+v, %v", v, err)
	}
	for in, want := range map[string]string{
		strings.Replace(good, `"yes"`, `"no"`, 1):              `f:1:19: at own: no is not taken`,
		strings.Replace(good, `"yes"`, `1`, 1):                 `f:1:19: at own: there is a number; want a string`,
		strings.Replace(good, `"yes"`, `null`, 1):              `f:1:19: at own: there is null; want a string`,
		strings.Replace(good, `1.5`, `{"a":1,"a":2}`, 1):       `at free.a[0].a: the key "a" is there twice`,
		strings.Replace(good, `[1,2]`, `[1,2,3]`, 1):           `at pair[2]: there are more elements than the list takes`,
		strings.Replace(good, `"ratio"`, `"small"`, 1):         `0.5 is not an integer`,
		strings.Replace(good, `"ratio":0.5`, `"small":128`, 1): `at small: 128 is out of range; want an integer that fits int8`,
		strings.Replace(good, `"ratio"`, `"Gone"`, 1):          `unknown key "Gone"`,
		strings.Replace(good, `"ratio"`, `"inner"`, 1):         `unknown key "inner"`,
		strings.Replace(good, `"format":1,`, ``, 1):            `the key "format" is missing`,
		strings.Replace(good, `2026-11`, `2026-13`, 1):         `at time: `,
		strings.Replace(good, `{"a":"b"}`, `{"a":{}}`, 1):      `at owns.a: there is an object; want a string`,
	} {
		if _, err := document.Decode[special]("f", []byte(in), limits()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", in, err, want)
		}
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	const in = "{\n \"a\": [1, {\"b c\": true}],\n \"sha256:00\": {\"x\": null}, \"a\": 2\n}"
	for path, want := range map[string]string{
		"": "1:1", "a": "2:7", "a[0]": "2:8", "a[1]": "2:11", `a[1]["b c"]`: "2:19", `["sha256:00"].x`: "3:21",
		"a[7]": "2:7", "nowhere": "1:1", "a[1].none.deeper": "2:11", "a[x": "2:7", "[": "1:1",
	} {
		line, column := document.Locate([]byte(in), path)
		if got := fmt.Sprintf("%d:%d", line, column); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
}

// A path is built by Join and At, and finds the place it was built for.
func TestEveryPathIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data, path, depth := []byte(`"here"`), "", rapid.IntRange(1, 5).Draw(t, "depth")
		var steps []any
		for range depth {
			if rapid.Bool().Draw(t, "list") {
				steps = append(steps, rapid.IntRange(0, 3).Draw(t, "index"))
			} else {
				steps = append(steps, rapid.String().Draw(t, "key"))
			}
		}
		for i := len(steps) - 1; i >= 0; i-- {
			switch s := steps[i].(type) {
			case int:
				data = append(append([]byte("["+strings.Repeat("0,", s)), data...), ']')
			case string:
				key, _ := json.Marshal(s)
				data = append(append([]byte("{"+string(key)+": "), data...), '}')
			}
		}
		for _, s := range steps {
			switch s := s.(type) {
			case int:
				path = document.At(path, s)
			case string:
				path = document.Join(path, s)
			}
		}
		_, column := document.Locate(data, path)
		if got := string([]rune(string(data))[column-1:]); !strings.HasPrefix(got, `"here"`) {
			t.Fatalf("%s in %s: at %s", path, data, got)
		}
	})
}

type versioned struct {
	Format int    `json:"format"`
	Name   string `json:"name"`
}

func form() document.Form[versioned] {
	return document.Form[versioned]{
		Name: "declaration", Limits: limits(), Speaks: 1, Reader: "this host", Upgrade: "upgrade the host",
		Later: map[string]string{"lab": "this version has no lab yet"},
		Check: func(v versioned, r *document.Reading) {
			if v.Name == "" {
				r.Fault("name", "want a name", "it is empty")
			}
		},
	}
}

func TestAForm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"format":2,"name":"","new":[]}`:  `declaration:1:11: at format: this host speaks 1, the declaration is format 2; upgrade the host`,
		`{"format":0,"name":"a"}`:          `declaration:1:11: at format: format 0; want 1`,
		`{"format":1,"name":"","lab":"x"}`: "declaration:1:20: at name: it is empty; want a name\ndeclaration:1:23: at lab: this version has no lab yet",
		`{"format":1,"nme":"x"}`:           "declaration:1:1: at name: the key \"name\" is missing; want a string\ndeclaration:1:13: at nme: unknown key \"nme\"; did you mean \"name\"?",
	} {
		if _, err := form().Decode([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if _, err := form().Decode([]byte(`{"format":2}`)); fault.HintOf(err) != "upgrade the host" || fault.KindOf(err) != fault.Invalid {
		t.Errorf("hint %q, kind %s", fault.HintOf(err), fault.KindOf(err))
	}
	if _, err := form().Encode(versioned{Format: 1}); fault.KindOf(err) != fault.Broken {
		t.Errorf("encoded what breaks a rule: %v", err)
	}
	b, err := form().Encode(versioned{1, "a"})
	if err != nil || string(b) != `{"format":1,"name":"a"}` {
		t.Errorf("%s, %v", b, err)
	}
}
