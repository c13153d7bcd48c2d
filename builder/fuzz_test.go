package builder

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"noxmesh/document"
	"noxmesh/document/documenttest"
	"noxmesh/link"
)

// FuzzKept gives any content to the files of a builder's state: it is taken
// whole, or refused in words.
func FuzzKept(f *testing.F) {
	for _, v := range []any{own{Format: stateFormat, Sign: "00", Nats: "x", Token: "t"}, joined{Format: stateFormat, Mesh: "mesh0001"}, link.Envelope{PayloadType: "x", Payload: []byte("{}")}} {
		b, err := document.Canonical(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range documenttest.Hostile() {
		f.Add(s)
	}
	s, err := openState(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, path := range []string{s.path(ownFile), s.path(joinedFile), filepath.Join(s.answers(), "r.json")} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		done := documenttest.Bounded(t, len(data))
		_, _, ownErr := s.keys()
		_, joinedErr := s.joined()
		_, answerErr := s.read("r")
		done()
		for _, err := range []error{ownErr, joinedErr, answerErr} {
			if err != nil {
				documenttest.Plain(t, err)
			}
		}
	})
}

// FuzzParseStatus: of what bwrap says, nothing but what it says whole counts.
func FuzzParseStatus(f *testing.F) {
	for _, s := range []string{"", `{"child-pid": 12}{"exit-code": 0}`, `{"child-pid": 12}{"exit-co`, `{"exit-code": "0"}`, `{"exit-code": 1e400}`, "null", "[]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		defer documenttest.Bounded(t, len(said))()
		if st := (status{}); rest(json.NewDecoder(bytes.NewReader(said)), &st) == nil && len(said) == 0 && (st.Pid != nil || st.Exit != nil) {
			t.Errorf("nothing was said, and is taken as %+v", st)
		}
	})
}
