//go:build meshcrash

package line

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/delivery/artifact"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/observe"
	"noxmesh/status"
)

// The core library that is changed, and the module of which it has become one.
const (
	coreModule = "golang-org-x-sync"
	coreSource = "semaphore/semaphore.go"
)

// Three programs that are built against what nobody here wrote. One holds the
// function that is changed; for one the changed library is laid out, through
// others, and none of it is linked; and one has nothing to do with it.
var realPrograms = map[string]struct{ imports, says, run string }{
	"holds": {"golang.org/x/sync/semaphore", "semaphore.NewWeighted(1).TryAcquire(2)", goBuild},
	"laid":  {"honnef.co/go/tools/printf", `must(printf.Parse("%d"))`, goBuild},
	"apart": {"github.com/gobwas/glob", `must(glob.Compile("*"))`, "go list -deps . >out/app"},
}

// What costs most of a build is the standard library, which is compiled each time.
const goBuild = "go build -trimpath '-gcflags=std=-N -l' -o out/app . && out/app 2>out/says"

// realProgram is one of them, as a module.
func realProgram(name string, to *real) *real {
	p := realPrograms[name]
	return &real{name: name, compile: map[string]bool{to.name: true}, files: files{
		"module.json": fmt.Sprintf(`{"module": %q, "resources": [{"id": "app", "type": "archive", "artifact": "app", "path": "/opt/%s"}],
			"build": {"run": [["mkdir", "out"], ["sh", "-c", %q]], "artifacts": {"app": {"type": "archive", "path": "out"}}}}`, name, name, p.run),
		"go.mod":  fmt.Sprintf("module example.com/%s\n\ngo 1.25.0\n", name),
		"main.go": fmt.Sprintf("package main\n\nimport %q\n\nfunc main() { println(%s) }\n\nfunc must[T any](t T, err error) bool { return err == nil }\n", p.imports, p.says),
	}}
}

// One change of a core library among more than two hundred Go modules that
// nobody here wrote: exactly what imports it, directly or through others, is
// built again, once and in order; and what comes out as it was changes no node.
// A change to its tests and documents builds it, and stops there.
func TestOneChangeAmongTwoHundredModules(t *testing.T) {
	t.Parallel()
	all := realModules(t)
	if len(all) < 200 || all[coreModule] == nil {
		t.Fatalf("there are %d modules, want 200 and %s among them", len(all), coreModule)
	}
	m := start(t, options{hosts: 3, builders: 6, every: time.Hour, poll: time.Second, patience: 20 * time.Minute, workshop: inMemory(t)})
	m.needsSandbox()
	for i, name := range slices.Sorted(maps.Keys(realPrograms)) {
		for _, to := range all {
			if p := realPrograms[name].imports; to.path == p || strings.HasPrefix(p, to.path+"/") {
				all[name] = realProgram(name, to)
			}
		}
		m.imported(all[name])
		m.auto(name)
		m.assign(name, three[i])
	}
	for name, one := range all {
		if realPrograms[name].run == "" {
			m.imported(one)
		}
	}
	began := time.Now()
	m.until("all is built", m.quiet(""))
	m.until("it is out", func(s status.Status) string { return outEverywhere(s, three) })
	t.Logf("%d modules were built in %s", len(all), since(began))
	m.edgesAre(all)
	was := m.made()
	sent := m.sent()

	// Its tests and its documents are nobody's business.
	m.changes(coreModule, "main", files{"semaphore/semaphore_test.go": all[coreModule].files["semaphore/semaphore_test.go"] + "\n// changed\n", "README.md": "other words\n"})
	m.until("all is current", m.quiet(coreModule))
	tested := m.made()
	if names := builtSince(tested, was); !slices.Equal(names, []string{coreModule}) {
		t.Errorf("a change to its test built %v", names)
	}
	if now := m.sent(); now != sent {
		t.Errorf("a change to a test sent %s, and it was %s", now, sent)
	}

	// A function's body.
	source, body := all[coreModule].files[coreSource], "func (s *Weighted) TryAcquire(n int64) bool {\n"
	if strings.Count(source, body) != 1 {
		t.Fatalf("%s has no TryAcquire as it is known here", coreSource)
	}
	want := reached(all, coreModule)
	t.Logf("%s reaches %d modules", coreModule, len(want)-1)
	m.changes(coreModule, "next", files{coreSource: strings.Replace(source, body, body+"\tif n > 1 {\n\t\treturn true\n\t}\n", 1)})
	inOrder(t, all, m.planned(coreModule, "next"), want)
	m.forge.git(m.forge.bare(coreModule), "update-ref", "refs/heads/main", "refs/heads/next")
	began = time.Now()
	do(m, api.ModuleLook(), api.LookIn{Module: coreModule})
	m.until("all is current again", m.quiet(coreModule))
	m.until("it is out", func(s status.Status) string { return outEverywhere(s, three) })
	t.Logf("%d modules were built again in %s", len(want), since(began))
	changed := m.made()
	if names := builtSince(changed, tested); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
		t.Errorf("built were %d: %v\nwant %d: %v", len(names), names, len(want), want)
	}
	m.builtInOrder(all, changed[len(tested):])
	onceEach(t, changed)
	m.movedOnly(changed, len(tested), coreModule, "holds")
	m.onlyHeard("holds", sent)
}

