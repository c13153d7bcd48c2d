package delivery_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/source"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/manifest"
)

// toy is a language in which a module owns its own name.
type toy struct{}

func (toy) Name() string                     { return "go" }
func (toy) Wants(string, bool) bool          { return true }
func (toy) Read(imports.Input) imports.Found { return imports.Found{} }
func (toy) Owners(name string) []string      { return []string{name} }

// nature is what a commit of a module is.
type nature struct {
	Library string   // what others compile against
	Words   int      // what they do not: documents and tests
	Imports []string // other modules
	Tests   []string // those that only its tests import
	Broken  bool     // it does not build
	Unfit   bool     // its tests fail
	Bare    bool     // it makes no library
}

func (n nature) tree() string { return fmt.Sprintf("%+v", n) }

// rest is a mesh of modules that import each other, with builders whose answer
// is a function of what they are asked. What it should come to is worked out of
// the sources alone.
type rest struct {
	t      *rapid.T
	now    time.Time
	facts  map[string]*delivery.Facts
	source map[string]nature
	trees  map[string]nature // every one that there was
	code   *graph.Builds
	tries  map[string]int // by closure: how often it was built
	lost   map[string]int // by closure: how often what was built of it has gone from the registry
}

func newRest(t *rapid.T, modules int) *rest {
	r := &rest{
		t: t, now: at(10), facts: map[string]*delivery.Facts{}, source: map[string]nature{}, trees: map[string]nature{},
		code: graph.NewBuilds([]imports.Language{toy{}}), tries: map[string]int{}, lost: map[string]int{},
	}
	for i := range modules {
		name := fmt.Sprintf("m%d", i)
		r.facts[name] = &delivery.Facts{Module: name, AddedAt: at(1), Platform: platform}
	}
	return r
}

func (r *rest) names() []string { return slices.Sorted(maps.Keys(r.facts)) }

// commits moves a module's source.
func (r *rest) commits(name string, n nature) {
	r.source[name], r.trees[n.tree()] = n, n
	found := imports.Found{Owns: []imports.Own{{Name: name}}}
	for _, to := range n.Imports {
		found.Imports = append(found.Imports, imports.Import{Name: to, At: imports.Place{File: "a.go", Line: 1}})
	}
	for _, to := range n.Tests {
		found.Imports = append(found.Imports, imports.Import{Name: to, Test: true, At: imports.Place{File: "a_test.go", Line: 1}})
	}
	all := map[string]imports.Found{"go": found.Sorted(toy{}.Owners)}
	commit := string(document.Sum(fmt.Append(nil, name, r.now)))
	r.facts[name].Source = source.Source{
		Module: name, Commit: commit, Tree: n.tree(), Head: commit, State: source.Read, MovedAt: r.now, Since: r.now, LookedAt: r.now, Code: imports.Reading{Says: imports.Say(all)},
	}
	r.code.Set(graph.Code{Module: name, Repository: name, Says: imports.Say(all)})
}

// with is what is known of a module, with what it would be built against.
func (r *rest) with(name string) delivery.Facts {
	f := *r.facts[name]
	f.Inputs = delivery.InputsOf(f, r.code.Laid(name), func(to string) delivery.Given { return delivery.Given{Module: to, Facts: r.with(to)} })
	return f
}

func word(module string, c artifact.Closure) string { return fmt.Sprint(module, c) }

// compares looks at one module, takes back what it names, and asks for what it names.
func (r *rest) compares(name string) delivery.Difference {
	f := r.with(name)
	d := delivery.Compare(f, r.now)
	f.Asked = slices.Clone(f.Asked)
	for _, w := range d.Withdraw {
		i := slices.IndexFunc(f.Asked, func(a delivery.Asked) bool { return a.ID == w.ID })
		if f.Asked[i].State != delivery.Open {
			r.t.Fatalf("%s takes back what is not open: %+v", name, f.Asked[i])
		}
		f.Asked[i].State, f.Asked[i].Why, f.Asked[i].Since = delivery.Withdrawn, w.Why, r.now
	}
	r.facts[name].Asked = f.Asked
	for _, a := range f.Asked {
		if a.State == delivery.Open && !artifact.Current(a.Closure, delivery.ClosureNow(f)) {
			r.t.Fatalf("%s lets a builder make what has moved: %+v", name, a)
		}
	}
	if d.Ask != nil {
		for _, a := range f.Asked {
			if artifact.Current(a.Closure, d.Ask.Closure) && (a.State == delivery.Open || a.State == delivery.Leased) {
				r.t.Fatalf("%s is asked for twice at once: %+v", name, d.Ask)
			}
		}
		r.facts[name].Asked = append(slices.Clone(f.Asked), delivery.Asked{
			ID: fmt.Sprint(name, len(f.Asked)), Closure: d.Ask.Closure, Attempt: d.Ask.Attempt, State: delivery.Open, Since: r.now,
		})
	}
	return d
}

