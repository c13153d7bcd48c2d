package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/graph"
	"noxmesh/manifest"
)

// Facts is everything that decides what one node should be.
type Facts struct {
	Mesh     string
	Node     mesh.Node
	Assigned []mesh.Assignment // those of other nodes have no part in it
	Stays    []string          // what is declared here and stays until somebody decides, though nothing assigned needs it
	Modules  []Module          // all that the mesh knows
	There    []string          // the names that something provides for the whole mesh which is declared on some node
	Can      *[]string         // the capabilities of the node, sorted; nil where it has not said
	Had      []string          // the modules that the node was last declared to have
	Host     string            // the version of the host that said what the node can; empty where it has not said
	Version  string            // of this program, of which a host keeps all that is known here
	Registry string            // where the bytes are; has no part in the digest
	Secrets  Secrets           // that are sealed to this node
}

// Secrets is sealed values by module and by name.
type Secrets map[string]map[string]Sealed

// Sealed is a value that one node alone can open.
type Sealed struct {
	Version int64
	Text    string
}

// Module is what is known of one module, as this node sees it.
type Module struct {
	Name     string
	Declared *artifact.Build  // on this node; nil where nothing is
	Before   *artifact.Build  // what the node has of it, where its host is too old for what is declared; nil where that is not known
	Source   *manifest.Source // as last read; nil where it never was
}

// Plan is what one node should be.
type Plan struct {
	Body    declaration.Body
	Where   declaration.Where
	Wanted  []string // the modules that belong here, providers first, those that cannot be worked out included
	LeftOut []Reason // new to the node and not worked out; the rest goes on without them
	Held    []Reason // the node has it and it cannot be worked out: nothing is sent

	Versions map[string]map[string]int64 // by the id of a file, of the secrets in it: which of each
	Unheard  bool                        // some of what is left out waits for what the node has to say of itself
}

// Reason is why one module cannot be worked out. Since is of the record, and no
// part of a plan.
type Reason struct {
	Module string    `json:"module"`
	Why    string    `json:"why"`
	Host   string    `json:"host,omitempty"` // the version of mesh-host that keeps it: the node's is another, and does not
	Since  time.Time `json:"since,omitzero"`
}

// NotDeclared is why a module is not worked out of which somebody has yet to
// declare a build: nothing stands against it.
const NotDeclared = "no build of it is declared here"

// Compile is what the node should be by these facts.
func Compile(f Facts) Plan {
	c := newCompiler(f)
	for _, name := range c.inTurn() {
		c.settle(name)
	}
	c.write()
	byModule := func(a, b Reason) int { return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Why, b.Why)) }
	slices.SortFunc(c.plan.LeftOut, byModule)
	slices.SortFunc(c.plan.Held, byModule)
	return c.plan
}

// Belong is the modules that belong on a node with these assignments, providers
// first, and what stands against some of them. What is declared on the node
// counts before what its source says: a commit that requires or provides more
// changes nothing until it is declared. There is as in Facts.
func Belong(modules []Module, there, roots []string) ([]string, []graph.Problem) {
	return graphOf(modules, there).Closure(roots)
}

func graphOf(modules []Module, there []string) *graph.Graph {
	known := make([]graph.Module, 0, len(modules))
	for _, m := range modules {
		if b, any := m.counts(); any {
			known = append(known, graph.Module{
				Name: m.Name, Provides: manifest.Scoped(b.Provides, manifest.NodeScope), Offers: manifest.Scoped(b.Provides, manifest.MeshScope),
				Requires: b.Requires, Here: m.Declared != nil,
			})
		}
	}
	return graph.New(known, there)
}

// counts is what is known of the module here: what is declared on the node
// before what its source says.
func (m Module) counts() (b manifest.Built, any bool) {
	switch {
	case m.Declared != nil:
		return m.Declared.Manifest, true
	case m.Source != nil:
		return outline(*m.Source), true
	}
	return b, false
}

type compiler struct {
	facts    Facts
	graph    *graph.Graph
	modules  map[string]Module
	had      map[string]bool
	settings map[string]map[string]string // of the modules that are assigned
	bad      map[string]bool              // there is a reason
	worked   map[string]*worked
	ground   ground
	room     room
	plan     Plan
}

