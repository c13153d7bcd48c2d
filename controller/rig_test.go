package controller

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mesh "noxmesh"
	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/bus"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	"noxmesh/internal/git/gitserve"
	"noxmesh/internal/oci"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/manifest"
	"noxmesh/status"
)

// quiet is a rim on which nobody is: a bus without listeners, a registry that has everything.
type quiet struct{}

func (quiet) Serve(string, bus.Handler) error                                    { return nil }
func (quiet) Publish(context.Context, string, []byte) error                      { return nil }
func (quiet) UserJWT(link.Side, string, string) (string, error)                  { return "", nil }
func (quiet) Revoke(link.Side, string) error                                     { return nil }
func (quiet) HasManifest(context.Context, string, document.Digest) (bool, error) { return true, nil }

func (quiet) HasBlob(context.Context, string, document.Digest, int64) (bool, error) {
	return true, nil
}

func (quiet) PullManifest(_ context.Context, repository string, d document.Digest) (oci.Manifest, error) {
	return oci.Manifest{}, fault.New(fault.NotFound, "there is no manifest %s in %q", d, repository)
}

func (quiet) PullBytes(_ context.Context, b oci.Blob) ([]byte, error) {
	return nil, fault.New(fault.NotFound, "there is no blob %s in %q", b.Digest, b.Repository)
}

// rig is a controller on a real record and a real git, whose loops run only
// where a test runs them.
type rig struct {
	*Controller
	t      *testing.T
	forge  Forge
	record *db.DB
	key    link.Key
	root   string // what the forge serves, as NAME/.git
	stores Registry
	names0 Images
	url    string
}

const testNode = "nodeone00"

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, root: t.TempDir(), stores: quiet{}}
	server := httptest.NewServer(gitserve.Handler(r.root))
	t.Cleanup(server.Close)
	r.url = server.URL
	g, err := git.New(git.Config{Home: t.TempDir(), Limit: 2 * time.Minute, Allow: git.Allow{Folders: []string{r.root}}})
	r.must(err)
	r.forge, r.record = g, dbtest.Open(t, dbtest.SQLite(t), dbtest.Holder)
	r.key, err = link.NewKey()
	r.must(err)
	r.restart()
	return r
}

// restart is another process on the same record.
func (r *rig) restart() {
	cfg := Default()
	cfg.Dir, cfg.Folders, cfg.Log, cfg.Platform = r.root, []string{r.root}, slog.New(slog.DiscardHandler), "linux/amd64"
	r.Controller = On(cfg, Identity{Mesh: "mesh0001", Declare: r.key}, Rim{
		Record: r.record, Forge: r.forge, Bus: quiet{}, Registry: r.stores, Members: quiet{}, Images: r.names0, At: Addresses{API: "https://mesh.example.org:7443"},
	})
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) tx(f func(*db.Tx) error) { r.t.Helper(); r.must(r.write(r.t.Context(), f)) }

