package controller

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	"noxmesh/delivery/environment"
	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports/spoken"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/db"
	"noxmesh/internal/planted"
	"noxmesh/inventory"
	"noxmesh/plan"
	"noxmesh/report"
	"noxmesh/trouble"
)

// view is the record at one revision, as the rules want to see it. What it
// hands out is never changed afterwards: a newer fact takes its place.
type view struct {
	mesh     string
	registry string
	platform string
	version  string // of this controller

	modules  map[string]*moduleView // with those that left and whose builds are kept
	names    []string               // of the modules that the mesh knows, sorted
	made     map[document.Digest]*artifact.Build
	nodes    map[string]*nodeView // by id
	ids      []string             // of the nodes, in the order of their names
	byName   map[string]string    // the ids
	builders []identitystore.BuilderRow
	called   map[string]string // the names of builders by id, those that have left too
	troubles map[string]trouble.Trouble
	images   map[string]environment.Image // that modules are built in, by key

	code     *graph.Builds
	places   places
	unlooked []unlooked      // the modules that nobody has looked at yet, the last to come first
	touched  map[string]bool // the modules of which source, code or builds have moved
	known    *plan.Known
	asks     map[string]map[string]bool // by name: the nodes whose plans may depend on what it means
	astray   map[string]bool            // the nodes with a finding against the record
	dirty    map[string]bool            // the nodes of which belong is to be worked out again
	afar     map[string]bool            // those of them for which what is declared on another node has moved
}

// moduleView is what the record holds of one module.
type moduleView struct {
	row    deliverystore.ModuleRow
	known  bool // the mesh has it now
	source source.Source
	bases  []string   // the names with a tag that its container files stand on, sorted
	images []string   // the keys of what it asks to be built in and stands on; none where nothing is to be looked up
	code   graph.Code // what the graph has of it
	builds []artifact.Build
	asked  []delivery.Asked
	writes []delivery.Write
	on     map[string]bool // the nodes that it belongs on

	unlooked *unlooked                       // as it stands among those that nobody has looked at yet
	inputs   atomic.Pointer[delivery.Inputs] // nil: not worked out since something of it has moved
}

// nodeView is what the record holds of one node.
type nodeView struct {
	inventory.Node
	assigned []mesh.Assignment
	declared map[string]document.Digest    // by module: the build
	applied  map[document.Digest]time.Time // when each content was first reported as applied
	secrets  []inventory.Secret            // that are sealed to it, by module and name
	belong   []string                      // the modules that belong on it, providers first
	asked    []string                      // every name whose meaning decided that
	noted    map[string]trouble.Trouble    // by module: why it could not be worked out, as recorded
	worked   atomic.Pointer[workedOut]     // nil: not worked out since something of it has moved
}

// workedOut is a node's plan without its resources.
type workedOut struct {
	digest  document.Digest // of the whole body; empty where something is held
	empty   bool            // no module is in it
	unheard bool            // what is left out waits for what the node has to say of itself
	wanted  []string
	leftOut []plan.Reason
	held    []plan.Reason
}

func newView(meshID, registry, platform, version string) *view {
	return &view{
		mesh: meshID, registry: registry, platform: platform, version: version,
		modules: map[string]*moduleView{}, made: map[document.Digest]*artifact.Build{}, nodes: map[string]*nodeView{},
		byName: map[string]string{}, called: map[string]string{}, troubles: map[string]trouble.Trouble{}, images: map[string]environment.Image{},
		code: graph.NewBuilds(spoken.Languages()), places: places{}, touched: map[string]bool{},
		known: plan.NewKnown(), asks: map[string]map[string]bool{}, astray: map[string]bool{}, dirty: map[string]bool{}, afar: map[string]bool{},
	}
}

const byPolicy = delivery.ByPolicy

// near is the modules that have a part in what this node should be, as it sees them.
func (v *view) near(n *nodeView) ([]plan.Module, []string) {
	return v.known.Near(roots(n.assigned), v.declaredOn(n.declared))
}

