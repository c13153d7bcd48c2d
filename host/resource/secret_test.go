package resource

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/report"
	"noxmesh/sealed"
)

// vault opens as a node does.
type vault struct {
	key  sealed.Key
	node string
}

func newVault(t testing.TB, node string) vault {
	t.Helper()
	k, err := sealed.NewKey()
	must(t, err)
	return vault{k, node}
}

func (v vault) Open(module, name, text string) ([]byte, error) {
	got, err := v.key.Open(text, sealed.For{Mesh: "mesh0001", Node: v.node, Module: module, Name: name})
	return got.Value, err
}

func (v vault) Mark() []byte { return v.key.For("test") }

// seals is a value sealed to this node.
func (v vault) seals(t testing.TB, module, name, value string) string {
	t.Helper()
	text, err := sealed.Seal(v.key.Recipient(), sealed.Value{For: sealed.For{Mesh: "mesh0001", Node: v.node, Module: module, Name: name}, Version: 1, Value: []byte(value)})
	must(t, err)
	return text
}

// secret is a file with secrets in it.
func (m *machine) secret(id, path, body string, secrets map[string]string) declaration.Resource {
	r := m.depot.file(id, path, body)
	r.Mode, r.Secrets = "0640", secrets
	return r
}

// forms is every form in which a value, or what it can be tried against, may stand somewhere.
func forms(value string) []string {
	sum := sha256.Sum256([]byte(value))
	return []string{
		value, hex.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)),
		string(sum[:]), hex.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(sum[:]),
	}
}

// hides fails where any of these stands in a text in whatever form.
func hides(t testing.TB, where, text string, values ...string) {
	t.Helper()
	for _, v := range values {
		for i, form := range forms(v) {
			if strings.Contains(text, form) {
				t.Errorf("%s has %q in it, as %d", where, v, i)
			}
		}
	}
}

// hidden fails where any of these stands in a file of the machine but these.
func (m *machine) hidden(values []string, but ...string) {
	m.t.Helper()
	must(m.t, filepath.WalkDir(m.dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		for _, b := range but {
			if p == m.at(b) {
				return nil
			}
		}
		b, err := os.ReadFile(p)
		hides(m.t, p, string(b), values...)
		return err
	}))
}

func TestSecretsAreFilledIn(t *testing.T) {
	t.Parallel()
	m, v := newMachine(t), newVault(t, "node0001")
	m.engine.Opens(v)
	const canary, next = "hunter2-canary", "correct-horse-canary"
	const file = "url=postgres://u:" + canary + "@db/$x\n"
	conf := func(value string) declaration.Resource {
		return m.secret("m/conf", "/etc/app/conf", "url=postgres://u:${secret.db-url}@db/$$x\n", map[string]string{"db-url": v.seals(t, "m", "db-url", value)})
	}
	one := conf(canary)
	plain := m.depot.file("m/plain", "/etc/app/plain", "${secret.db-url} $$")
	values := []string{canary, next, file, strings.ReplaceAll(file, canary, next)}

	r := m.applied(one, plain)
	m.is("/etc/app/conf", file)
	m.is("/etc/app/plain", "${secret.db-url} $$") // what has no secrets is what it is
	if info, err := os.Stat(m.at("/etc/app/conf")); err != nil || info.Mode() != 0o640 {
		t.Error(info.Mode(), err)
	}
	m.hidden(values, "/etc/app/conf")
	hides(t, "the report", words(r), values...)

	before := m.snapshot()
	m.restart()
	m.engine.Opens(closed{v})                                // what is as declared is known without opening anything
	m.state(m.applied(one, plain), "m/conf", report.StateOK) // and nothing was written
	if after := m.snapshot(); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Error("something was written")
	}
	m.engine.Opens(v)

	for _, there := range []string{strings.ToUpper(file), "x", strings.Replace(file, canary, next, 1)} {
		must(t, os.WriteFile(m.at("/etc/app/conf"), []byte(there), 0o640))
		if !m.engine.StrayedAnywhere() {
			t.Error("nobody sees that it has strayed")
		}
		r = m.applied(one, plain)
		if got := m.state(r, "m/conf", report.StateChanged); got.Found != "other content" || !got.Fixed {
			t.Errorf("%+v", got)
		}
		m.is("/etc/app/conf", file)
		m.hidden(values, "/etc/app/conf")
	}
	if m.engine.StrayedAnywhere() {
		t.Error("it is as declared, and has strayed")
	}

	two := conf(next) // rotated
	m.state(m.applied(two, plain), "m/conf", report.StateChanged)
	m.is("/etc/app/conf", strings.Replace(file, canary, next, 1))
	m.hidden(values, "/etc/app/conf")
	m.state(m.applied(one, plain), "m/conf", report.StateChanged) // and back
	m.is("/etc/app/conf", file)

	r = m.applied(plain)
	m.is("/etc/app/conf", "")
	m.hidden(values)
	hides(t, "the report", words(r), values...)
}

