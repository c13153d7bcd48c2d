package document_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"noxmesh/document"
	"noxmesh/document/documenttest"
)

// FuzzDecode: what is accepted encodes to what is accepted as the same, and the
// walk that explains refuses everything that the decoder proper would refuse.
func FuzzDecode(f *testing.F) {
	seeds, err := os.ReadDir("testdata/fuzz/FuzzDecode")
	if err != nil || len(seeds) < 4 {
		f.Fatalf("want at least 4 seeds, got %d, %v", len(seeds), err)
	}
	documenttest.Fuzz(f, documenttest.Codec[outer]{
		Decode: func(in []byte) (outer, error) { return document.Decode[outer]("f", in, limits()) },
		Also: func(t *testing.T, in []byte, _ outer, err error) {
			t.Helper()
			for _, p := range document.ProblemsOf(err) {
				if p.What == "the value does not fit" || p.Line > 1+bytes.Count(in, []byte("\n")) {
					t.Errorf("unforeseen: %s", p)
				}
			}
			if err != nil && document.ProblemsOf(err) == nil {
				t.Errorf("no problems in %v", err)
			}
		},
	}, 0)
}

// FuzzSpecial is FuzzDecode for types that read themselves.
func FuzzSpecial(f *testing.F) {
	documenttest.Fuzz(f, documenttest.Codec[selves]{Decode: func(in []byte) (selves, error) {
		return document.Decode[selves]("f", in, limits())
	}}, 2,
		[]byte(`{"format":1,"own":"yes","time":"2026-11-29T17:00:00Z","free":{"a":[1,null]},"pair":[1,2],"owns":{"a":"b"}}`),
		[]byte(`{"format":1,"own":"no","time":"2026-13-29T17:00:00Z","free":{"a":1,"a":2},"pair":[1,2,3],"owns":{"a":null}}`))
}

// selves is special without the floats, which have no encoding.
type selves struct {
	base
	Own  string          `json:"own"`
	Pair [2]int          `json:"pair,omitzero"`
	Owns map[string]*own `json:"owns,omitempty"`
	Raw  []byte          `json:"raw,omitempty"`
	Tiny uint8           `json:"tiny,omitempty"`
}

func FuzzParseDigest(f *testing.F) {
	for _, s := range []string{"", "sha256:", string(document.Sum(nil)), "SHA256:" + document.Sum(nil).Hex(), string(document.Sum(nil)) + "\n", "\x1b[2J", strings.Repeat("\x80", 3000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := document.ParseDigest(s)
		if err != nil {
			documenttest.Plain(t, err)
			return
		}
		if string(d) != s || len(d.Hex()) != 64 || d.Short() != d.Hex()[:12] {
			t.Errorf("%q is read as %q", s, d)
		}
	})
}

// FuzzLocate: any path in any text has a place in it.
func FuzzLocate(f *testing.F) {
	f.Add([]byte("{\n \"a\": [1, {\"b c\": true}]}"), `a[1]["b c"]`)
	f.Add([]byte(`{"a":`), "a.b.c")
	f.Add([]byte(`[[[[`), "[0][0][0][9]")
	f.Add([]byte(`{"":{"":1}}`), `[""][""]`)
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		line, column := document.Locate(data, path)
		if line < 1 || column < 1 || line > 1+bytes.Count(data, []byte("\n")) || column > 1+utf8.RuneCount(data) {
			t.Errorf("%d:%d in %q", line, column, data)
		}
	})
}

// FuzzNames: what is a good name or path is one that nothing obeys.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "/", "/a", "a", "..", "../a", "/a/../b", "a/", "\x00", "\x1b[2J", "\xff", "/a\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		absolute, relative := document.BadPath(s) == "", document.BadRelative(s) == ""
		if absolute && relative {
			t.Errorf("%q is absolute and relative", s)
		}
		if (absolute || relative) && (document.BadName(s) != "" || bytes.ContainsAny([]byte(s), "\x00\x1b\n") || !utf8.ValidString(s)) {
			t.Errorf("%q is a path", s)
		}
		if utf8.RuneCountInString(document.Short(s)) > 81 || !utf8.ValidString(document.Short(s)) {
			t.Errorf("%q is short", document.Short(s))
		}
	})
}