// takes lets a builder take one open request of a module.
func (r *rest) takes(name string) (any bool) {
	f := r.facts[name]
	i := slices.IndexFunc(f.Asked, func(a delivery.Asked) bool { return a.State == delivery.Open })
	if i >= 0 {
		f.Asked = slices.Clone(f.Asked)
		f.Asked[i].State, f.Asked[i].Since = delivery.Leased, r.now
	}
	return i >= 0
}

// answers lets a builder answer one request of a module, one that it has taken
// or that is open. What it makes depends on nothing but the closure.
func (r *rest) answers(name string) (any bool) {
	f := r.facts[name]
	i := slices.IndexFunc(f.Asked, func(a delivery.Asked) bool { return a.State == delivery.Leased })
	if i < 0 {
		i = slices.IndexFunc(f.Asked, func(a delivery.Asked) bool { return a.State == delivery.Open })
	}
	if i < 0 {
		return false
	}
	f.Asked = slices.Clone(f.Asked)
	a := &f.Asked[i]
	a.State, a.Since = delivery.Done, r.now
	n := r.trees[a.Closure.Tree]
	if n.Broken {
		a.Outcome, a.Step = build.OutcomeFailed, build.StepBuild
		return true
	}
	a.Outcome = build.OutcomeBuilt
	of := word(name, a.Closure)
	if r.tries[of]++; r.tries[of] > 1+r.lost[of] {
		r.t.Fatalf("%s was built %d times of the same: %s", name, r.tries[of], of)
	}
	id := document.Sum([]byte(of))
	f.Builds = slices.DeleteFunc(slices.Clone(f.Builds), func(b artifact.Build) bool { return b.ID == id })
	made := artifact.Build{ID: id, Content: document.Sum([]byte(n.Library)), Module: name, Verdict: verdict.Fit, At: r.now, Sequence: int64(len(r.tries))}
	made.Manifest.Built = manifest.Provenance{Tree: a.Closure.Tree, Platform: platform, Closure: a.Closure.Inputs}
	if n.Unfit {
		made.Verdict = verdict.Unfit
	}
	if !n.Bare {
		made.Manifest.Built.Libraries = []manifest.Library{{Artifact: "lib", Language: "go", Digest: libraryOf(name, n)}}
	}
	f.Builds = append(f.Builds, made)
	return true
}

func libraryOf(name string, n nature) document.Digest {
	return document.Sum([]byte(name + " gives " + n.Library))
}

// draw is one commit.
func (r *rest) draw(name string) nature {
	t := r.t
	var others []string
	for _, other := range r.names() {
		if other < name || other != name && rapid.IntRange(0, 30).Draw(t, "backwards") == 0 {
			others = append(others, other)
		}
	}
	some := func(what string, from []string, most int) []string {
		if len(from) == 0 {
			return nil
		}
		return slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, min(most, len(from)), rapid.ID[string]).Draw(t, what)))
	}
	seldom := func(what string) bool { return rapid.IntRange(0, 9).Draw(t, what) == 0 }
	n := nature{Imports: some("imports", others, 3), Library: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "library"), Words: rapid.IntRange(0, 2).Draw(t, "words")}
	n.Tests = some("tests", slices.DeleteFunc(r.names(), func(other string) bool { return other == name || slices.Contains(n.Imports, other) }), 1)
	n.Broken, n.Unfit, n.Bare = seldom("broken"), seldom("unfit"), seldom("bare")
	return n
}