// onceEach is that nothing was built twice of the same.
func onceEach(t *testing.T, made []artifact.Build) {
	t.Helper()
	seen := map[string]bool{}
	for _, b := range made {
		of := fmt.Sprint(b.Module, artifact.Of(b))
		if seen[of] {
			t.Errorf("%s was built twice of the same", b.Module)
		}
		seen[of] = true
	}
}

// inMemory is a folder for what hundreds of builds lay out and throw away.
func inMemory(t *testing.T) string {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "mesh-line-") //nolint:usetesting // it is no disk
	must(t, err)
	must(t, os.Chmod(dir, 0o755)) // a sandbox's user goes through it
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// imported makes a module of a real one.
func (m *mesh) imported(r *real) {
	m.t.Helper()
	m.forge.imported(r.name, "main", r.files)
	do(m, api.ModuleAdd(), api.ModuleAddIn{Module: r.name, Repository: m.forge.url(r.name)})
}

// changes commits to a branch, and lets the mesh look.
func (m *mesh) changes(name, branch string, tree files) {
	m.t.Helper()
	m.forge.imported(name, branch, tree)
	if branch == "main" {
		do(m, api.ModuleLook(), api.LookIn{Module: name})
	}
}

// quiet is the fact that all is current, and the newest commit of one is read.
func (m *mesh) quiet(newest string) func(status.Status) string {
	commit := ""
	if newest != "" {
		commit = m.forge.git(m.forge.bare(newest), "rev-parse", "refs/heads/main")
	}
	return func(s status.Status) string {
		var left []string
		for _, is := range s.Modules {
			if is.Built == nil || !is.Built.Current || is.Module == newest && is.Source.Commit != commit {
				left = append(left, is.Module)
			}
		}
		if len(left) > 0 {
			return fmt.Sprintf("%d are not; %s: %s", len(left), left[0], line(s, left[0]))
		}
		return ""
	}
}

func outEverywhere(s status.Status, nodes []string) string {
	for _, name := range nodes {
		if n := nodeOf(s, name); n.State != "applied" || n.Behind != "" {
			return fmt.Sprintf("%s is %s, %s", name, n.State, n.Behind)
		}
	}
	return ""
}

// edgesAre holds every edge that was read against what the go command says.
func (m *mesh) edgesAre(all map[string]*real) {
	m.t.Helper()
	want := map[string]bool{}
	for name, r := range all {
		for to := range r.compile {
			want[name+" → "+to] = true
		}
		for to := range r.tests {
			want[name+" → "+to+" for tests"] = true
		}
	}
	got := map[string]bool{}
	for _, e := range do(m, api.Graph(), api.GraphIn{}).Edges {
		says := e.From + " → " + e.To
		if e.Test {
			says += " for tests"
		}
		got[says] = true
	}
	m.t.Logf("%d edges", len(want))
	for says := range want {
		if !got[says] {
			m.t.Errorf("missing: %s", says)
		}
	}
	for says := range got {
		if !want[says] {
			m.t.Errorf("invented: %s", says)
		}
	}
}

// made is every build, in the order of the record.
func (m *mesh) made() (all []artifact.Build) {
	m.t.Helper()
	d, err := db.Open(m.t.Context(), "sqlite:"+m.path("controller", "record.db"))
	must(m.t, err)
	defer d.Close()
	must(m.t, d.Read(m.t.Context(), func(tx *db.Tx) (err error) {
		all, err = deliverystore.AllBuilds(tx)
		return err
	}))
	slices.SortFunc(all, artifact.Older)
	return all
}

func builtSince(now, before []artifact.Build) (names []string) {
	for _, b := range now[len(before):] {
		names = append(names, b.Module)
	}
	return names
}

