package identity

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

func someToken(t testing.TB) Token {
	t.Helper()
	root, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return Token{
		URL: "https://mesh.example:8443", CA: strings.Repeat("0f", 32), Root: root.Public(),
		Mesh: NewID(), ID: NewID(), Secret: NewSecret(),
	}
}

func someText(t testing.TB) string {
	t.Helper()
	text, err := someToken(t).Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func someLogin(t testing.TB) string {
	t.Helper()
	text, err := Login{URL: "https://127.0.0.1:8443", CA: strings.Repeat("0f", 32), ID: NewID(), Secret: NewSecret()}.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestATokenIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := someToken(t)
		want.URL = "https://" + rapid.SampledFrom([]string{"a", "10.0.0.1", "[::1]", "mesh.example"}).Draw(rt, "host") +
			rapid.SampledFrom([]string{"", ":1", ":65535"}).Draw(rt, "port")
		text, err := want.Text()
		if err != nil {
			rt.Fatal(err)
		}
		if strings.ContainsAny(text, " \t\r\n+/=") || !strings.HasPrefix(text, "mesh-join-1.") {
			rt.Fatalf("%q is not one plain word", text)
		}
		got, err := ParseToken("\n  " + text + " \r\n")
		if err != nil || got != want {
			rt.Fatalf("got %v: %v", got, err)
		}
		// Nothing that was cut off, and no changed character, is a token.
		if _, err := ParseToken(text[:rapid.IntRange(0, len(text)-1).Draw(rt, "length")]); fault.KindOf(err) != fault.Invalid || fault.HintOf(err) == "" {
			rt.Fatalf("a part of it: %v", err)
		}
		at := rapid.IntRange(0, len(text)-1).Draw(rt, "at")
		changed := text[:at] + string(rapid.SampledFrom([]rune("ABCxyz019-_.")).Draw(rt, "character")) + text[at+1:]
		if other, err := ParseToken(changed); changed != text && err == nil && other == want {
			rt.Fatalf("two texts are one token")
		}
	})
}

func TestWhatIsNoTokenIsCalledWhatItIs(t *testing.T) {
	t.Parallel()
	text := someText(t)
	form := func(f tokenForm) string {
		b, err := document.Canonical(f)
		if err != nil {
			t.Fatal(err)
		}
		return joinPrefix + base64.RawURLEncoding.EncodeToString(b)
	}
	good := someToken(t)
	whole := tokenForm{good.URL, good.CA, good.Root, good.Mesh, good.ID, good.Secret.Reveal()}
	with := func(change func(*tokenForm)) string { f := whole; change(&f); return form(f) }
	for name, c := range map[string]struct{ text, want string }{
		"nothing":             {"", "nothing is there"},
		"blanks":              {" \n\t", "nothing is there"},
		"a login":             {someLogin(t), "this is a login"},
		"a file":              {strings.Repeat("x", 1<<20), "1048576 characters"},
		"a broken line":       {text[:40] + "\n" + text[40:], "white space inside"},
		"half":                {text[:len(text)/2], "not whole"},
		"its first letters":   {"mesh-joi", "not whole"},
		"without the prefix":  {strings.TrimPrefix(text, joinPrefix), "does not begin with mesh-join-1."},
		"one of tomorrow":     {"mesh-join-2." + text[12:], "a form that this program does not know"},
		"padded":              {text + "=", "not whole"},
		"another alphabet":    {joinPrefix + "+/+/", "not whole"},
		"no document":         {joinPrefix + base64.RawURLEncoding.EncodeToString([]byte("hello")), "not whole"},
		"not canonical":       {joinPrefix + base64.RawURLEncoding.EncodeToString([]byte(`{ "url": "https://a" }`)), "not whole"},
		"http":                {with(func(f *tokenForm) { f.URL = "http://mesh.example" }), "not an https address"},
		"a path":              {with(func(f *tokenForm) { f.URL = "https://mesh.example/x" }), "more than https://host:port"},
		"a user":              {with(func(f *tokenForm) { f.URL = "https://u:p@mesh.example" }), "more than https://host:port"},
		"no host":             {with(func(f *tokenForm) { f.URL = "https://:443" }), "not an https address"},
		"a short pin":         {with(func(f *tokenForm) { f.CA = "0f" }), "its ca is not"},
		"a pin in capitals":   {with(func(f *tokenForm) { f.CA = strings.Repeat("0F", 32) }), "its ca is not"},
		"no root":             {with(func(f *tokenForm) { f.Root = "" }), "its root is not"},
		"a mesh called *":     {with(func(f *tokenForm) { f.Mesh = "*" }), "its mesh is not"},
		"an id called >":      {with(func(f *tokenForm) { f.ID = ">" }), "its id is not"},
		"no secret":           {with(func(f *tokenForm) { f.Secret = "" }), "its secret has not"},
		"a secret of one bit": {with(func(f *tokenForm) { f.Secret = "AQ" }), "its secret has not"},
	} {
		_, err := ParseToken(c.text)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v (hint %q)", name, err, fault.HintOf(err))
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("%s: the error repeats the word", name)
		}
	}
	if _, err := ParseLogin(text); err == nil || !strings.Contains(err.Error(), "this is a join token") {
		t.Errorf("a token for a login: %v", err)
	}
	if _, err := ParseLogin(someLogin(t)); err != nil {
		t.Errorf("a login: %v", err)
	}
}

func TestAnImpossibleTokenIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Token){
		func(k *Token) { k.URL = "https://mesh.example/" },
		func(k *Token) { k.Secret = Secret{} },
		func(k *Token) { k.Root = "x" },
	} {
		k := someToken(t)
		change(&k)
		if text, err := k.Text(); err == nil {
			t.Errorf("wrote %q", text)
		}
	}
}

func TestSecretsHide(t *testing.T) {
	t.Parallel()
	k := someToken(t)
	l := Login{k.URL, k.CA, k.ID, k.Secret}
	ca := newCA(t)
	encoded, err := document.Canonical(struct{ Secret Secret }{k.Secret})
	if err != nil {
		t.Fatal(err)
	}
	request := JoinRequest{Secret: k.Secret.Reveal()}
	answer := JoinAnswer{RegistrySecret: k.Secret.Reveal(), JWT: k.Secret.Reveal()}
	for _, v := range []any{k, &k, l, &l, k.Secret, &k.Secret, request, &request, answer, &answer, []any{k, l}, ca} {
		text := fmt.Sprintf("%v %+v %#v %s", v, v, v, v)
		if strings.Contains(text, k.Secret.Reveal()) || strings.Contains(text, "big.Int") {
			t.Errorf("%T prints its secret: %s", v, text)
		}
	}
	if strings.Contains(string(encoded), k.Secret.Reveal()) {
		t.Error("an encoded secret is there to read")
	}
}

func TestASecretMatchesItsHashAlone(t *testing.T) {
	t.Parallel()
	a, b := NewSecret(), NewSecret()
	if !a.Matches(HashSecret(a)) || a.Matches(HashSecret(b)) || a.Matches("") || a.Matches(a.Reveal()) {
		t.Error("wrong match")
	}
	if (Secret{}).Matches(HashSecret(Secret{})) {
		t.Error("no secret is a secret")
	}
	if !SecretFrom(a.Reveal()).Matches(HashSecret(a)) {
		t.Error("a revealed secret is another")
	}
}
