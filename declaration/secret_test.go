package declaration_test

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
)

// hostileText is what would be taken for the place of a secret, were it not for the
// doubling, whole and in parts.
func hostileText() *rapid.Generator[string] {
	parts := rapid.SampledFrom([]string{"$", "$$", "${", "${secret.", "${secret.a}", "$${secret.a}", "secret.a}", "a}", "}", "x", "\n", "é", "{secret.a}"})
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(parts, 0, 6).Draw(t, "parts"), "") })
}

// Text stays what it is, whatever it looks like and whatever stands beside it; and
// what is filled in is not looked at.
func TestNoTextIsTakenForASecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var pieces []declaration.Piece
		var want bytes.Buffer
		values := map[string][]byte{"a": []byte(hostileText().Draw(t, "value of a")), "b-2": []byte("${secret.a}$")}
		for range rapid.IntRange(0, 8).Draw(t, "pieces") {
			if name := rapid.SampledFrom([]string{"", "", "a", "b-2"}).Draw(t, "secret"); name != "" {
				pieces = append(pieces, declaration.Piece{Secret: name})
				want.Write(values[name])
			} else {
				text := hostileText().Draw(t, "text")
				pieces = append(pieces, declaration.Piece{Text: text})
				want.WriteString(text)
			}
		}
		body := declaration.JoinTemplate(pieces)
		got, err := declaration.FillTemplate(body, values)
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q is filled as %q, want %q: %v", body, got, want.Bytes(), err)
		}
		again, err := declaration.CutTemplate(body)
		if err != nil || declaration.JoinTemplate(again) != body {
			t.Fatalf("%q is %q taken apart: %v", body, again, err)
		}
	})
}

func FuzzCutTemplate(f *testing.F) {
	for _, s := range []string{"", "a$$b${secret.db-url}\n", "$", "$$$", "${secret.}", "${secret.a", "${node.name}", "${secret.A}", "$${secret.a}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		pieces, err := declaration.CutTemplate(body)
		if err != nil {
			return
		}
		if got := declaration.JoinTemplate(pieces); got != body {
			t.Errorf("%q comes back as %q", body, got)
		}
		for i, p := range pieces {
			if (p.Text == "") == (p.Secret == "") || i > 0 && p.Text != "" && pieces[i-1].Text != "" {
				t.Errorf("%q is %q taken apart", body, pieces)
			}
		}
	})
}

func TestWhatIsWrongWithTheBodyOfAFileWithSecrets(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"a ${secret.a}": "",
		"a$b":           `neither two nor the place of a secret, at "$b"`,
		"$":             `at "$"`,
		"${node.name}":  `at "${node.name}"`,
		"${secret.A}":   `at "${secret.A}"`,
		"${secret.a":    `at "${secret.a"`,
		"${secret.b}":   `its body has the secret "b" in it, which is not declared with it`,
		strings.Repeat("${secret.a}", 1024) + "x": "with its secrets it would have more than 1048576 bytes",
	} {
		_, err := declaration.FillTemplate(body, map[string][]byte{"a": make([]byte, 1024)})
		if got := ""; err != nil {
			got = err.Error()
			if !strings.Contains(got, want) || want == "" {
				t.Errorf("%.40q: %s, want %s", body, got, want)
			}
		} else if want != "" {
			t.Errorf("%.40q is taken", body)
		}
	}
}

// A file with secrets names just those that its body has, and is nobody's to read
// but its owner's and its group's.
func TestEveryRuleOfAFileWithSecrets(t *testing.T) {
	t.Parallel()
	const body = "url=${secret.db-url}\n"
	for _, c := range []struct{ secrets, mode, body, want string }{
		{`{"db-url":"YWJj"}`, "0640", body, ""},
		{`{"db-url":"YWJj"}`, "0440", body, ""},
		{`{"db-url":"YWJj"}`, "0644", body, `"0644" gives something to everybody, and there are secrets in the file; want 0640`},
		{`{"db-url":"YWJj"}`, "0641", body, `gives something to everybody`},
		{`{"db-url":""}`, "0640", body, `it is no sealed value; want it in base64`},
		{`{"db-url":"YW Jj"}`, "0640", body, `it is no sealed value`},
		{`{"db-url":"` + strings.Repeat("A", declaration.SealedLimit+1) + `"}`, "0640", body, `131073 bytes; want at most 131072`},
		{`{"DB":"YWJj","db-url":"YWJj"}`, "0640", body, `"DB" is not the name of a secret`},
		{`{"db-url":"YWJj","token":"YWJj"}`, "0640", body, `its body has no such secret in it; take it out`},
		{`{"token":"YWJj"}`, "0640", body, `its body has the secret "db-url" in it; add it`},
		{`{"db-url":"YWJj"}`, "0640", "$${secret.db-url}", `its body has no such secret in it; take it out`},
		{`{"db-url":"YWJj"}`, "0640", body + "$x", `neither two nor the place of a secret`},
		{`{}`, "0644", "$x", ""}, // a file like any other
	} {
		d := whole()
		d.Body.Resources = []declaration.Resource{}
		d.Where.Inline[document.Sum([]byte(c.body))] = c.body
		b, err := document.Canonical(d)
		if err != nil {
			t.Fatal(err)
		}
		resource := `{"id":"board/env","type":"file","path":"/etc/env","mode":"` + c.mode + `","digest":"` + string(document.Sum([]byte(c.body))) + `","size":` +
			strconv.Itoa(len(c.body)) + `,"secrets":` + c.secrets + `}`
		_, err = declaration.Decode([]byte(strings.Replace(string(b), `"resources":[]`, `"resources":[`+resource+`]`, 1)))
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s %s %q: %v, want %q", c.secrets, c.mode, c.body, err, c.want)
		}
	}
	for _, other := range []string{`{"id":"board/d","type":"directory","path":"/x","mode":"0750","secrets":{"a":"YWJj"}}`, `{"id":"board/u","type":"user","name":"board","secrets":{"a":"YWJj"}}`} {
		if _, err := declaration.Decode(with(t, other)); err == nil || !strings.Contains(err.Error(), "secrets does not belong to a resource of type") {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// What a name and a sealed value may be is what these patterns say, which would be
// compiled at every start of a host.
func TestNamesOfSecretsAreThoseOfThePattern(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z]([a-z0-9_-]{0,61}[a-z0-9])?$`)
	sealed := regexp.MustCompile(`^[A-Za-z0-9+/]+={0,2}$`)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`[a-z0-9_-]{0,5}.?`), rapid.StringMatching(`[a-z][a-z0-9_-]{60,63}`), rapid.StringMatching(`[A-Za-z0-9+/]{1,9}[-=]{0,3}`), rapid.String()).Draw(t, "text")
		if got := declaration.ValidSecretName(s); got != name.MatchString(s) {
			t.Fatalf("%q is a name: %t", s, got)
		}
		if got := declaration.ValidSealed(s); got != sealed.MatchString(s) {
			t.Fatalf("%q is sealed: %t", s, got)
		}
	})
}
