package resource

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/archive"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/report"
)

// model is what an onlooker knows, who sees what is declared and what somebody
// else does to the machine, and nothing of the host.
type model struct {
	*machine
	rt      *rapid.T
	names   []string
	foreign map[string]string // somebody else's, never declared since: must stay exactly so
	mayStay map[string]bool   // somebody else had a hand in it, once
	wanted  map[string]string // what was declared last, thing by thing
}

// memory is a folder that needs no disk: this is about what happens, not about
// what survives a power cut.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mesh-host-") //nolint:usetesting // in memory
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func modelPaths() []string {
	return []string{"/a", "/a/x", "/a/y", "/a/x/z", "/b", "/b/c", "/b/c/d", "/l", "/l/m"}
}

// TestAnyHistory draws histories of declarations and of other hands, and holds
// after each apply: what is declared is there; what nobody declared and somebody
// else made is untouched; nothing else is left; and a second apply writes nothing.
func TestAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := memory(t)
		m := &model{
			machine: &machine{t: t, dir: dir, depot: newDepot()}, rt: rt, names: modelPaths(),
			foreign: map[string]string{}, mayStay: map[string]bool{},
		}
		m.start()
		defer m.stop()
		for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 3).Draw(rt, "other hands") {
				m.otherHand()
			}
			if rapid.IntRange(0, 4).Draw(rt, "restart") == 0 {
				m.restart()
			}
			m.round(m.declare())
		}
	})
}

// otherHand is somebody else at work.
func (m *model) otherHand() {
	p := rapid.SampledFrom(m.names).Draw(m.rt, "hand at")
	full := m.at(p)
	if real, err := filepath.EvalSymlinks(filepath.Dir(full)); err != nil || real != filepath.Dir(full) {
		return // through a link it would be a hand somewhere else
	}
	switch rapid.SampledFrom([]string{"write", "mkdir", "link", "remove", "chmod"}).Draw(m.rt, "hand") {
	case "write":
		m.put(p, func() error {
			if info, err := os.Lstat(full); err == nil && info.Mode().Type() == fs.ModeSymlink {
				must(m.t, os.Remove(full))
			}
			return os.WriteFile(full, []byte("by hand "+p), 0o644)
		})
	case "mkdir":
		m.put(p, func() error { return os.Mkdir(full, 0o755) })
	case "link":
		m.put(p, func() error { return os.Symlink("nowhere", full) })
	case "remove":
		_ = os.RemoveAll(full)
		for q := range m.foreign {
			if q == p || strings.HasPrefix(q, p+"/") {
				delete(m.foreign, q)
			}
		}
	case "chmod":
		if info, err := os.Lstat(full); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			_ = os.Chmod(full, 0o700)
		}
	}
}

// put makes something at a path, and knows whose it is then.
func (m *model) put(p string, make func() error) {
	before := describe(m.at(p))
	if make() != nil {
		return
	}
	after := describe(m.at(p))
	e, ours := m.engine.record.Entries.Get(p)
	if ours && e.Origin == keep.Made && before != "" && strings.HasPrefix(before, "->") == strings.HasPrefix(after, "->") {
		return // an edit of what the host made
	}
	m.mayStay[p] = true
	if _, declared := m.wanted[p]; !declared && !ours {
		m.foreign[p] = after
	}
}

// declare draws a declaration that no path of contradicts another.
func (m *model) declare() []declaration.Resource {
	var all []declaration.Resource
	closed := map[string]bool{} // nothing can lie in these
	inner := map[string]bool{}  // something lies in these
	for i, p := range m.names {
		if rapid.Bool().Draw(m.rt, "declare "+p) {
			continue
		}
		if r, ok := m.draw(fmt.Sprintf("m/r%d", rapid.IntRange(0, 1).Draw(m.rt, "id")*100+i), p, closed, inner); ok {
			all = append(all, r)
		}
	}
	return rapid.Permutation(all).Draw(m.rt, "order")
}

func (m *model) draw(id, p string, closed, inner map[string]bool) (declaration.Resource, bool) {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if closed[dir] {
			return declaration.Resource{}, false
		}
	}
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		inner[dir] = true
	}
	content := rapid.SampledFrom([]string{"one", "two", ""}).Draw(m.rt, "content")
	kind := rapid.SampledFrom([]string{"file", "link", "directory", "archive"}).Draw(m.rt, "type")
	if kind != "directory" {
		closed[p] = true
	}
	switch kind {
	case "file":
		return m.depot.file(id, p, content), true
	case "link":
		return symlink(id, p, map[string]string{"one": "b", "two": "to-two", "": "."}[content]), true
	case "archive":
		files := map[string]string{"x": content, "k/z": "z"}
		if content == "" {
			files = map[string]string{"x/deep": "d", "k": "file"}
		}
		for _, body := range files {
			m.depot.bodies[document.Sum([]byte(body))] = []byte(body)
		}
		r := m.depot.archive(m.t, id, p, files)
		if rapid.Bool().Draw(m.rt, "swap") {
			r = swapped(r)
		}
		return r, true
	}
	return directory(id, p, "0755"), true
}

