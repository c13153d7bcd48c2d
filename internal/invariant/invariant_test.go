package invariant_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/invariant"
	"noxmesh/report"
)

func at(minute int) time.Time { return time.Date(2030, 1, 1, 0, minute, 0, 0, time.UTC) }

func sum(s string) document.Digest { return document.Sum([]byte(s)) }

func tuple(generation int64, body string) declaration.Tuple {
	return declaration.Tuple{Epoch: 1, Generation: generation, Digest: sum(body)}
}

// well is a mesh in which all is as it should be: site is applied on node n1,
// and node n2 is away, and has a declaration before.
func well() invariant.Seen {
	site := declaration.Module{Module: "site", Content: sum("content")}
	rep := report.Report{
		Node: "n1", Sequence: 9, Outcome: report.OutcomeApplied, Accepted: tuple(2, "b"), Applied: tuple(2, "b"), Modules: []declaration.Module{site},
		Resources: []report.Resource{{ID: "site/file", Digest: sum("resource"), State: report.StateOK}},
	}
	return invariant.Seen{
		At:      at(30),
		Sources: []invariant.Source{{Module: "site", Commit: "1111111111", Auto: true}},
		Record: invariant.Record{
			Known:    true,
			Answers:  []invariant.Answer{{Request: "r1", Builder: "b1", Build: sum("build")}},
			Builds:   []invariant.Build{{ID: sum("build"), Encoded: sum("build"), Content: sum("content"), Module: "site", Closure: "tree", Request: "r1", Published: sum("manifest"), Fit: true}},
			Declared: []invariant.Declared{{"site", "n1", sum("build")}, {"site", "n2", sum("build")}},
			Ledger:   []invariant.Issued{{"n1", tuple(1, "a")}, {"n1", tuple(2, "b")}, {"n2", tuple(1, "c")}, {"n2", tuple(2, "d")}},
			Nodes: []invariant.NodeRow{
				{Node: "n1", Sent: tuple(2, "b"), Accepted: tuple(2, "b"), Report: &rep, ReportAt: at(3), Signed: true},
				{Node: "n2", Sent: tuple(1, "c"), Accepted: tuple(1, "c")},
			},
		},
		Registry: invariant.Registry{
			Manifests: []invariant.Manifest{{Repository: "site", Digest: sum("manifest"), Encoded: sum("manifest"), Names: []invariant.Named{{Digest: sum("blob"), Size: 4}}}},
			Blobs:     map[document.Digest]invariant.Blob{sum("blob"): {Size: 4, Sum: sum("blob")}, sum("orphan"): {Size: 6, Sum: sum("orphan")}},
		},
		Said: invariant.Said{
			Known: true,
			Modules: []invariant.Module{{
				Name: "site", Commit: "1111111111", State: "read", Current: true,
				On: []invariant.On{{Node: "n1", Content: sum("content"), Applied: true, Declared: true}, {Node: "n2", Content: sum("content"), Declared: true}},
			}},
			Nodes: []invariant.NodeSaid{{Node: "n1", State: "applied", ReportAt: at(3)}, {Node: "n2", State: "out of date", LastSeen: at(1)}},
		},
		Nodes: []invariant.Node{
			{
				ID: "n1", Name: "node1", History: []invariant.Accepted{{}, {tuple(1, "a"), true}, {tuple(2, "b"), true}}, Committed: 9,
				Things:  []invariant.Thing{{Path: "/etc/site", Resource: "site/file", Done: true, Made: true, Want: "x", Found: "x"}},
				Foreign: []invariant.Foreign{{Path: "/etc/mine", Put: "mine", Found: "mine"}},
			},
			{ID: "n2", Name: "node2", Away: true, History: []invariant.Accepted{{tuple(1, "c"), true}}},
		},
		Acks:     []invariant.Ack{{Kind: invariant.AckAnswer, From: "b1", Key: "r1"}, {Kind: invariant.AckDeclared, From: "n1", Key: "site"}},
		Usage:    []invariant.Usage{{What: "memory", Used: 5, Most: 5}},
		Canaries: []invariant.Canary{{Name: "password"}},
	}
}

func TestWhatIsWellHasNoFinding(t *testing.T) {
	t.Parallel()
	for name, check := range checks() {
		if found := check(well()); len(found) != 0 {
			t.Errorf("%s: %v", name, found)
		}
		if found := check(invariant.Seen{}); len(found) != 0 {
			t.Errorf("%s, of what nobody has looked at: %v", name, found)
		}
	}
}

func checks() map[string]func(invariant.Seen) []invariant.Finding {
	return map[string]func(invariant.Seen) []invariant.Finding{"always": invariant.Always, "at the end": invariant.AtEnd}
}

type violation struct {
	want  string // "I2 where: what", a part of it
	spoil func(*invariant.Seen)
}

func (v violation) is(f invariant.Finding) bool { return strings.Contains(f.String(), v.want) }