// sent is the digests of what the nodes were sent last and have accepted, in words.
func (m *mesh) sent() string {
	m.t.Helper()
	names := map[string]string{}
	for _, n := range do(m, api.Nodes(), api.Nothing{}).Nodes {
		names[n.Node.Node] = n.Name
	}
	var says []string
	m.poll("each node's hello says what it was sent", func() string { // it comes beside the report
		record, err := observe.RecordAt(m.t.Context(), "sqlite:"+m.path("controller", "record.db"))
		must(m.t, err)
		says = nil
		for _, n := range record.Nodes {
			if n.Sent != n.Accepted {
				return fmt.Sprintf("%s was sent %v and has accepted %v", names[n.Node], n.Sent, n.Accepted)
			}
			says = append(says, fmt.Sprintf("%s %d/%d %s", names[n.Node], n.Sent.Epoch, n.Sent.Generation, n.Sent.Digest))
		}
		return ""
	})
	slices.Sort(says)
	return strings.Join(says, "\n")
}

// planned is what a commit would build again, before it is the module's.
func (m *mesh) planned(name, rev string) (names []string) {
	m.t.Helper()
	out := do(m, api.Change(), api.ChangeIn{Module: name, Rev: rev})
	if len(out.Added)+len(out.Removed)+len(out.Against) > 0 {
		m.t.Errorf("it would change edges: %+v", out)
	}
	for _, r := range out.Rebuilt {
		names = append(names, r.Module)
	}
	return names
}

// inOrder is that just these are named, each after what is laid out for it.
func inOrder(t *testing.T, all map[string]*real, names, want []string) {
	t.Helper()
	if got := slices.Sorted(slices.Values(names)); !slices.Equal(got, want) {
		t.Errorf("planned are %d: %v\nwant %d: %v", len(got), got, len(want), want)
	}
	at := map[string]int{}
	for i, name := range names {
		at[name] = i
	}
	for _, name := range names {
		for to := range all[name].compile {
			if slices.Contains(names, to) && at[to] > at[name] {
				t.Errorf("%s is planned before %s, which it imports", name, to)
			}
		}
	}
}

// builtInOrder is that none of these was begun before all that is laid out for
// it had ended.
func (m *mesh) builtInOrder(all map[string]*real, made []artifact.Build) {
	m.t.Helper()
	rebuilt := map[string]bool{}
	for _, b := range made {
		rebuilt[b.Module] = true
	}
	last := map[string]api.BuildOut{}
	for _, b := range do(m, api.Builds(), api.BuildsIn{Limit: 1000}).Builds {
		if _, there := last[b.Module]; !there {
			last[b.Module] = b // the newest first
		}
	}
	pairs := 0
	for name := range rebuilt {
		for to := range rebuilt {
			if to == name || !laidFor(all, all[name], to) {
				continue
			}
			pairs++
			if last[name].Began.Before(last[to].Ended) {
				m.t.Errorf("%s was begun at %s, and %s ended at %s", name, last[name].Began, to, last[to].Ended)
			}
		}
	}
	m.t.Logf("%d times one had to wait for another", pairs)
}

// movedOnly is that of what was built again only these came out another, each
// against what is given now.
func (m *mesh) movedOnly(made []artifact.Build, since int, moved ...string) {
	m.t.Helper()
	before, now := map[string]artifact.Build{}, map[string]artifact.Build{}
	for i, b := range made {
		if i < since {
			before[b.Module] = b
		}
		now[b.Module] = b
	}
	gives := func(b artifact.Build) (d document.Digest) {
		for _, l := range b.Manifest.Built.Libraries {
			d = l.Digest
		}
		return d
	}
	for name, b := range now {
		was := before[name]
		if is := gives(b) != gives(was) || b.Content != was.Content; is != slices.Contains(moved, name) {
			m.t.Errorf("%s came out another: %v", name, is)
		}
		for _, in := range b.Manifest.Built.Closure {
			if in.Digest != gives(now[in.Module]) {
				m.t.Errorf("%s is built against %s of %s, which gives %s", name, in.Digest, in.Module, gives(now[in.Module]))
			}
		}
	}
}

// onlyHeard is that of the nodes only the one heard of it on which this module is.
func (m *mesh) onlyHeard(module, before string) {
	m.t.Helper()
	was, is := strings.Split(before, "\n"), strings.Split(m.sent(), "\n")
	names := slices.Sorted(maps.Keys(realPrograms))
	for i := range was {
		if moved := was[i] != is[i]; moved != (names[i] == module) {
			m.t.Errorf("%s, with %s, was %s and is %s", three[i], names[i], was[i], is[i])
		}
	}
	for name, says := range map[string]string{"holds": "true", "laid": "true"} {
		if got := strings.TrimSpace(m.read(three[slices.Index(names, name)], "opt/"+name+"/says")); got != says {
			m.t.Errorf("%s says %q, want %q", name, got, says)
		}
	}
}
