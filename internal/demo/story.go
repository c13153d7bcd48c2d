package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tell is the story. Each step is a fact that is waited for, and not a pause.
func (s *story) tell(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.set, s.first, s.commit, s.drift, s.away} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

var modules = []string{"site", "dotfiles", "workstation"} //nolint:gochecknoglobals // a constant list

// set tells the mesh what there is.
func (s *story) set(ctx context.Context) error {
	s.say("Three repositories: a website, dotfiles, and one that only requires the two.")
	for _, m := range modules {
		if err := s.mesh(ctx, "module", "add", m, s.url(m)); err != nil {
			return err
		}
	}
	s.say("Assigning workstation brings what it requires onto each node.")
	for _, n := range []string{"node1", "node2", "node3"} {
		if err := s.mesh(ctx, "assign", "workstation", n); err != nil {
			return err
		}
	}
	s.say("Nothing declares itself: for the website a policy does, for the others a person.")
	return s.mesh(ctx, "policy", "site", "auto")
}

// first is the first time that everything goes out.
func (s *story) first(ctx context.Context) error {
	for _, m := range []string{"dotfiles", "workstation"} {
		if err := s.until(ctx, m, "it is fit", func(l module) bool { return l.Built != nil && strings.HasPrefix(l.Built.Verdict, "fit") }); err != nil {
			return err
		}
		if err := s.mesh(ctx, "declare", m); err != nil {
			return err
		}
	}
	for _, m := range modules {
		if err := s.until(ctx, m, "it is applied on 3", func(l module) bool { return l.Applied == 3 && l.Built.Current }); err != nil {
			return err
		}
	}
	return s.mesh(ctx, "status")
}

// commit changes the website, as somebody would, and watches the line become true.
func (s *story) commit(ctx context.Context) error {
	s.say("Somebody commits. Nobody tells the mesh: it compares.")
	commit, err := s.change(ctx, "site", s.sitePage, "<h1>Second edition</h1>\n")
	if err != nil {
		return err
	}
	if err := s.until(ctx, "site", "the commit is applied on 3", func(l module) bool { return l.isOut(commit, 3) }); err != nil {
		return err
	}
	for _, n := range []string{"node1", "node2", "node3"} {
		if err := s.holds(n, "opt/site/index.html", "Second edition"); err != nil {
			return err
		}
	}
	s.say("Each of the three has read it back: nodes/node1/opt/site/index.html says so too.")
	return nil
}

// drift edits a file on a node by hand.
func (s *story) drift(ctx context.Context) error {
	s.say("Somebody edits a file on node2 by hand. The host finds it by looking, and puts it back.")
	path := s.node("node2", "etc/motd")
	was, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte("edited by hand\n"), 0o644); err != nil {
		return err
	}
	found := func(st status) bool { return len(st.Nodes) == 1 && st.Nodes[0].Drift > 0 }
	if err := s.untilStatus(ctx, "node2", "drift is found and put back", found); err != nil {
		return err
	}
	if err := s.mesh(ctx, "status", "node2"); err != nil {
		return err
	}
	return s.holds("node2", "etc/motd", string(was))
}

// away switches a node off, and lets it catch up by itself.
func (s *story) away(ctx context.Context) error {
	s.say("node3 is switched off, and somebody commits.")
	if err := s.mesh(ctx, "dev", "stop", "node3"); err != nil {
		return err
	}
	commit, err := s.change(ctx, "site", s.sitePage, "<h1>Third edition</h1>\n")
	if err != nil {
		return err
	}
	waiting := func(l module) bool {
		return l.Source.Commit == commit && l.Built.Current && l.Declared == 3 && l.Applied == 2 && l.Outstanding == 1
	}
	if err := s.until(ctx, "site", "it is applied on 2, 1 outstanding", waiting); err != nil {
		return err
	}
	if err := s.mesh(ctx, "status", "site"); err != nil {
		return err
	}
	s.say("Outstanding is not failure. node3 is switched on again, and catches up by itself.")
	if err := s.mesh(ctx, "dev", "start", "node3"); err != nil {
		return err
	}
	if err := s.until(ctx, "site", "it is applied on 3", func(l module) bool { return l.isOut(commit, 3) }); err != nil {
		return err
	}
	return s.holds("node3", "opt/site/index.html", "Third edition")
}

func (l module) isOut(commit string, nodes int) bool {
	return l.Source.Commit == commit && l.Built != nil && l.Built.Current && l.Declared == nodes && l.Applied == nodes
}

// node is a path on one of the nodes.
func (s *story) node(name, path string) string {
	return filepath.Join(s.dir, "mesh-dev", "nodes", name, path)
}

// holds checks what is really there, with our own eyes.
func (s *story) holds(node, path, want string) error {
	b, err := os.ReadFile(s.node(node, path))
	if err != nil {
		return err
	}
	if !strings.Contains(string(b), want) {
		return fmt.Errorf("%s on %s holds %q, want %q", path, node, b, want)
	}
	return nil
}

// next says where everything is and what to type next.
func (s *story) next() {
	s.say("It runs on, in " + s.dir + ". In another terminal:")
	fmt.Printf(`  cd %s
  %s/mesh status
  %s/mesh logs $(%s/mesh builds site --last 1 -o json | grep -o '"request": "[0-9a-f]*' | cut -d'"' -f4)
  cd work/site && git commit --allow-empty -m change     (or edit something)
  git push && %s/mesh wait site
The nodes' files are in %s. ctrl-C stops it all.
`, s.dir, s.bin, s.bin, s.bin, s.bin, filepath.Join(s.dir, "mesh-dev", "nodes"))
}