func TestEachViolationIsFoundAtAnyMoment(t *testing.T) {
	t.Parallel()
	for _, v := range always() {
		t.Run(v.want, func(t *testing.T) {
			t.Parallel()
			s := well()
			v.spoil(&s)
			one(t, "always", v.want, invariant.Always(s))
			if found := invariant.AtEnd(s); !slices.ContainsFunc(found, v.is) {
				t.Errorf("at the end: found %v, want %s", found, v.want)
			}
		})
	}
}

func TestEachViolationIsFoundAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, v := range atEnd() {
		t.Run(v.want, func(t *testing.T) {
			t.Parallel()
			s := well()
			v.spoil(&s)
			one(t, "at the end", v.want, invariant.AtEnd(s))
			if found := invariant.Always(s); len(found) != 0 {
				t.Errorf("meanwhile it may be so: %v", found)
			}
		})
	}
}

// one is that just this was found.
func one(t *testing.T, name, want string, found []invariant.Finding) {
	t.Helper()
	if len(found) != 1 || !strings.Contains(found[0].String(), want) {
		t.Errorf("%s: found %v, want %s", name, found, want)
	}
}

// Every invariant has a violation here.
func TestEveryInvariantIsViolated(t *testing.T) {
	t.Parallel()
	violated := map[string]bool{}
	for _, v := range append(always(), atEnd()...) {
		id, _, _ := strings.Cut(v.want, " ")
		violated[id] = true
	}
	for _, id := range []invariant.ID{
		invariant.I1, invariant.I2, invariant.I3, invariant.I4, invariant.I5, invariant.I6, invariant.I7, invariant.I8, invariant.I9, invariant.I10,
	} {
		if !violated[string(id)] {
			t.Errorf("nothing violates %s", id)
		}
	}
}

// What is shown is not lost, and what is known is not a surprise.
func TestWhatIsShownIsNoFinding(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*invariant.Seen){
		"a source that cannot be read": func(s *invariant.Seen) {
			m := &s.Said.Modules[0]
			m.State, m.Why, m.Since, m.Commit = "unreachable", "the forge is off", at(1), "older"
		},
		"a module that waits": func(s *invariant.Seen) {
			m := &s.Said.Modules[0]
			m.Current, m.Waits = false, []invariant.Wait{{"a builder", at(1)}}
		},
		"a node that has failed": func(s *invariant.Seen) {
			s.Record.Nodes[0].Report.Outcome = report.OutcomeFailed
			s.Record.Nodes[0].Report.Resources[0].State = report.StateFailed
			s.Said.Modules[0].On[0] = invariant.On{Node: "n1", Content: sum("content"), Declared: true, Failed: true, Why: "full"}
			s.Said.Nodes[0].State, s.Said.Nodes[0].Failing = "failed", []invariant.Failing{{"site/file", "failed", "full"}}
		},
		"a status that is older than the record": func(s *invariant.Seen) {
			s.Record.Nodes[0].Report.Resources[0].State = report.StateFailed
			s.Record.Nodes[0].ReportAt = at(4)
		},
		"a node that is ahead of the record": func(s *invariant.Seen) {
			s.Nodes[0].History = append(s.Nodes[0].History, invariant.Accepted{Tuple: tuple(3, "c"), Signed: true})
			s.Said.Nodes[0].State, s.Said.Nodes[0].Finding = invariant.Quarantined, "it has accepted what was never issued"
		},
		"a blob that the test has taken": func(s *invariant.Seen) {
			delete(s.Registry.Blobs, sum("blob"))
			s.Registry.Taken = append(s.Registry.Taken, sum("blob"))
		},
		"a build that is known to be gone": func(s *invariant.Seen) { s.Record.Builds[0].Gone, s.Registry.Manifests = true, nil },
		"two builds of one closure, and the record says so": func(s *invariant.Seen) {
			b := s.Record.Builds[0]
			b.ID, b.Encoded, b.Request, b.Finding = sum("other"), sum("other"), "r2", "not reproducible"
			s.Record.Builds = append(s.Record.Builds, b)
		},
		"a change by somebody else":  func(s *invariant.Seen) { s.Nodes[0].Things[0].Found, s.Nodes[0].Things[0].Touched = "y", true },
		"a thing that is being made": func(s *invariant.Seen) { s.Nodes[0].Things[0].Found, s.Nodes[0].Things[0].Done = "", false },
		"a taken over file":          func(s *invariant.Seen) { s.Nodes[0].Foreign[0].Found, s.Nodes[0].Foreign[0].Given = "x", true },
		"a refusal that was sent": func(s *invariant.Seen) {
			s.Record.Nodes[1].Sent, s.Record.Nodes[1].Refused = tuple(2, "d"), tuple(2, "d")
		},
		"a policy that is manual": func(s *invariant.Seen) { s.Sources[0].Auto, s.Said.Modules[0].On[0].Declared = false, false },
		"a controller that is dead": func(s *invariant.Seen) {
			s.Said, s.Record = invariant.Said{}, invariant.Record{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := well()
			change(&s)
			if found := invariant.AtEnd(s); len(found) != 0 {
				t.Errorf("%v", found)
			}
		})
	}
}