// happens is one thing that happens to the mesh, or that it does.
func (r *rest) happens() {
	name := rapid.SampledFrom(r.names()).Draw(r.t, "module")
	r.now = r.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(r.t, "seconds")) * time.Second)
	switch rapid.SampledFrom([]string{"commit", "change", "change", "compare and answer", "compare and answer", "compare", "compare", "take", "answer", "lose", "forge"}).Draw(r.t, "what") {
	case "commit":
		r.commits(name, r.draw(name))
	case "change": // of the library, or of words alone
		n, there := r.source[name]
		if !there {
			return
		}
		if rapid.Bool().Draw(r.t, "words alone") {
			n.Words++
		} else {
			n.Library += "'"
		}
		r.commits(name, n)
	case "compare and answer":
		r.compares(name)
		r.answers(name)
	case "compare":
		r.compares(name)
	case "take":
		r.takes(name)
	case "answer":
		r.answers(name)
	case "lose":
		f := r.facts[name]
		f.Builds = slices.Clone(f.Builds)
		for i, b := range f.Builds {
			if !b.Gone && rapid.Bool().Draw(r.t, "gone") {
				f.Builds[i].Gone = true
				r.lost[word(name, artifact.Of(b))]++
			}
		}
	case "forge":
		if s := &r.facts[name].Source; s.Commit != "" {
			s.State, s.Why, s.Since = source.Unreachable, "off", r.now
		}
	}
}

// The mesh neither builds for ever nor never: whatever happened, once sources
// have stopped moving it comes to rest, in which each module was built at most
// once more. What can be built then is, against just what is given; and what is
// not says why.
func TestTheMeshComesToRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRest(t, rapid.IntRange(2, 7).Draw(t, "modules"))
		for range rapid.IntRange(20, 80).Draw(t, "things that happen") {
			r.happens()
		}
		for _, name := range r.names() { // the forges answer again
			if s := &r.facts[name].Source; s.Commit != "" {
				s.State, s.Why = source.Read, ""
			}
		}
		r.rests()
		for _, name := range r.names() {
			r.right(name)
		}
	})
}

// However many modules are added, and in whatever order they are read, each is
// built once: what was asked for before that is taken back, but for what a builder
// had taken meanwhile.
func TestModulesThatAreAddedAreBuiltOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRest(t, rapid.IntRange(2, 30).Draw(t, "modules"))
		names := rapid.Permutation(r.names()).Draw(t, "order")
		taken := 0
		for i, name := range names {
			n := nature{Library: "x"}
			for _, other := range r.names() { // as they are numbered, there is no circle
				if len(other) < len(name) || len(other) == len(name) && other < name {
					if rapid.IntRange(0, len(names)/3).Draw(t, "imports "+other) == 0 {
						n.Imports = append(n.Imports, other)
					}
				}
			}
			slices.Sort(n.Imports)
			r.now = r.now.Add(time.Second)
			r.commits(name, n)
			for _, read := range names[:i+1] {
				r.compares(read)
			}
			if rapid.IntRange(0, 4).Draw(t, "taken") == 0 && r.takes(rapid.SampledFrom(names).Draw(t, "which")) {
				taken++
			}
		}
		r.rests()
		built := 0
		for _, f := range r.facts {
			for _, a := range f.Asked {
				if a.State == delivery.Done {
					built++
				}
			}
			if delivery.CurrentBuild(r.with(f.Module)) == nil {
				t.Fatalf("%s is not built", f.Module)
			}
		}
		if built > len(names)+taken {
			t.Fatalf("%d modules were built %d times, and %d requests were taken before all was known", len(names), built, taken)
		}
	})
}

