//go:build meshcrash || power

package line

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
	"noxmesh/status"
)

// watch is what must not be forgotten of a mesh between two looks at it.
type watch struct {
	mu      sync.Mutex // one look at a time
	nodes   observe.Nodes
	sources map[string]invariant.Source
	foreign map[string]map[string]string // by node and path: what somebody else has put there
	given   []observe.Secret             // what people were given
	away    map[string]bool              // nodes
	known   bool                         // the record has been made
}

// put lets somebody else have a file on a node.
func (w *watch) put(m *mesh, node, path, text string) {
	m.t.Helper()
	m.put(node, path, text)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.foreign == nil {
		w.foreign = map[string]map[string]string{}
	}
	if w.foreign[node] == nil {
		w.foreign[node] = map[string]string{}
	}
	w.foreign[node]["/"+path] = observe.Found(m.root(node, path))
}

// head is what a module's repository holds now.
func (w *watch) head(module, commit string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sources == nil {
		w.sources = map[string]invariant.Source{}
	}
	w.sources[module] = invariant.Source{Module: module, Commit: commit, Auto: true}
}

// see is the mesh as it is, and nothing of what cannot be asked just now.
func (w *watch) see(m *mesh) invariant.Seen {
	m.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	s := invariant.Seen{Usage: m.usage()}
	for _, source := range w.sources {
		s.Sources = append(s.Sources, source)
	}
	roots, err := filepath.Glob(m.path("nodes", "*"))
	must(m.t, err)
	committed := map[string]int64{}
	for _, root := range roots {
		committed[root] = w.look(m.t, root).Committed // before the record: it can only be newer
	}
	said := w.hear(m, &s)
	s.Canaries = w.canaries(m, said)
	s.Registry, err = observe.Registry(m.path("controller", "registry"))
	must(m.t, err)
	for _, root := range roots {
		n := w.look(m.t, root)
		n.Committed, n.Away = committed[root], w.away[n.Name]
		for path, put := range w.foreign[n.Name] {
			n.Foreign = append(n.Foreign, invariant.Foreign{Path: path, Put: put, Found: observe.Found(filepath.Join(root, path))})
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// hear puts into s what is said and what is recorded, of one moment: between two
// answers that say the same of every node, nothing was declared and nothing applied.
// Of a mesh that does not stand still for so long, only the record is taken.
func (w *watch) hear(m *mesh, s *invariant.Seen) status.Status {
	m.t.Helper()
	said, err := m.status()
	for range 20 {
		if err == nil {
			w.known = true
			s.At = said.At
		}
		if w.known {
			s.Record = m.recorded()
		}
		if err != nil {
			return said
		}
		var again status.Status
		if again, err = m.status(); err == nil && standing(said) == standing(again) {
			s.Said = observe.Said(said, s.Record)
			return said
		}
		said = again
	}
	return said
}

// standing is what is said of every module on every node.
func standing(s status.Status) string {
	var b strings.Builder
	for _, m := range s.Modules {
		for _, on := range m.Nodes {
			fmt.Fprintln(&b, m.Module, on.Node, on.Commit, on.Standing)
		}
	}
	for _, n := range s.Nodes {
		fmt.Fprintln(&b, n.Node, n.ReportAt)
	}
	return b.String()
}

func (w *watch) look(t testing.TB, root string) invariant.Node {
	t.Helper()
	n, err := w.nodes.Look(root)
	if err != nil {
		t.Errorf("look at the node in %s: %v", root, err)
	}
	return n
}

// canaries are the secrets of the mesh, in its files and in what it says.
func (w *watch) canaries(m *mesh, said status.Status) []invariant.Canary {
	m.t.Helper()
	secrets, folders := w.secrets(m), []string{m.dir}
	for _, pattern := range []string{"controller", "controller/registry", "builders/*", "nodes/*"} {
		disks, err := filepath.Glob(m.path(pattern))
		must(m.t, err)
		for _, at := range disks {
			if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 { // a disk of its own
				folders = append(folders, at)
			}
		}
	}
	hunt := observe.Seek(secrets)
	for _, at := range folders {
		must(m.t, hunt.Folder(at))
	}
	text, err := json.Marshal(said)
	must(m.t, err)
	hunt.Text("the status", text)
	return hunt.Found()
}

// recorded is the record as it is. That of a controller that is dead is read from
// a copy: whatever there is to mend in it is the next controller's to mend.
func (m *mesh) recorded() invariant.Record {
	m.t.Helper()
	dsn := m.dsn(m.controller.running())
	r, err := observe.RecordAt(m.t.Context(), dsn)
	if err != nil {
		m.t.Errorf("read the record: %v", err)
	}
	return r
}

func (m *mesh) dsn(alive bool) string {
	m.t.Helper()
	if m.record != "" {
		return m.record
	}
	dir := m.path("controller")
	if !alive {
		dir = m.t.TempDir()
		for path, b := range m.copyRecord() {
			must(m.t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o600))
		}
	}
	return "sqlite:" + filepath.Join(dir, "record.db")
}

// sound fails the test where anything stands against the invariants, in a mesh
// that nobody has watched.
func (m *mesh) sound() {
	m.t.Helper()
	var w watch
	mustHold(m.t, "at the end", invariant.Always(w.see(m)))
}

// mustHold fails the test for each finding.
func mustHold(t testing.TB, when string, found []invariant.Finding) {
	t.Helper()
	for _, f := range found {
		t.Errorf("%s: %s", when, f)
	}
}