// git runs git in a repository as its author would.
func (r *rig) git(repo string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = filepath.Join(r.root, repo)
	r.must(os.MkdirAll(cmd.Dir, 0o755))
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.root, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LANG=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits these files, and nothing else, to whatever is checked out.
func (r *rig) commit(repo string, files map[string]string) string {
	r.t.Helper()
	if _, err := os.Stat(filepath.Join(r.root, repo, ".git")); err != nil {
		r.git(repo, "init", "-q", "-b", "main")
	}
	r.git(repo, "rm", "-rqf", "--ignore-unmatch", ".")
	for name, text := range files {
		path := filepath.Join(r.root, repo, name)
		r.must(os.MkdirAll(filepath.Dir(path), 0o755))
		r.must(os.WriteFile(path, []byte(text), 0o644))
	}
	r.git(repo, "add", "-A", "-f")
	r.git(repo, "commit", "-q", "--allow-empty", "-m", "change")
	return r.git(repo, "rev-parse", "HEAD")
}

// repo is a repository that holds a module of its name.
func (r *rig) repo(name, text string) string {
	r.t.Helper()
	return r.commit(name, map[string]string{"module.json": moduleJSON(name, text)})
}

func moduleJSON(name, text string) string {
	return `{"module": "` + name + `", "resources": [{"id": "f", "type": "file", "path": "/opt/` + name + `", "content": "` + text + `"}]}`
}

func (r *rig) address(repo string) string { return r.url + "/" + repo + "/.git" }

func (r *rig) add(name string, in api.ModuleAddIn) {
	r.t.Helper()
	in.Module = name
	_, err := r.answerModuleAdd(r.t.Context(), api.Who{Name: "anna"}, in)
	r.must(err)
}

// step looks at a source once. That the look failed is not the test's failure.
func (r *rig) step(name string) time.Duration {
	r.t.Helper()
	result, err := r.sourceStep(r.t.Context(), name)
	if err != nil && fault.KindOf(err) != fault.Unavailable && fault.KindOf(err) != fault.Invalid {
		r.t.Fatal(err)
	}
	return result.After
}

func (r *rig) status() status.Status {
	r.t.Helper()
	st, err := r.answerStatus(r.t.Context(), api.Who{}, api.StatusIn{})
	r.must(err)
	return st
}

// source is a module's source as mesh status shows it; mesh module show is the same.
func (r *rig) source(name string) status.Source {
	r.t.Helper()
	for _, m := range r.status().Modules {
		if m.Module == name {
			shown, err := r.answerModule(r.t.Context(), api.Who{}, api.ModuleIn{Module: name})
			r.must(err)
			if got := shown.Status.Source; got.State != m.Source.State || got.Why != m.Source.Why || !got.Since.Equal(m.Source.Since) || len(got.Notices) != len(m.Source.Notices) {
				r.t.Fatalf("status says %+v, and module show %+v", m.Source, got)
			}
			return m.Source
		}
	}
	r.t.Fatalf("status does not show %q", name)
	return status.Source{}
}

func (r *rig) node() {
	r.t.Helper()
	r.tx(func(tx *db.Tx) error {
		return inventorystore.AddNode(tx, inventorystore.NewNode{ID: testNode, Name: "node1", By: "anna", At: clock.Now()})
	})
}

func (r *rig) assign(module string) {
	r.t.Helper()
	r.tx(func(tx *db.Tx) error {
		return inventorystore.Assign(tx, mesh.Assignment{Module: module, Node: testNode}, "anna", clock.Now())
	})
}

// library is a build that gives others this to be built against.
func (r *rig) library(module, text string) document.Digest {
	r.t.Helper()
	digest := document.Sum([]byte(text))
	r.built(module, gives{library: &manifest.Library{Artifact: "lib", Language: "go", Digest: digest}, tests: verdict.Fit})
	return digest
}

// image is a build in which each image that the module makes is this.
func (r *rig) image(module, text string) document.Digest {
	r.t.Helper()
	digest := document.Sum([]byte(text))
	r.built(module, gives{image: digest, tests: verdict.Fit})
	return digest
}

// gives is what a build came to.
type gives struct {
	library *manifest.Library
	image   document.Digest
	tests   verdict.Verdict
}

// build is what a builder makes of the source as it was read, fit and recorded.
func (r *rig) build(module string) artifact.Build {
	r.t.Helper()
	return r.built(module, gives{tests: verdict.Fit})
}

func (r *rig) built(module string, is gives) artifact.Build {
	r.t.Helper()
	row, f, _, err := r.factsOf(r.t.Context(), module)
	r.must(err)
	s := f.Source
	m := manifest.Built{
		Format: 1, Module: module, Provides: s.Manifest.Provides, Requires: s.Manifest.Requires, Claims: s.Manifest.Claims, Settings: s.Manifest.Settings, Secrets: s.Manifest.Secrets,
		Instances: s.Manifest.Instances, Grants: s.Manifest.Grants, Capabilities: s.Manifest.Capabilities,
		Built: manifest.Provenance{Commit: s.Commit, Tree: s.Tree, Platform: "linux/amd64", Closure: []manifest.Input{}},
	}
	for _, one := range s.Manifest.Resources {
		m.Resources = append(m.Resources, manifest.BuiltResource{ID: one.ID, Type: one.Type, Path: one.Path, Content: one.Content, Traits: one.Traits})
	}
	d := delivery.Compare(f, clock.Now())
	if d.Ask == nil {
		r.t.Fatalf("nothing is to be built of %q: %+v", module, d)
	}
	m.Built.Closure, m.Built.Environment, m.Built.Bases = d.Ask.Closure.Inputs, d.Ask.Closure.Environment, d.Ask.Closure.Bases
	where := build.Where{}
	if l := is.library; l != nil {
		m.Built.Libraries = []manifest.Library{*l}
		where.Archives = map[document.Digest]build.Packed{l.Digest: {Index: l.Digest, IndexSize: 1, Blob: l.Digest, Size: 1}}
	}
	if is.image != "" {
		for _, artifact := range slices.Compact(slices.Sorted(maps.Values(s.Manifest.Images()))) {
			m.Built.Images = append(m.Built.Images, manifest.Image{Artifact: artifact, Digest: is.image, Size: 9})
		}
		where.Blobs = map[document.Digest]int64{is.image: 9}
	}
	r.must(r.ask(r.t.Context(), row, f, *d.Ask))
	r.tx(func(tx *db.Tx) error {
		q, err := deliverystore.Lease(tx, deliverystore.Leasing{Builder: "builder1", Platform: "linux/amd64", Sandbox: true, Now: clock.Now(), Lease: time.Minute})
		if err != nil {
			return err
		}
		a := build.Answer{
			Format: build.Format, Mesh: "mesh0001", Request: q.ID, Builder: "builder1", Outcome: build.OutcomeBuilt, Manifest: &m, Where: &where,
			Published: document.Sum([]byte(q.ID)), Tests: build.TestsNone,
		}
		if a.Build, err = m.BuildDigest(); err != nil {
			return err
		}
		if a.Content, err = m.ContentDigest(); err != nil {
			return err
		}
		_, err = deliverystore.SaveAnswer(tx, deliverystore.AnswerRow{Answer: a, Envelope: []byte(`{}`), Verdict: is.tests, At: clock.Now()})
		return err
	})
	_, f, _, err = r.factsOf(r.t.Context(), module)
	r.must(err)
	at := slices.IndexFunc(f.Builds, func(b artifact.Build) bool { return b.Manifest.Built.Commit == s.Commit })
	if at < 0 {
		r.t.Fatalf("no build of %q from %s", module, s.Commit)
	}
	return f.Builds[at]
}

// declared builds a module and declares it on the node.
func (r *rig) declared(module string) {
	r.t.Helper()
	b := r.build(module)
	r.must(r.declare(r.t.Context(), deliverystore.DeclareWrite{Module: module, Build: b.ID, Nodes: []string{testNode}, By: "anna", At: clock.Now()}))
}

// planned is the node's plan as one text.
func (r *rig) planned() string {
	r.t.Helper()
	out, err := r.answerPlans(r.t.Context(), api.Who{}, api.PlansIn{})
	r.must(err)
	b, err := document.Canonical(out)
	r.must(err)
	return string(b)
}

// reverse passes everything on to a forge, as long as it is not broken.
func reverse(to string, broken *atomic.Bool, answer http.HandlerFunc) http.Handler {
	target, _ := url.Parse(to)
	pass := httputil.NewSingleHostReverseProxy(target)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			answer(w, r)
			return
		}
		pass.ServeHTTP(w, r)
	})
}