// rests lets the mesh go on until nothing is left to do but to try again what fails.
func (r *rest) rests() {
	asked := map[string]int{}
	for range len(r.facts) + 2 { // a round for each module that waits for another, in the worst order
		idle := true
		names := r.names()
		slices.Reverse(names)
		for _, name := range names {
			if d := r.compares(name); d.Ask != nil && d.Ask.Attempt == 1 {
				asked[name]++
				idle = false
			}
		}
		for _, name := range names {
			for r.answers(name) {
				idle = false
			}
		}
		r.now = r.now.Add(7 * time.Hour) // longer than any pause between two attempts
		if idle {
			break
		}
	}
	for name, n := range asked {
		if n > 1 {
			r.t.Fatalf("%s was asked for %d times, of one thing and another, and no source has moved", name, n)
		}
	}
	for _, name := range r.names() {
		if d := r.compares(name); d.Ask != nil && !r.source[name].Broken {
			r.t.Fatalf("there is no rest: %s is asked for, %+v", name, d.Ask)
		}
	}
}

// right holds a module at rest against what its source and those of the others say.
func (r *rest) right(name string) {
	f := r.with(name)
	d, current, stale := delivery.Compare(f, r.now), delivery.CurrentBuild(f), delivery.Stale(f)
	want, why := r.want(name)
	switch {
	case current != nil && current.Gone:
		r.t.Fatalf("%s is current, and the registry has lost it", name)
	case why != "" && current != nil:
		r.t.Fatalf("%s is current, and %s", name, why)
	case why != "" && len(d.Waiting) == 0 && d.Ask == nil:
		r.t.Fatalf("%s is not current, since %s, and nothing is said", name, why)
	case why == "" && current == nil:
		r.t.Fatalf("%s could be built, and is not: %s", name, says(d))
	case why == "" && (len(stale) > 0 || !slices.Equal(current.Manifest.Built.Closure, want)):
		r.t.Fatalf("%s is built against %v, want %v; stale: %v", name, current.Manifest.Built.Closure, want, stale)
	case why != "" && f.Source.Commit != "" && len(stale) == 0 && len(f.Inputs.Lacks) == 0:
		r.t.Fatalf("%s is not current, and nothing is stale", name)
	}
	for _, w := range d.Waiting {
		if w.For == "" || w.Since.IsZero() || w.Since.After(r.now) {
			r.t.Fatalf("%s waits for %q, since %s", name, w.For, w.Since)
		}
	}
}

// leads is every module that one's code leads to, by what is compiled.
func (r *rest) leads(from []string) map[string]bool {
	seen := map[string]bool{}
	for todo := slices.Clone(from); len(todo) > 0; todo = todo[1:] {
		if _, known := r.source[todo[0]]; known && !seen[todo[0]] {
			seen[todo[0]] = true
			todo = append(todo, r.source[todo[0]].Imports...)
		}
	}
	return seen
}

// circular is whether one's tests and imports lead back from another.
func (r *rest) circular(name, from string) bool {
	seen := map[string]bool{}
	for todo := []string{from}; len(todo) > 0; todo = todo[1:] {
		if todo[0] == name {
			return true
		}
		if !seen[todo[0]] {
			seen[todo[0]] = true
			n := r.source[todo[0]]
			todo = append(append(todo, n.Imports...), n.Tests...)
		}
	}
	return false
}

// want is what a module has to be built against in the end, or why it cannot be
// built: out of the sources alone, by definition.
func (r *rest) want(name string) (inputs []manifest.Input, why string) {
	n, read := r.source[name]
	if !read {
		return nil, "it was never read"
	}
	if n.Broken {
		return nil, "it does not build"
	}
	direct := slices.Clone(n.Imports)
	for _, to := range n.Tests {
		if _, known := r.source[to]; known && !r.circular(name, to) {
			direct = append(direct, to)
		}
	}
	laid := r.leads(direct)
	for _, to := range slices.Sorted(maps.Keys(laid)) {
		if r.leads(r.source[to].Imports)[to] {
			return nil, to + " is in a circle"
		}
	}
	inputs = []manifest.Input{}
	for _, to := range slices.Sorted(maps.Keys(laid)) {
		is := r.source[to]
		if _, lacks := r.want(to); lacks != "" {
			return nil, strings.Join([]string{to, lacks}, ": ")
		}
		if is.Unfit || is.Bare {
			return nil, to + " is unfit, or no library"
		}
		inputs = append(inputs, manifest.Input{Module: to, Artifact: "lib", Digest: libraryOf(to, is)})
	}
	return inputs, ""
}