// closed is a vault that opens nothing.
type closed struct{ vault }

func (closed) Open(string, string, string) ([]byte, error) { panic("it was opened") }

// What cannot be opened fails by name, and everything else goes on; nothing of the
// file is written, and what stands there stays.
func TestWhatCannotBeOpenedIsNamed(t *testing.T) {
	t.Parallel()
	v, other := newVault(t, "node0001"), newVault(t, "node0002")
	good := v.seals(t, "m", "a", "hush-canary")
	const todo = "; give it anew, where the mesh is: mesh secret set m a"
	for name, c := range map[string]struct{ sealed, want string }{
		"of another node":   {vault{v.key, "node0002"}.seals(t, "m", "a", "x"), `it is sealed for the node "node0002", and this is "node0001"` + todo},
		"of another module": {v.seals(t, "n", "a", "x"), `it is sealed for the module "n", and this is "m"` + todo},
		"of another name":   {v.seals(t, "m", "b", "x"), `it is sealed for the name "b", and this is "a"` + todo},
		"to another key":    {other.seals(t, "m", "a", "x"), `it is damaged, or sealed to another key than the node has now` + todo},
		"damaged":           {good[:len(good)-4], `it is damaged` + todo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.engine.Opens(v)
			m.plant("/etc/a", "mine")
			bad := m.secret("m/a", "/etc/a", "a=${secret.a}", map[string]string{"a": c.sealed})
			r := m.apply(bad, m.depot.file("m/b", "/etc/b", "b"))
			if got := m.state(r, "m/a", report.StateFailed); got.Error != `fill "/etc/a": open the secret "a": `+c.want {
				t.Errorf("%q", got.Error)
			}
			m.state(r, "m/b", report.StateChanged)
			m.is("/etc/a", "mine")
			m.is("/etc/b", "b")

			right := m.secret("m/a", "/etc/a", "a=${secret.a}", map[string]string{"a": good})
			m.applied(right)
			m.is("/etc/a", "a=hush-canary")
			m.state(m.apply(bad), "m/a", report.StateFailed) // and what was there before stays
			m.is("/etc/a", "a=hush-canary")
			m.state(m.applied(right), "m/a", report.StateOK)
		})
	}
}

func TestWithoutAKeyNothingIsFilled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.apply(m.secret("m/a", "/etc/a", "${secret.a}", map[string]string{"a": "YWJj"}))
	if got := m.state(r, "m/a", report.StateFailed); got.Error != `fill "/etc/a": there are secrets in it, and this machine is no node of a mesh: it has no key that opens them` {
		t.Errorf("%q", got.Error)
	}
	m.is("/etc/a", "")
	if can := strings.Join(m.engine.Keeps(), " "); strings.Contains(can, declaration.KeepsSecrets) {
		t.Error(can)
	}
	m.engine.Opens(newVault(t, "node0001"))
	if can := strings.Join(m.engine.Keeps(), " "); !strings.Contains(can, declaration.KeepsSecrets) {
		t.Error(can)
	}
}

