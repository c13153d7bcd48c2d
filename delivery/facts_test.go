package delivery_test

import (
	"fmt"
	"strings"
	"time"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/source"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/manifest"
)

const platform = "linux/amd64"

// at is so many minutes after the beginning.
func at(minutes int) time.Time {
	return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

func digest(name string) document.Digest { return document.Sum([]byte(name)) }

func closure(tree string) artifact.Closure {
	return artifact.Closure{Tree: tree, Platform: platform, Inputs: []manifest.Input{}}
}

// made is a build "commit/tree=content", made at a time, fit.
func made(text string, minute int) artifact.Build {
	from, content, _ := strings.Cut(text, "=")
	commit, tree, _ := strings.Cut(from, "/")
	return artifact.Build{
		ID: digest(from), Content: digest(content), Module: "site", Verdict: verdict.Fit, Request: "request of " + from, At: at(minute),
		Manifest: manifest.Built{Module: "site", Built: manifest.Provenance{Commit: commit, Tree: tree, Platform: platform}},
	}
}

func judged(b artifact.Build, v verdict.Verdict) artifact.Build {
	b.Verdict = v
	return b
}

func gone(b artifact.Build) artifact.Build {
	b.Gone = true
	return b
}

// read is a source "commit/tree", read.
func read(text string) source.Source {
	commit, tree, _ := strings.Cut(text, "/")
	return source.Source{Module: "site", Ref: "refs/heads/main", Commit: commit, Tree: tree, Head: commit, State: source.Read, MovedAt: at(1), Since: at(1), LookedAt: at(2)}
}

func unread(s source.Source, state source.State, why string) source.Source {
	s.State, s.Why, s.Since = state, why, at(5)
	return s
}

func asked(tree string, attempt int64, state delivery.AskState, minute int) delivery.Asked {
	return delivery.Asked{ID: fmt.Sprintf("%s-%d", tree, attempt), Closure: closure(tree), Attempt: attempt, State: state, Since: at(minute)}
}

// ended is a request that was answered; of one that failed, how is "step: why".
func ended(tree string, attempt int64, minute int, outcome build.Outcome, how string) delivery.Asked {
	a := asked(tree, attempt, delivery.Done, minute)
	a.Outcome, a.Why = outcome, how
	if outcome == build.OutcomeFailed {
		step, why, _ := strings.Cut(how, ": ")
		a.Step, a.Why = build.Step(step), why
	}
	return a
}

// facts is module site, as somebody added it who looks at commit c1 of tree t1.
func facts(change ...func(*delivery.Facts)) delivery.Facts {
	f := delivery.Facts{
		Module: "site", AddedAt: at(0), Policy: delivery.Manual, Source: read("c1/t1"), Platform: platform, Declared: map[string]document.Digest{},
		Builders: []delivery.Builder{{ID: "b1", Name: "forge", Platform: platform}},
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

type change = func(*delivery.Facts)

func auto(f *delivery.Facts) { f.Policy = delivery.Auto }

func from(s source.Source) change { return func(f *delivery.Facts) { f.Source = s } }

func builds(b ...artifact.Build) change {
	return func(f *delivery.Facts) { f.Builds = append(f.Builds, b...) }
}

func requests(a ...delivery.Asked) change {
	return func(f *delivery.Facts) { f.Asked = append(f.Asked, a...) }
}

func builders(b ...delivery.Builder) change { return func(f *delivery.Facts) { f.Builders = b } }

func nodes(ids ...string) change { return func(f *delivery.Facts) { f.Nodes = ids } }

// on is what is declared: "node=commit/tree".
func on(texts ...string) change {
	return func(f *delivery.Facts) {
		for _, text := range texts {
			node, b, _ := strings.Cut(text, "=")
			f.Declared[node] = digest(b)
		}
	}
}

// wrote is a declare-write "who: commit/tree on node node"; a policy is called auto.
func wrote(id int64, minute int, text string) change {
	return func(f *delivery.Facts) {
		who, rest, _ := strings.Cut(text, ": ")
		b, on, _ := strings.Cut(rest, " on ")
		f.Writes = append(f.Writes, delivery.Write{ID: id, Build: digest(b), Nodes: strings.Fields(on), By: who, Policy: who == "auto", At: at(minute)})
	}
}

// says is a difference in one line a thing.
func says(d delivery.Difference) string {
	var out []string
	for _, w := range d.Withdraw {
		out = append(out, fmt.Sprintf("withdraw %s: %s", w.ID, w.Why))
	}
	if d.Ask != nil {
		out = append(out, fmt.Sprintf("ask %s/%s attempt %d", d.Ask.Commit, d.Ask.Closure.Tree, d.Ask.Attempt))
	}
	if d.Declare != nil {
		out = append(out, fmt.Sprintf("declare %s on %s", d.Declare.Build.Short(), strings.Join(d.Declare.Nodes, " ")))
	}
	for _, w := range d.Waiting {
		out = append(out, fmt.Sprintf("waits for %s, since %s", w.For, minute(w.Since)))
	}
	if !d.Next.IsZero() {
		out = append(out, "again at "+minute(d.Next))
	}
	return strings.Join(out, "\n")
}

func minute(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return fmt.Sprint(t.Sub(at(0)).Minutes())
}