// capabilities is what a node has said that it has, its architecture among it;
// nil where it has not said.
func capabilities(r *report.Report) *[]string {
	if r == nil || r.Facts == nil {
		return nil
	}
	can := slices.Clone(r.Facts.Capabilities)
	if r.Facts.Arch != "" {
		can = append(can, r.Facts.Arch)
	}
	slices.Sort(can)
	can = slices.Compact(can)
	return &can
}

func roots(assigned []mesh.Assignment) []string {
	out := make([]string, 0, len(assigned))
	for _, a := range assigned {
		out = append(out, a.Module)
	}
	return out
}

func (v *view) declaredOn(declared map[string]document.Digest) map[string]*artifact.Build {
	out := make(map[string]*artifact.Build, len(declared))
	for module, id := range declared {
		if b := v.made[id]; b != nil {
			out[module] = b
		}
	}
	return out
}

// plan is what one node should be.
func (v *view) plan(n *nodeView) plan.Plan {
	modules, asked := v.near(n)
	return plan.Compile(v.planFacts(n, modules, asked))
}

func (v *view) planFacts(n *nodeView, modules []plan.Module, asked []string) plan.Facts {
	f := plan.Facts{
		There: v.known.There(asked), Can: capabilities(n.Report), Host: reporter(n.Report), Version: v.version,
		Mesh: v.mesh, Node: mesh.Node{ID: n.ID, Name: n.Name}, Assigned: n.assigned, Stays: slices.Collect(maps.Keys(n.declared)),
		Modules: modules, Had: n.Had, Registry: v.registry,
		Secrets: sealedTo(n.secrets),
	}
	for i := range f.Modules {
		if m := &f.Modules[i]; m.Declared != nil && f.Outgrown(m.Declared.Manifest) {
			m.Before = v.before(n, m.Name)
		}
	}
	return f
}

// inShort is the node's plan in short. It is worked out once for each change.
func (v *view) inShort(n *nodeView) (*workedOut, error) {
	if w := n.worked.Load(); w != nil {
		return w, nil
	}
	_, w, err := v.inFull(n)
	return w, err
}

// inFull is the node's plan, and the same in short.
func (v *view) inFull(n *nodeView) (plan.Plan, *workedOut, error) {
	p := v.plan(n)
	w := n.worked.Load()
	if w == nil {
		var err error
		if w, err = shorten(n.ID, p); err != nil {
			return p, nil, err
		}
		n.worked.Store(w)
	}
	return p, w, nil
}

func shorten(node string, p plan.Plan) (*workedOut, error) {
	w := &workedOut{empty: len(p.Body.Modules) == 0, unheard: p.Unheard, wanted: p.Wanted, leftOut: p.LeftOut, held: p.Held}
	if len(p.Held) > 0 {
		return w, nil
	}
	var err error
	w.digest, err = declaration.Declaration{Node: node, Body: p.Body}.Digest()
	return w, err
}

// of is the digest of what the mesh would send the node now, or empty where it
// wants nothing of it or cannot work it out. A node that has accepted something
// is told that nothing is wanted, also where the record never issued it; and so
// is one that has to say first what it can: its report of nothing says it.
func (w *workedOut) of(n inventory.Node) document.Digest {
	if w.empty && !w.unheard && n.Wanted == (declaration.Tuple{}) && n.Accepted == (declaration.Tuple{}) {
		return ""
	}
	return w.digest
}

// facts is what is known of one module.
func (v *view) facts(m deliverystore.ModuleRow) delivery.Facts {
	is, nodes := v.modules[m.Name], v.nodesOf(m.Name)
	f := delivery.Facts{
		Module: m.Name, AddedAt: m.AddedAt, Policy: delivery.Policy(m.Policy), Source: is.source, Builds: is.builds,
		Asked: is.asked, Nodes: nodes, Writes: is.writes, Platform: v.platform,
		Declared: make(map[string]document.Digest, len(nodes)), Names: v.called, In: v.wanted(is.source), Bases: v.bases(is), Inputs: v.inputsOf(m.Name),
	}
	if f.In.Owner != "" {
		f.In.Made = f.Inputs.Environment
	}
	if len(is.builds)+len(is.asked) == 0 {
		f.Unlooked = v.mayOwn(m.Name)
	}
	for _, node := range f.Nodes { // what is declared where it does not belong is in no declaration
		if b, ok := v.nodes[node].declared[m.Name]; ok {
			f.Declared[node] = b
		}
	}
	for _, b := range is.builds {
		if !b.Gone {
			continue
		}
		if _, lacks := v.laidAgain(b); lacks != "" {
			if f.Lacking == nil {
				f.Lacking = map[document.Digest]string{}
			}
			f.Lacking[b.ID] = lacks
		}
	}
	for _, b := range v.builders {
		f.Builders = append(f.Builders, delivery.Builder{ID: b.ID, Name: b.Name, Platform: b.Platform, Sandbox: b.Sandbox, Unwell: b.Unwell})
	}
	return f
}