func newCompiler(f Facts) *compiler {
	c := &compiler{
		facts: f, modules: map[string]Module{}, had: map[string]bool{},
		settings: map[string]map[string]string{}, bad: map[string]bool{}, worked: map[string]*worked{}, ground: newGround(),
	}
	for _, name := range f.Had {
		c.had[name] = true
	}
	stay := c.stay()
	for _, m := range c.facts.Modules {
		c.modules[m.Name] = m
	}
	c.graph = graphOf(c.facts.Modules, f.There)
	for _, a := range f.Assigned {
		if a.Node == f.Node.ID {
			c.settings[a.Module] = a.Settings
		}
	}
	order, problems := c.graph.Closure(slices.AppendSeq(slices.Clone(f.Stays), maps.Keys(c.settings)))
	c.plan.Wanted = order
	for _, name := range order {
		if r, is := stay[name]; is {
			c.plan.LeftOut = append(c.plan.LeftOut, r)
		}
	}
	for _, p := range problems {
		c.cannot(p.Module, p.Why)
	}
	return c
}

// cannot files a reason: a module that the node already has holds everything back.
func (c *compiler) cannot(module, why string) { c.file(module, lack{why: why}) }

func (c *compiler) file(module string, l lack) {
	c.bad[module] = true
	r := Reason{Module: module, Why: l.why, Host: l.host}
	if c.had[module] {
		c.plan.Held = append(c.plan.Held, r)
		return
	}
	c.plan.LeftOut = append(c.plan.LeftOut, r)
}

// inTurn is the order in which modules take what they claim: those that the
// node has, and what they need, before those that are new to it; among these as
// among those, providers first.
func (c *compiler) inTurn() []string {
	first := map[string]bool{}
	var next []string
	for _, name := range c.plan.Wanted {
		if c.had[name] {
			next = append(next, name)
		}
	}
	for len(next) > 0 {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		if !first[name] {
			first[name] = true
			next = append(next, c.providers(name)...)
		}
	}
	turn := make([]string, 0, len(c.plan.Wanted))
	for _, now := range []bool{true, false} {
		for _, name := range c.plan.Wanted {
			if first[name] == now {
				turn = append(turn, name)
			}
		}
	}
	return turn
}

// providers is what a module's requirements are met by, other modules each once.
func (c *compiler) providers(name string) []string {
	var out []string
	for _, need := range requires(c.modules[name]) {
		if p, why := c.graph.Provider(need); why == "" && p != "" && p != name {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// requires is what a module needs on this node.
func requires(m Module) []string {
	b, _ := m.counts()
	return b.Requires
}

// settle works one module out whole, or names why it cannot be.
func (c *compiler) settle(name string) {
	if c.bad[name] {
		return
	}
	if l := cmp.Or(lack{why: c.needs(name)}, c.cannotDo(name).and(c.lacksSecrets(name))); l.why != "" {
		c.file(name, l)
		return
	}
	b := c.modules[name].Declared
	if b == nil {
		c.cannot(name, NotDeclared)
		return
	}
	for _, p := range c.providers(name) {
		if c.worked[p] == nil {
			c.cannot(name, fmt.Sprintf("requires %q, which is not worked out", p))
			return
		}
	}
	w := &worked{module: name, build: b, sealed: c.facts.Secrets[name]}
	for _, stands := range []func() string{
		func() string { return w.work(c.values(name, b.Manifest)) },
		func() string { return c.ground.conflict(w) },
		func() string { return c.room.lacks(w) },
	} {
		if why := stands(); why != "" {
			c.cannot(name, why)
			return
		}
	}
	c.ground.take(w)
	c.room.take(w)
	c.worked[name] = w
}

// write puts what is worked out into the plan, providers first.
func (c *compiler) write() {
	c.plan.Body = declaration.Body{Modules: []declaration.Module{}, Resources: []declaration.Resource{}}
	c.plan.Where = declaration.Where{Registry: c.facts.Registry}
	for _, name := range c.plan.Wanted {
		if w := c.worked[name]; w != nil {
			c.plan.Body.Modules = append(c.plan.Body.Modules, declaration.Module{Module: name, Content: w.build.Content})
			c.plan.Body.Resources = append(c.plan.Body.Resources, w.resources...)
			merge(&c.plan.Where, w.where)
			c.versions(w)
		}
	}
	after(c.plan.Body.Resources)
}

// Needs is what becomes of the requirements of each of these modules, by name.
func Needs(modules []Module, there []string) []graph.Need {
	g := graphOf(modules, there)
	var all []graph.Need
	for _, m := range modules {
		all = append(all, g.Needs(m.Name)...)
	}
	return all
}

// Way is the chain of requirements that brings a module to where these roots
// are, as Belong has it; false where nothing does.
func Way(modules []Module, there, roots []string, to string) ([]graph.Need, bool) {
	return graphOf(modules, there).Way(roots, to)
}
