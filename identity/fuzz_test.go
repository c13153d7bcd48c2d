package identity

import (
	"net/http"
	"strings"
	"testing"

	"noxmesh/document"
	"noxmesh/document/documenttest"
	"noxmesh/internal/fault"
)

func FuzzDecodeJoinRequest(f *testing.F) {
	whole := someRequest(f)
	whole.Format, whole.Token, whole.Secret = Format, NewID(), NewSecret().Reveal()
	b, err := document.Canonical(whole)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := DecodeJoinRequest(b); err != nil {
		f.Fatalf("the seed is no request: %v", err)
	}
	documenttest.Fuzz(f, documenttest.Codec[JoinRequest]{
		Decode: DecodeJoinRequest,
		Also: func(t *testing.T, data []byte, r JoinRequest, err error) {
			t.Helper()
			if err != nil && len(r.Secret) >= 20 && strings.Contains(err.Error(), r.Secret) {
				t.Errorf("the error repeats a secret: %v", err)
			}
		},
	}, 1, b)
}

func FuzzDecodeJoinAnswer(f *testing.F) {
	token := someToken(f)
	documenttest.Fuzz(f, documenttest.Codec[JoinAnswer]{
		Decode: DecodeJoinAnswer,
		Also: func(t *testing.T, data []byte, a JoinAnswer, err error) {
			t.Helper()
			if err == nil && token.Believe(a) == nil {
				t.Errorf("believed %q", data)
			}
		},
	}, 1, []byte(`{"format":1,"keys":{"payload":"AA==","payloadType":"x","signatures":[]}}`))
}

// FuzzParseToken: what is read is written as it was, and no error repeats it.
func FuzzParseToken(f *testing.F) {
	seeds := []string{someText(f), someLogin(f), "", "mesh-join-1.", "mesh-join-1.e30", "mesh-join-2.x", strings.Repeat("a", 5000)}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		done := documenttest.Bounded(t, len(text))
		k, err := ParseToken(text)
		done()
		if err != nil {
			refusedWord(t, text, err)
			return
		}
		if again, err := k.Text(); err != nil || again != strings.TrimSpace(text) {
			t.Fatalf("%q was read, and is written %q: %v", text, again, err)
		}
	})
}

// FuzzParseLogin is FuzzParseToken for logins.
func FuzzParseLogin(f *testing.F) {
	seeds := []string{someLogin(f), someText(f), "", "mesh-login-1.", "mesh-login-1.e30", "mesh-login-2.x", strings.Repeat("a", 5000)}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLogin(text)
		if err != nil {
			refusedWord(t, text, err)
			return
		}
		if again, err := l.Text(); err != nil || again != strings.TrimSpace(text) {
			t.Fatalf("%q was read, and is written %q: %v", text, again, err)
		}
	})
}

func refusedWord(t *testing.T, text string, err error) {
	t.Helper()
	documenttest.Plain(t, err)
	if fault.KindOf(err) != fault.Invalid || fault.HintOf(err) == "" {
		t.Errorf("kind %s, hint %q: %v", fault.KindOf(err), fault.HintOf(err), err)
	}
	if len(text) > 40 && strings.Contains(err.Error(), text[20:]) {
		t.Errorf("the error repeats the word: %v", err)
	}
}

// FuzzParseCA: what is read is a CA whose key is its certificate's.
func FuzzParseCA(f *testing.F) {
	whole, err := newCA(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	documenttest.Fuzz(f, documenttest.Codec[CA]{
		Decode: ParseCA, Encode: CA.Encode,
		Also: func(t *testing.T, data []byte, _ CA, _ error) {
			t.Helper()
			_, _ = Fingerprint(data)
		},
	}, 3, whole, whole[:len(whole)/2], append(whole[:len(whole):len(whole)], whole...))
}

// FuzzParseRole: a role is its name.
func FuzzParseRole(f *testing.F) {
	for _, s := range []string{"", "viewer", "operator", "anyone", "Operator", "\x1b[2J", strings.Repeat("\x80", 3000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		r, err := ParseRole(name)
		if err != nil {
			documenttest.Plain(t, err)
		} else if r.String() != name || r == Anyone || !May(r, Viewer) {
			t.Errorf("%q is the role %q", name, r)
		}
	})
}

// FuzzRefused: whatever says no, something of a known kind is said.
func FuzzRefused(f *testing.F) {
	for _, s := range []string{"", "{}", `{"kind":"denied","error":"no","hint":"ask"}`, `{"kind":"x","error":"no"}`, "<html>502</html>", "\xff"} {
		f.Add(http.StatusForbidden, []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, data []byte) {
		if err := refused(status, data); err == nil || err.Error() == "" {
			t.Errorf("%d %q says nothing", status, data)
		}
	})
}
