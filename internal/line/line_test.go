package line

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"slices"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/status"
)

// each runs a test with the record in SQLite and in Postgres.
func each(t *testing.T, opt options, test func(t *testing.T, m *mesh)) {
	t.Helper()
	for _, postgres := range []bool{false, true} {
		name := map[bool]string{false: "sqlite", true: "postgres"}[postgres]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := opt // the two run side by side
			own.postgres = postgres
			test(t, start(t, own))
		})
	}
}

var three = []string{"node1", "node2", "node3"}

// The mission's sentence: a commit becomes a running thing on three machines,
// and each has read it back; the next one too, and nobody tells the mesh.
func TestACommitIsAppliedOnThreeNodes(t *testing.T) {
	t.Parallel()
	each(t, options{hosts: 3, builders: 1}, func(t *testing.T, m *mesh) {
		first := m.module("site", site("site", "first"))
		m.assign("site", three...)
		m.until("it is fit", isFit("site", first))
		if out := m.declare("site"); !slices.Equal(out.Nodes, three) || out.Commit != first {
			t.Errorf("declared %+v", out)
		}
		s := m.until("the first commit is out", isOut("site", first, 3))
		want := "source " + first[:7] + " · built from " + first[:7] + " · fit (no tests) · declared on 3 · applied on 3"
		if got := moduleOf(s, "site").Line(); got != want {
			t.Errorf("the line is %q, want %q", got, want)
		}
		for _, n := range three {
			m.holds(n, "opt/site/index.html", "first")
		}
		m.auto("site")
		second := m.forge.commit("site", files{"public/index.html": "second", "public/about/index.html": "about"})
		began := time.Now()
		m.until("the second commit is out", isOut("site", second, 3))
		took := time.Since(began)
		t.Logf("hook off, a look every %s: commit to applied on 3 in %s", m.opt.every, took)
		for _, n := range three {
			m.holds(n, "opt/site/index.html", "second")
			m.holds(n, "opt/site/about/index.html", "about")
		}
		third := m.forge.commit("site", files{"public/about/index.html": ""})
		m.until("the third commit is out", isOut("site", third, 3))
		for _, n := range three {
			m.lacks(n, "opt/site/about/index.html")
		}
	})
}

// post calls the hook as a forge does: over TLS, without a login.
func (m *mesh) post(path, body string) int {
	m.t.Helper()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(m.t.Context(), *patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+m.ip+":"+apiPort+path, bytes.NewReader([]byte(body)))
	if err != nil {
		m.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := client.Do(r)
	if err != nil {
		m.t.Fatalf("hook %s: %v", path, err)
	}
	res.Body.Close()
	return res.StatusCode
}

// F1: what a hook carries is never believed, so that none of it can be wrong.
// With an hour between two looks, only the hook can have brought the commit.
func TestAHookOnlyMeansLookNow(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 1, builders: 1, every: time.Hour})
	first := m.module("site", site("site", "0"))
	m.assign("site", "node1")
	m.auto("site")
	m.until("the first commit is out", isOut("site", first, 1))
	for _, body := range []string{
		``, `{}`, `{"ref":"refs/heads/other","commits":[]}`, `{"repository":{"clone_url":"http://forge.lan:3000/x.git"},"commits":[{"id":`,
		"\x00\xff<xml>", `{"module":"../../etc","commits":[{}],"truncated":true}`,
	} {
		commit := m.forge.commit("site", files{"public/index.html": "with " + body + "."})
		began := time.Now()
		if code := m.post("/hooks/site", body); code != http.StatusOK && code != http.StatusNoContent && code != http.StatusAccepted {
			t.Errorf("a hook with %q is answered %d", body, code)
		}
		m.until("the commit of the hook is out", isOut("site", commit, 1))
		t.Logf("hook on, body %q: commit to applied in %s", body, since(began))
	}
	// Nobody learns from a hook which modules there are, and none is made by it.
	known, unknown := m.post("/hooks/site", "x"), m.post("/hooks/other", "x")
	if known != unknown {
		t.Errorf("a hook for a known module is answered %d, for an unknown one %d", known, unknown)
	}
	if code := m.post("/hooks/..%2f..%2fetc", "x"); code >= 500 {
		t.Errorf("a hook with a bad name is answered %d", code)
	}
	if n := len(m.now().Modules); n != 1 {
		t.Errorf("there are %d modules", n)
	}
}

