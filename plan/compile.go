package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/graph"
	"noxmesh/document"
	"noxmesh/manifest"
)

// Facts is everything that decides what one node should be.
type Facts struct {
	Mesh     string
	Node     mesh.Node
	Assigned []mesh.Assignment // to this node
	Modules  []Module          // all that the mesh knows
	Had      []string          // the modules that the node was last declared to have
	Registry string            // where the bytes are; has no part in the digest
}

// Module is what is known of one module, as this node sees it.
type Module struct {
	Name     string
	Declared *artifact.Build  // on this node; nil where nothing is
	Source   *manifest.Source // as last read; nil where it never was
}

// Plan is what one node should be.
type Plan struct {
	Body    declaration.Body
	Where   declaration.Where
	Wanted  []string // the modules that belong here, providers first, those left out included
	LeftOut []Reason // new to the node and not worked out; the rest goes on without them
	Held    []Reason // the node has it and it cannot be worked out: nothing is sent
}

// Reason is why one module cannot be worked out.
type Reason struct {
	Module string `json:"module"`
	Why    string `json:"why"`
}

// Compile is what the node should be by these facts.
func Compile(f Facts) Plan {
	c := compiler{facts: f, modules: map[string]Module{}, had: map[string]bool{}, settings: map[string]map[string]string{}}
	for _, m := range f.Modules {
		c.modules[m.Name] = m
	}
	for _, name := range f.Had {
		c.had[name] = true
	}
	for _, a := range f.Assigned {
		c.settings[a.Module] = a.Settings
	}
	c.choose()
	c.compile()
	return c.plan
}

// Belong is the modules that belong on a node with these assignments, providers
// first, and what stands against the others. What is declared on the node counts
// before what its source says: a commit that requires more changes nothing until
// it is declared.
func Belong(modules []Module, roots []string) ([]string, []graph.Problem) {
	known := make([]graph.Module, 0, len(modules))
	for _, m := range modules {
		switch {
		case m.Declared != nil:
			known = append(known, graph.Module{Name: m.Name, Provides: m.Declared.Manifest.Provides, Requires: m.Declared.Manifest.Requires})
		case m.Source != nil:
			known = append(known, graph.Module{Name: m.Name, Provides: m.Source.Provides, Requires: m.Source.Requires})
		}
	}
	return graph.New(known).Closure(roots)
}

type compiler struct {
	facts    Facts
	modules  map[string]Module
	had      map[string]bool
	settings map[string]map[string]string
	chosen   []string // to be compiled, providers first
	plan     Plan
}

// choose decides which modules can be worked out as far as the edges go.
func (c *compiler) choose() {
	roots := slices.Sorted(maps.Keys(c.settings))
	order, problems := Belong(c.facts.Modules, roots)
	for _, p := range problems {
		c.cannot(p.Module, p.Why)
	}
	c.plan.Wanted = order
	for _, name := range order {
		if c.modules[name].Declared == nil {
			c.cannot(name, "no build of it is declared here")
			continue
		}
		c.chosen = append(c.chosen, name)
	}
}

// cannot files a reason: a module that the node already has holds everything back.
func (c *compiler) cannot(module, why string) {
	r := Reason{module, why}
	if c.had[module] {
		c.plan.Held = append(c.plan.Held, r)
		return
	}
	c.plan.LeftOut = append(c.plan.LeftOut, r)
}

// compile adds each chosen module whole, or names it.
func (c *compiler) compile() {
	c.plan.Body = declaration.Body{Modules: []declaration.Module{}, Resources: []declaration.Resource{}}
	c.plan.Where = declaration.Where{Registry: c.facts.Registry}
	owner := map[string]string{} // claims and paths, by whom
	for _, name := range c.chosen {
		b := c.modules[name].Declared
		w := worked{module: name, build: b, where: declaration.Where{}}
		if why := w.work(c.values(name, b.Manifest)); why != "" {
			c.cannot(name, why)
			continue
		}
		if why := conflict(owner, w); why != "" {
			c.cannot(name, why)
			continue
		}
		for _, claim := range w.claims {
			owner[claim] = name
		}
		c.plan.Body.Modules = append(c.plan.Body.Modules, declaration.Module{Module: name, Content: b.Content})
		c.plan.Body.Resources = append(c.plan.Body.Resources, w.resources...)
		merge(&c.plan.Where, w.where)
	}
	after(c.plan.Body.Resources)
}

// values is what a module's templates may name.
func (c *compiler) values(module string, m manifest.Built) settingValues {
	v := settingValues{values: map[string]string{"node.id": c.facts.Node.ID, "node.name": c.facts.Node.Name}}
	chosen := c.settings[module]
	for _, name := range slices.Sorted(maps.Keys(m.Settings)) {
		text, why := m.Settings[name].Value(chosen[name])
		if why != "" {
			v.why = fmt.Sprintf("setting %q %s", name, why)
			return v
		}
		v.values["settings."+name] = text
	}
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		if _, ok := m.Settings[name]; !ok {
			v.why = fmt.Sprintf("the assignment sets %q, which the module does not have", name)
		}
	}
	return v
}

type settingValues struct {
	values map[string]string
	why    string
}

func conflict(owner map[string]string, w worked) string {
	for _, claim := range w.claims {
		if by, taken := owner[claim]; taken {
			return fmt.Sprintf("it claims %s, which %q has", claim, by)
		}
	}
	return ""
}

func merge(into *declaration.Where, from declaration.Where) {
	if into.Inline == nil && len(from.Inline) > 0 {
		into.Inline = map[document.Digest]string{}
	}
	if into.Blobs == nil && len(from.Blobs) > 0 {
		into.Blobs = map[document.Digest]declaration.Blob{}
	}
	if into.Archives == nil && len(from.Archives) > 0 {
		into.Archives = map[document.Digest]declaration.Packed{}
	}
	maps.Copy(into.Inline, from.Inline)
	maps.Copy(into.Blobs, from.Blobs)
	maps.Copy(into.Archives, from.Archives)
}

// after says for each resource which earlier ones it needs: those whose path it
// lies in. Everything else is independent, and goes on when another fails.
func after(resources []declaration.Resource) {
	byPath := map[string]string{}
	for i := range resources {
		r := &resources[i]
		for dir := parent(r.Path); dir != "/"; dir = parent(dir) {
			if id, ok := byPath[dir]; ok {
				r.After = append(r.After, id)
			}
		}
		slices.Sort(r.After)
		byPath[r.Path] = r.ID
	}
}

func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/"
	}
	return path[:i]
}
