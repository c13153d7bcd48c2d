package line

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/status"
)

func moduleOf(s status.Status, name string) status.Module {
	for _, m := range s.Modules {
		if m.Module == name {
			return m
		}
	}
	return status.Module{}
}

func nodeOf(s status.Status, name string) status.Node {
	for _, n := range s.Nodes {
		if n.Name == name {
			return n
		}
	}
	return status.Node{}
}

// isOut is the fact that the commit is applied on that many nodes.
func isOut(module, commit string, nodes int) func(status.Status) string {
	return func(s status.Status) string {
		m := moduleOf(s, module)
		if m.Out() && m.Source.Commit == commit && m.Applied == nodes {
			return ""
		}
		return line(s, module)
	}
}

// isOn is the fact that the commit is declared on so many nodes and applied on so many.
func isOn(module, commit string, declared, applied int) func(status.Status) string {
	return func(s status.Status) string {
		m := moduleOf(s, module)
		if m.Built != nil && m.Built.Commit == commit && m.Built.Current && m.Declared == declared && m.Applied == applied {
			return ""
		}
		return line(s, module)
	}
}

// isFit is the fact that the commit is built and may be declared.
func isFit(module, commit string) func(status.Status) string {
	return func(s status.Status) string {
		m := moduleOf(s, module)
		if m.Built != nil && m.Built.Current && m.Built.Commit == commit && strings.HasPrefix(m.Built.Verdict, "fit") {
			return ""
		}
		return line(s, module)
	}
}

// line is a module's line, with everything that stands beside it.
func line(s status.Status, module string) string {
	m := moduleOf(s, module)
	text := m.Line()
	if m.Source.Why != "" {
		text += fmt.Sprintf("; source %s: %s", m.Source.State, m.Source.Why)
	}
	for _, w := range m.Waiting {
		text += "; waits for " + w.For
	}
	for _, t := range m.Trouble {
		text += fmt.Sprintf("; trouble %dx %s", t.Count, t.Says)
	}
	for _, n := range s.Nodes {
		text += fmt.Sprintf("; %s %s", n.Name, n.State)
		for _, f := range n.Failing {
			text += fmt.Sprintf(" [%s %s %s]", f.Resource, f.State, f.Error)
		}
	}
	return text
}

// read is a file of a node, and what is in the way of reading it in its place.
func (m *mesh) read(node, path string) string {
	b, err := os.ReadFile(m.root(node, path))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// holds fails the test where a node's file is another.
func (m *mesh) holds(node, path, want string) {
	m.t.Helper()
	if got := m.read(node, path); got != want {
		m.t.Errorf("%s on %s holds %q, want %q", path, node, got, want)
	}
}

// lacks fails the test where something is there.
func (m *mesh) lacks(node, path string) {
	m.t.Helper()
	if _, err := os.Lstat(m.root(node, path)); !os.IsNotExist(err) {
		m.t.Errorf("%s on %s is there: %v", path, node, err)
	}
}

// put writes a file of a node, as somebody who is not the host.
func (m *mesh) put(node, path, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.root(node, path)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.root(node, path), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// module adds a module from a new repository and gives its first commit.
func (m *mesh) module(name string, tree files) string {
	m.t.Helper()
	address, commit := m.forge.repository(name, tree)
	do(m, api.ModuleAdd(), api.ModuleAddIn{Module: name, Repository: address})
	return commit
}

func (m *mesh) assign(module string, nodes ...string) {
	m.t.Helper()
	for _, n := range nodes {
		do(m, api.Assign(), api.AssignIn{Module: module, Node: n})
	}
}

func (m *mesh) auto(modules ...string) {
	m.t.Helper()
	for _, name := range modules {
		do(m, api.ModulePolicy(), api.PolicyIn{Module: name, Policy: string(delivery.Auto)})
	}
}

func (m *mesh) declare(module string) api.DeclareOut {
	m.t.Helper()
	return do(m, api.Declare(), api.DeclareIn{Module: module})
}

// motd is a module that is one file, with this text.
func motd(name, text string) files {
	return files{
		"module.json": fmt.Sprintf(`{"module": %q, "resources": [{"id": "file", "type": "file", "path": "/etc/%s", "from": "text"}]}`, name, name),
		"text":        text,
	}
}

// site is a module that is an archive of one page, with this text.
func site(name, text string) files {
	return files{
		"module.json": fmt.Sprintf(`{"module": %q, "resources": [{"id": "pages", "type": "archive", "artifact": "pages", "path": "/opt/%s"}],
			"build": {"artifacts": {"pages": {"type": "archive", "path": "public"}}}}`, name, name),
		"public/index.html": text,
	}
}

// since says how long something took, for the log.
func since(t time.Time) string { return time.Since(t).Round(time.Millisecond).String() }

// logged is how often a part's log holds these words.
func (m *mesh) logged(part, words string) int {
	m.t.Helper()
	b, err := os.ReadFile(m.path(part + ".log"))
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.Count(string(b), words)
}