// M2: assigning a module that only requires others brings them along.
func TestPresenceBringsWhatIsRequired(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 2, builders: 1})
	dotfiles := m.module("dotfiles", motd("dotfiles", "dot"))
	page := m.module("site", files{
		"module.json": `{"module": "site", "provides": ["web"], "resources": [{"id": "file", "type": "file", "path": "/etc/site", "from": "text"}]}`,
		"text":        "page",
	})
	both := m.module("workstation", files{"module.json": `{"module": "workstation", "requires": ["dotfiles", "web"]}`})
	m.until("all is fit", func(s status.Status) string {
		return isFit("dotfiles", dotfiles)(s) + isFit("site", page)(s) + isFit("workstation", both)(s)
	})
	out := do(m, api.Assign(), api.AssignIn{Module: "workstation", Node: "node1"})
	if want := []string{"dotfiles", "site", "workstation"}; !slices.Equal(sorted(out.Modules), want) || !slices.Equal(sorted(out.Undeclared), want) {
		t.Fatalf("assigning brings %v, undeclared %v, want %v", out.Modules, out.Undeclared, want)
	}
	m.auto("dotfiles", "site", "workstation")
	s := m.until("all is out", func(s status.Status) string {
		return isOut("dotfiles", dotfiles, 1)(s) + isOut("site", page, 1)(s) + isOut("workstation", both, 1)(s)
	})
	if got := nodeOf(s, "node2"); len(got.Modules) != 0 || got.Behind != "" {
		t.Errorf("node2, to which nothing is assigned, is %+v", got)
	}
	m.holds("node1", "etc/dotfiles", "dot")
	m.holds("node1", "etc/site", "page")

	// It requires less: what nothing requires any more leaves, and is not still
	// counted as declared.
	less := m.forge.commit("workstation", files{"module.json": `{"module": "workstation", "requires": ["dotfiles"]}`})
	m.until("the smaller workstation is out", isOut("workstation", less, 1))
	m.until("the site has left", func(s status.Status) string {
		if moduleOf(s, "site").Declared == 0 && nodeOf(s, "node1").State == "applied" {
			return ""
		}
		return line(s, "site")
	})
	m.lacks("node1", "etc/site")
	m.holds("node1", "etc/dotfiles", "dot")
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// D6: who declares is a decision, never an omission.
func TestNothingIsDeclaredByOmission(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 1, builders: 1})
	first := m.module("site", site("site", "first"))
	m.assign("site", "node1")
	m.until("it is fit, and waits for somebody", func(s status.Status) string {
		if w := moduleOf(s, "site").Waiting; isFit("site", first)(s) == "" && len(w) == 1 && w[0].For == "somebody to declare it: mesh declare site" {
			return ""
		}
		return line(s, "site")
	})
	if msg := refused(m, api.ModulePolicy(), api.PolicyIn{Module: "site", Policy: "sometimes"}, fault.Invalid); msg == "" {
		t.Error("a policy that there is not is taken")
	}
	m.declare("site")
	m.until("the first commit is out", isOut("site", first, 1))
	second := m.forge.commit("site", files{"public/index.html": "second"})
	s := m.until("the second is fit", isFit("site", second))
	if on := moduleOf(s, "site"); on.Declared != 0 || len(on.Older) != 1 || on.Older[0].Commit != first {
		t.Errorf("a commit under policy manual: %s", on.Line())
	}
	// A declare-write by a person rolls back, and no policy undoes that.
	m.declare("site")
	m.until("the second commit is out", isOut("site", second, 1))
	do(m, api.Declare(), api.DeclareIn{Module: "site", Build: first, Why: "the second is ugly"})
	m.until("the first is back", func(s status.Status) string {
		if m.read("node1", "opt/site/index.html") == "first" && nodeOf(s, "node1").State == "applied" {
			return ""
		}
		return line(s, "site")
	})
	m.auto("site")
	m.until("the policy knows that it was rolled back from", func(s status.Status) string {
		for _, w := range moduleOf(s, "site").Waiting {
			if w.For != "" && moduleOf(s, "site").Declared == 0 {
				return ""
			}
		}
		return line(s, "site")
	})
	third := m.forge.commit("site", files{"public/index.html": "third"})
	m.until("a new commit is declared again", isOut("site", third, 1))
}