// A host that stopped anywhere on the way to another value ends up with the one that
// is declared: what the record has of a change that was not finished is not believed.
func TestAChangeOfASecretThatWasNotFinished(t *testing.T) {
	t.Parallel()
	m, v := newMachine(t), newVault(t, "node0001")
	file := func(value string) declaration.Resource {
		return m.secret("m/a", "/etc/a", "${secret.a}", map[string]string{"a": v.seals(t, "m", "a", value)})
	}
	one, two := file("one"), file("two")
	m.engine.Opens(v)
	m.applied(one)
	m.depot.absent = true // the body of the other cannot be had: it is not known what it has to be
	m.state(m.apply(two), "m/a", report.StateWaiting)
	m.is("/etc/a", "one")
	m.depot.absent = false

	record := m.engine.record
	e, _ := record.Entries.Get("/etc/a")
	was := e
	e.Phase, e.Thing.Digest = keep.Changing, keep.KeyedDigest(nil, nil) // as it is written before another value comes
	record.Entries.Put(e)
	must(t, m.folder.SaveRecord(record))
	must(t, os.WriteFile(m.at("/etc/a"), []byte("half"), 0o640))
	m.restart()
	m.engine.Opens(v)
	m.state(m.applied(one), "m/a", report.StateChanged)
	m.is("/etc/a", "one")
	if got, _ := m.engine.record.Entries.Get("/etc/a"); got.Thing != was.Thing || got.Phase != keep.Done {
		t.Errorf("%+v, want %+v", got, was)
	}
}

// The file as it would become is not shown, nor what stands in its place: who knows
// what of it is the secret.
func TestAPreviewOfAFileWithSecretsShowsNone(t *testing.T) {
	t.Parallel()
	m, v := newMachine(t), newVault(t, "node0001")
	m.engine.Opens(v)
	m.plant("/etc/a", "a=old-canary\n")
	must(t, os.Chmod(m.at("/etc/a"), 0o644))
	r := m.secret("m/a", "/etc/a", "a=${secret.a}\n", map[string]string{"a": v.seals(t, "m", "a", "new-canary")})
	changes, _, err := m.engine.Preview(t.Context(), declaration.Body{Resources: []declaration.Resource{r}}, m.depot)
	must(t, err)
	text, err := document.Canonical(changes)
	must(t, err)
	hides(t, "the preview", string(text), "old-canary", "new-canary", "a=old-canary\n", "a=new-canary\n")
	if len(changes) != 1 || changes[0].Content != "not shown: there are secrets in it" || changes[0].Diff != "" || changes[0].Wanted != "mode 0640" {
		t.Errorf("%s", text)
	}
}

// What was a secret is one still when the file is declared without it: until it has
// gone, nothing is said that values could be tried against.
func TestNothingIsSaidOfAFileThatHadASecret(t *testing.T) {
	t.Parallel()
	m, v := newMachine(t), newVault(t, "node0001")
	m.engine.Opens(v)
	m.applied(m.secret("m/a", "/etc/a", "${secret.a}", map[string]string{"a": v.seals(t, "m", "a", "old-canary")}))
	sum := document.Sum([]byte("old-canary"))
	plain := m.depot.file("m/a", "/etc/a", "new-common") // as long
	m.depot.absent = true
	for range 2 { // the record has the other one as meant from the first
		if got := m.state(m.apply(plain), "m/a", report.StateWaiting); got.Found != "other content" || strings.Contains(got.Error, sum.Short()) {
			t.Errorf("%+v", got)
		}
	}
	changes, _, err := m.engine.Preview(t.Context(), declaration.Body{Resources: []declaration.Resource{plain}}, m.depot)
	must(t, err)
	if text, _ := document.Canonical(changes); strings.Contains(string(text), sum.Short()) || strings.Contains(string(text), "canary") {
		t.Errorf("%s", text)
	}
	m.depot.absent = false
	m.state(m.applied(plain), "m/a", report.StateChanged)
	m.is("/etc/a", "new-common")
	m.hidden([]string{"old-canary"})
}