// round applies, and holds the machine against the model.
func (m *model) round(all []declaration.Resource) {
	m.wanted = m.things(all)
	for p := range m.wanted {
		delete(m.foreign, p) // taken over, if it was there
	}
	r := m.apply(all...)
	m.rt.Logf("apply %v: %s%s", all, r.Outcome, words(r))
	m.foreignStays()
	if !r.Right {
		m.onlyForeignFailures(all, r)
		return
	}
	for p, want := range m.wanted {
		if got := describe(m.at(p)); got != want {
			m.rt.Fatalf("%s is %q, want %q", p, got, want)
		}
	}
	m.nothingElse()
	before := m.snapshot()
	if again := m.apply(all...); again.Wrote || again.Outcome != report.OutcomeApplied {
		m.rt.Fatalf("a second apply wrote: %s", words(again))
	}
	if got := m.snapshot(); !slices.Equal(got, before) {
		m.rt.Fatalf("a second apply changed\n%v\nto\n%v", before, got)
	}
}

// things is what a declaration amounts to.
func (m *model) things(all []declaration.Resource) map[string]string {
	things := map[string]string{}
	for _, r := range all {
		switch r.Type {
		case declaration.File:
			things[r.Path] = string(m.depot.bodies[r.Digest])
		case declaration.Link:
			things[r.Path] = "->" + r.Target
		case declaration.Directory:
			things[r.Path] = "/"
		case declaration.Group, declaration.User, declaration.Service, declaration.Package, declaration.Sysctl, declaration.Mount, declaration.Check, declaration.Container:
		case declaration.Archive:
			things[r.Path] = "/"
			idx, err := openIndex(m.depot.indexes[r.Digest], r.Digest)
			must(m.t, err)
			for _, e := range idx.Entries {
				want := "/"
				if e.Kind == archive.File {
					want = string(m.depot.bodies[e.Digest])
				}
				things[path.Join(r.Path, e.Path)] = want
			}
		}
	}
	return things
}

func (m *model) foreignStays() {
	for p, want := range m.foreign {
		if got := describe(m.at(p)); got != want {
			m.rt.Fatalf("%s was somebody else's %q and is %q", p, want, got)
		}
	}
}

// onlyForeignFailures: a resource fails only where somebody else's thing stands
// in its way, or where a link that is not the host's to remove leads it astray.
func (m *model) onlyForeignFailures(all []declaration.Resource, r Result) {
	paths := map[string]string{}
	for _, res := range all {
		paths[res.ID] = res.Path
	}
	for _, res := range r.Resources {
		blamed := strings.Contains(res.Error, "did not make") || strings.Contains(res.Error, "was there before") || strings.Contains(res.Error, "not a directory") || strings.Contains(res.Error, "same place")
		if res.State == report.StateFailed && !blamed && !m.astray(paths[res.ID]) {
			m.rt.Fatalf("%s failed, and nobody is in the way: %s", res.ID, res.Error)
		}
	}
}

// astray reports whether a link stands on a way of this machine: also the way of
// another path may lead to this one's place.
func (m *model) astray(p string) bool {
	for _, q := range append(m.names, p) {
		if _, declared := m.wanted[q]; !declared && strings.HasPrefix(describe(m.at(q)), "->") {
			return true
		}
	}
	return false
}

// nothingElse: what is on the machine is declared, on the way to something, or somebody else had a hand in it.
func (m *model) nothingElse() {
	may := map[string]bool{}
	for _, set := range []map[string]bool{keys(m.wanted), m.mayStay} {
		for p := range set {
			// Through a link that somebody else left, a path lies elsewhere.
			real, err := filepath.EvalSymlinks(filepath.Dir(m.at(p)))
			for q := path.Join("/"+strings.TrimPrefix(real, m.dir), path.Base(p)); err == nil && q != "/"; q = path.Dir(q) {
				may[q] = true
			}
			for ; p != "/"; p = path.Dir(p) {
				may[p] = true
			}
		}
	}
	must(m.t, filepath.WalkDir(m.dir, func(full string, _ fs.DirEntry, err error) error {
		p := strings.TrimPrefix(full, m.dir)
		if p == keep.Path {
			return filepath.SkipDir
		}
		if p != "" && p != "/var" && p != "/var/lib" && !may[p] {
			e, _ := m.engine.record.Entries.Get(p)
			m.rt.Fatalf("%s is left: %q; record %v", p, describe(full), e)
		}
		return err
	}))
}

func keys(m map[string]string) map[string]bool {
	all := map[string]bool{}
	for k := range m {
		all[k] = true
	}
	return all
}