// laidAgain is what is laid out to make a build again, or else what of it is not to be had.
func (v *view) laidAgain(b artifact.Build) ([]build.Laid, string) {
	return delivery.LaidAgain(b.Manifest.Built.Closure, func(module string) []artifact.Build {
		if m := v.modules[module]; m != nil {
			return m.builds
		}
		return nil
	})
}

// inputsOf is what a module would be built against now.
func (v *view) inputsOf(module string) delivery.Inputs {
	is := v.modules[module]
	if in := is.inputs.Load(); in != nil {
		return *in
	}
	f := delivery.Facts{Module: module, AddedAt: is.row.AddedAt, Source: is.source, In: v.wanted(is.source), Bases: v.bases(is)}
	in := delivery.InputsOf(f, v.code.Laid(module), v.given)
	if planted.Is("a closure without its inputs") {
		in = delivery.Inputs{}
	}
	is.inputs.Store(&in)
	return in
}

// given is what a module gives to others. What they are built against is in no
// circle, so that this ends.
func (v *view) given(module string) delivery.Given {
	is := v.modules[module]
	return delivery.Given{Module: module, Facts: delivery.Facts{
		Module: module, AddedAt: is.row.AddedAt, Source: is.source, Builds: is.builds, Platform: v.platform, In: v.wanted(is.source), Bases: v.bases(is), Inputs: v.inputsOf(module),
	}}
}

// nodesOf is the ids of the nodes that a module belongs on, in the order of their names.
func (v *view) nodesOf(module string) []string {
	is := v.modules[module]
	if is == nil {
		return nil
	}
	on := make([]*nodeView, 0, len(is.on))
	for id := range is.on {
		on = append(on, v.nodes[id])
	}
	slices.SortFunc(on, func(a, b *nodeView) int { return strings.Compare(a.Name, b.Name) })
	ids := make([]string, len(on))
	for i, n := range on {
		ids[i] = n.ID
	}
	return ids
}

func (v *view) module(name string) (deliverystore.ModuleRow, error) {
	if m := v.modules[name]; m != nil && m.known {
		return m.row, nil
	}
	return deliverystore.ModuleRow{}, db.Missing("module", name, v.names)
}

// source is what is known of a module's source.
func (v *view) source(module string) source.Source {
	if m := v.modules[module]; m != nil {
		return m.source
	}
	return source.Source{}
}

// node is a node by id or name.
func (v *view) node(name string) (*nodeView, error) {
	if n := v.nodes[name]; n != nil {
		return n, nil
	}
	if n := v.nodes[v.byName[name]]; n != nil {
		return n, nil
	}
	return nil, db.Missing("node", name, slices.Collect(maps.Keys(v.byName)))
}

func (v *view) nodeName(id string) string {
	if n := v.nodes[id]; n != nil {
		return n.Name
	}
	return id
}

// inOrder is the nodes in the order of their names.
func (v *view) inOrder() []*nodeView {
	out := make([]*nodeView, len(v.ids))
	for i, id := range v.ids {
		out[i] = v.nodes[id]
	}
	return out
}

// recovering is why nothing is declared at all, or empty: a node has accepted
// what this record never issued, so that the record is not the newest.
func (v *view) recovering() string {
	if len(v.astray) == 0 || planted.Is("a restored controller goes on declaring") {
		return ""
	}
	var who []string
	for id := range v.astray {
		who = append(who, v.nodes[id].Name+" "+v.nodes[id].Finding)
	}
	slices.Sort(who)
	return strings.Join(who, "; ")
}
