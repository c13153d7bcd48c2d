package status_test

import (
	"fmt"
	"strings"
	"time"

	"noxmesh/declaration"
	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/source"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/inventory"
	"noxmesh/manifest"
	"noxmesh/report"
	"noxmesh/status"
)

const platform = "linux/amd64"

func at(minutes int) time.Time {
	return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

func digest(name string) document.Digest { return document.Sum([]byte(name)) }

// commit is a commit whose short form is this with zeros behind it.
func commit(short string) string { return (short + strings.Repeat("0", 40))[:40] }

// made is a fit build "commit/tree=content", made at a time.
func made(text string, minute int) artifact.Build {
	from, content, _ := strings.Cut(text, "=")
	c, tree, _ := strings.Cut(from, "/")
	return artifact.Build{
		ID: digest(from), Content: digest(content), Module: "site", Verdict: verdict.Fit, At: at(minute),
		Manifest: manifest.Built{Module: "site", Built: manifest.Provenance{Commit: commit(c), Tree: tree, Platform: platform}},
	}
}

func judged(b artifact.Build, v verdict.Verdict) artifact.Build {
	b.Verdict = v
	return b
}

type change = func(*status.ModuleFacts)

// facts is module site at commit 3f1c2ab of tree t.
func facts(change ...change) status.ModuleFacts {
	f := status.ModuleFacts{
		Delivery: delivery.Facts{
			Module: "site", AddedAt: at(0), Policy: delivery.Manual, Platform: platform, Declared: map[string]document.Digest{},
			Source: source.Source{Module: "site", Ref: "refs/heads/main", Commit: commit("3f1c2ab"), Tree: "t", State: source.Read, Since: at(1), LookedAt: at(2)},
		},
		Nodes: map[string]inventory.Node{}, AppliedAt: map[string]map[document.Digest]time.Time{},
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

func sourceAt(text string) change {
	return func(f *status.ModuleFacts) {
		c, tree, _ := strings.Cut(text, "/")
		f.Delivery.Source.Commit, f.Delivery.Source.Tree = commit(c), tree
	}
}

func builds(b ...artifact.Build) change {
	return func(f *status.ModuleFacts) { f.Delivery.Builds = append(f.Delivery.Builds, b...) }
}

// on puts nodes into the facts, one a text: "n1" belongs there, "n1 c/t" and that
// is declared, "n1 c/t applied|failed|waiting|nothing" and that it reports;
// "!n1 …" and the module does not belong there. The build must be there before.
func on(texts ...string) change {
	return func(f *status.ModuleFacts) {
		for _, text := range texts {
			words := strings.Fields(text)
			id := strings.TrimPrefix(words[0], "!")
			n := inventory.Node{ID: id, Name: "name-" + id, JoinedAt: at(0), LastSeen: at(7)}
			if id == words[0] {
				f.Delivery.Nodes = append(f.Delivery.Nodes, id)
			}
			if len(words) > 1 {
				f.Delivery.Declared[id] = digest(words[1])
			}
			for _, b := range f.Delivery.Builds {
				if len(words) > 2 && b.ID == digest(words[1]) {
					n.Report = says(b.Content, words[2])
					f.AppliedAt[id] = map[document.Digest]time.Time{b.Content: at(6)}
				}
			}
			f.Nodes[id] = n
		}
	}
}

func says(content document.Digest, what string) *report.Report {
	r := report.Report{Outcome: report.OutcomeApplied, Modules: []declaration.Module{{Module: "site", Content: content}}}
	res := report.Resource{ID: "site/pages", Digest: digest("pages"), State: report.StateOK}
	switch what {
	case "failed":
		r.Outcome, res.State, res.Error = report.OutcomeFailed, report.StateFailed, "no space left on device"
	case "waiting":
		res.State, res.Error = report.StateWaiting, "the registry does not answer"
	case "nothing":
		return nil
	}
	r.Resources = []report.Resource{res}
	return &r
}

// nodesOf is one node a line, as the module's status has it.
func nodesOf(m status.Module) string {
	var out []string
	for _, on := range m.Nodes {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", on.Name, status.ShortCommit(on.Commit), on.Standing, on.Why)))
	}
	return strings.Join(out, "\n")
}
