//go:build meshcrash || power

package line

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"noxmesh/identity"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
	"noxmesh/status"
)

// letter is what the programs of a story have in their surroundings, and tell nobody.
const letter = "a-letter-that-was-meant-for-nobody-else"

// private are the files of a mesh that hold secrets, and where those stand in
// them: a field of a document, by its words, or all of the file. Each is whole
// there, or is not.
func private() map[string][]string {
	return map[string][]string{
		"controller/keys.json":               {"declare", "ca", "broker"},
		"controller/root.key":                nil,
		"builders/*/identity.json":           {"sign", "nats"},
		"builders/*/joined.json":             {"registry_secret"},
		"builder/identity.json":              {"sign", "nats"},
		"builder/joined.json":                {"registry_secret"},
		"nodes/*/var/lib/mesh-host/identity": {"sign", "nats", "seal"},
		"nodes/*/var/lib/mesh-host/joined":   {"secret"},
	}
}

// kept are the secrets that stand in the private files of a folder just now.
func kept(t testing.TB, dir string) (all []observe.Secret) {
	t.Helper()
	for _, pattern := range slices.Sorted(maps.Keys(private())) {
		fields := private()[pattern]
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		must(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				continue // a join begins anew
			}
			must(t, err)
			for _, value := range values(t, string(text), fields) {
				for _, b := range plain(value) {
					all = append(all, observe.Secret{Name: filepath.Base(path), Bytes: b, Homes: []string{path}})
				}
			}
		}
	}
	return all
}

// values are the fields of a document that a line of its own may stand before.
func values(t testing.TB, text string, fields []string) []string {
	t.Helper()
	if fields == nil {
		return []string{strings.TrimSpace(text)}
	}
	var document map[string]any
	if i := strings.Index(text, "{"); i < 0 || json.Unmarshal([]byte(text[i:]), &document) != nil {
		return nil // it is half: whoever wrote it was killed, and begins anew
	}
	var all []string
	for _, field := range fields {
		value, ok := document[field].(string)
		if !ok || value == "" {
			t.Errorf("a private file has no %q any more: what stands there now is not looked for", field)
			continue
		}
		all = append(all, value)
	}
	return all
}

// plain is the secrets of a value: those that stand in it where it is a document
// or a certificate with its key, or itself.
func plain(value string) [][]byte {
	within := []byte(value)
	if b, err := hex.DecodeString(value); err == nil {
		return [][]byte{b}
	}
	if b, err := base64.StdEncoding.DecodeString(value); err == nil {
		within = b
	}
	all := regexp.MustCompile(`\bS[A-Z2-7]{57}\b`).FindAll(within, -1)
	if _, key, ok := strings.Cut(string(within), "PRIVATE KEY-----\n"); ok {
		line, _, _ := strings.Cut(key, "\n")
		all = append(all, []byte(line))
	}
	if all == nil {
		all = [][]byte{within}
	}
	return all
}

// secrets are all that a mesh must not show: what its private files hold, what it
// gave to people, and what its programs have in their surroundings.
func (w *watch) secrets(m *mesh) []observe.Secret {
	m.t.Helper()
	all := append(kept(m.t, m.dir), observe.Secret{Name: "a letter to a program", Bytes: []byte(letter)})
	return append(all, w.given...)
}

// gives keeps in mind what a person was given, who may have it in these files.
func (w *watch) gives(name, text string, homes ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.given = append(w.given, observe.Secret{Name: name, Bytes: []byte(text), Homes: homes})
}

// givesToken keeps in mind the secret of a token, which nobody keeps.
func (w *watch) givesToken(t testing.TB, name, text string) {
	t.Helper()
	token, err := identity.ParseToken(text)
	must(t, err)
	w.gives("the token of "+name, token.Secret.Reveal())
}

// What the observer is to find it finds: each secret of each file, in another
// file and in the status, and a log that grows without end.
func TestASecretThatGotOutIsFound(t *testing.T) {
	t.Parallel()
	m := &mesh{t: t, dir: t.TempDir()}
	put := func(path, text string) {
		must(t, os.MkdirAll(filepath.Dir(m.path(path)), 0o755))
		must(t, os.WriteFile(m.path(path), []byte(text), 0o600))
	}
	seed := func(c string) string { return "S" + strings.Repeat(c, 57) }
	of := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	put("controller/keys.json", `{"declare":"`+of("the seed of a key that declares.")+`","ca":"`+of("-----BEGIN PRIVATE KEY-----\nTHEKEYOFTHECA\n-----END PRIVATE KEY-----\n")+`","broker":"`+of(`{"a":"`+seed("A")+`","b":"`+seed("B")+`"}`)+`"}`)
	put("controller/root.key", of("the seed of the key of the root.")+"\n")
	put("builders/b1/identity.json", `{"sign":"`+strings.Repeat("ab", 32)+`","nats":"`+seed("C")+`"}`)
	put("builders/b1/joined.json", `{"registry_secret":"the registry's"}`)
	put("nodes/n1/var/lib/mesh-host/identity", "mesh-host 1 sha256:0\n"+`{"sign":"`+strings.Repeat("cd", 32)+`","nats":"`+seed("D")+`","seal":"AGE-SECRET-KEY-1X"}`)
	put("nodes/n1/var/lib/mesh-host/joined", "mesh-host 1 sha256:0\n"+`{"secret":"a registry's for a node"}`)
	put("builders/b2/identity.json", `{"sign":"half`)
	var w watch
	w.gives("a login", "the secret of a login", m.path("config"))
	put("config", "the secret of a login")
	secrets := w.secrets(m)
	if len(secrets) != 14 {
		t.Errorf("there are %d secrets", len(secrets))
	}
	for _, c := range w.canaries(m, status.Status{}) {
		if len(c.Found) > 0 {
			t.Errorf("%s is at home, and found in %v", c.Name, c.Found)
		}
	}
	for i, secret := range secrets {
		put("log", "at=debug "+of("x"+string(secret.Bytes)+"y"))
		all := w.canaries(m, status.Status{Controller: hex.EncodeToString(secret.Bytes)})
		if got := strings.Join(all[i].Found, " "); got != m.path("log")+" the status" {
			t.Errorf("%s is out, and found in %q", secret.Name, got)
		}
	}
	put("node1.log", strings.Repeat("no\n", mostLog/3+1))
	m.controller = &part{}
	found := invariant.Always(invariant.Seen{Usage: m.usage()})
	if len(found) != 1 || found[0].Invariant != invariant.I10 || !strings.Contains(found[0].Where, "node1.log") {
		t.Errorf("a log without end: %v", found)
	}
}
