package controller

import (
	"context"
	"slices"
	"strings"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/db"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/plan"
)

// view is the record at one moment, as the rules want to see it. Nothing in it
// is changed after it has been read.
type view struct {
	mesh     string
	registry string
	platform string
	modules  []deliverystore.ModuleRow
	sources  map[string]source.Source
	builds   map[string][]artifact.Build // by module
	byID     map[document.Digest]*artifact.Build
	asked    map[string][]delivery.Asked           // by module
	writes   map[string][]delivery.Write           // by module
	declared map[string]map[string]document.Digest // by node, by module: the build
	assigned map[string][]mesh.Assignment          // by node
	nodes    []inventory.Node
	builders []identitystore.BuilderRow
	names    map[string]string // of builders by id, those that have left too

	belongs map[string][]string // by node: what belong has worked out
}

// look reads the whole record in one transaction.
func (c *Controller) look(ctx context.Context) (*view, error) {
	v := &view{mesh: c.mesh, registry: c.at.Registry, platform: c.cfg.Platform}
	return v, c.db.Read(ctx, v.load)
}

func (v *view) load(tx *db.Tx) (err error) {
	if v.modules, err = deliverystore.Modules(tx); err != nil {
		return err
	}
	if v.sources, err = deliverystore.Sources(tx); err != nil {
		return err
	}
	if err = v.loadDelivery(tx); err != nil {
		return err
	}
	if v.nodes, err = inventorystore.Nodes(tx); err != nil {
		return err
	}
	assignments, err := inventorystore.Assignments(tx)
	if err != nil {
		return err
	}
	v.assigned, v.belongs = map[string][]mesh.Assignment{}, map[string][]string{}
	for _, a := range assignments {
		v.assigned[a.Node] = append(v.assigned[a.Node], a)
	}
	if v.builders, err = identitystore.Builders(tx); err != nil {
		return err
	}
	v.names, err = identitystore.BuilderNames(tx)
	return err
}

func (v *view) loadDelivery(tx *db.Tx) error {
	v.builds, v.byID = map[string][]artifact.Build{}, map[document.Digest]*artifact.Build{}
	v.asked, v.writes = map[string][]delivery.Asked{}, map[string][]delivery.Write{}
	for _, m := range v.modules {
		made, err := deliverystore.MadeBuilds(tx, m.Name)
		if err != nil {
			return err
		}
		v.builds[m.Name] = made
		for i := range made {
			v.byID[made[i].ID] = &made[i]
		}
		if v.asked[m.Name], err = deliverystore.Asked(tx, m.Name); err != nil {
			return err
		}
		writes, err := deliverystore.DeclareWrites(tx, m.Name, 0)
		if err != nil {
			return err
		}
		for _, w := range writes {
			v.writes[m.Name] = append(v.writes[m.Name], delivery.Write{ID: w.ID, Build: w.Build, Nodes: w.Nodes, By: w.By, Policy: w.By == byPolicy, At: w.At})
		}
	}
	declared, err := deliverystore.Declared(tx)
	if err != nil {
		return err
	}
	v.declared = map[string]map[string]document.Digest{}
	for _, d := range declared {
		if v.declared[d.Node] == nil {
			v.declared[d.Node] = map[string]document.Digest{}
		}
		v.declared[d.Node][d.Module] = d.Build
	}
	return nil
}

// byPolicy is who declares where no person does.
const byPolicy = "policy auto"

// seen is the modules as one node sees them.
func (v *view) seen(node string) []plan.Module {
	out := make([]plan.Module, 0, len(v.modules))
	for _, m := range v.modules {
		p := plan.Module{Name: m.Name, Declared: v.byID[v.declared[node][m.Name]]}
		if s, ok := v.sources[m.Name]; ok && s.Commit != "" {
			p.Source = &s.Manifest
		}
		out = append(out, p)
	}
	return out
}

// belong is the modules that belong on a node, providers first.
func (v *view) belong(node string) []string {
	if order, worked := v.belongs[node]; worked {
		return order
	}
	var roots []string
	for _, a := range v.assigned[node] {
		roots = append(roots, a.Module)
	}
	order, _ := plan.Belong(v.seen(node), roots)
	v.belongs[node] = order
	return order
}

// nodesOf is the ids of the nodes that a module belongs on.
func (v *view) nodesOf(module string) []string {
	var ids []string
	for _, n := range v.nodes {
		if slices.Contains(v.belong(n.ID), module) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// plan is what one node should be.
func (v *view) plan(n inventory.Node) plan.Plan {
	return plan.Compile(plan.Facts{
		Mesh: v.mesh, Node: mesh.Node{ID: n.ID, Name: n.Name}, Assigned: v.assigned[n.ID],
		Modules: v.seen(n.ID), Had: n.Had, Registry: v.registry,
	})
}

// wanted is the digest of what the mesh would send the node now, or empty where
// it wants nothing of it or cannot work it out.
func wanted(n inventory.Node, p plan.Plan) (document.Digest, error) {
	if len(p.Held) > 0 || (len(p.Body.Modules) == 0 && n.Wanted == declaration.Tuple{}) {
		return "", nil
	}
	return declaration.Declaration{Node: n.ID, Body: p.Body}.Digest()
}

// facts is what is known of one module.
func (v *view) facts(m deliverystore.ModuleRow) delivery.Facts {
	f := delivery.Facts{
		Module: m.Name, AddedAt: m.AddedAt, Policy: delivery.Policy(m.Policy), Source: v.sources[m.Name], Builds: v.builds[m.Name],
		Asked: v.asked[m.Name], Nodes: v.nodesOf(m.Name), Writes: v.writes[m.Name], Platform: v.platform,
		Declared: map[string]document.Digest{}, Names: v.names,
	}
	for _, node := range f.Nodes { // what is declared where it does not belong is in no declaration
		if b, ok := v.declared[node][m.Name]; ok {
			f.Declared[node] = b
		}
	}
	for _, b := range v.builders {
		f.Builders = append(f.Builders, delivery.Builder{ID: b.ID, Name: b.Name, Platform: b.Platform, Sandbox: b.Sandbox})
	}
	return f
}

func (v *view) module(name string) (deliverystore.ModuleRow, error) {
	names := make([]string, 0, len(v.modules))
	for _, m := range v.modules {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return deliverystore.ModuleRow{}, db.Missing("module", name, names)
}

// node is a node by name or id.
func (v *view) node(name string) (inventory.Node, error) {
	names := make([]string, 0, len(v.nodes))
	for _, n := range v.nodes {
		if n.Name == name || n.ID == name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return inventory.Node{}, db.Missing("node", name, names)
}

func (v *view) nodeName(id string) string {
	for _, n := range v.nodes {
		if n.ID == id {
			return n.Name
		}
	}
	return id
}

// recovering is why nothing is declared at all, or empty: a node has accepted
// what this record never issued, so that the record is not the newest.
func (v *view) recovering() string {
	var who []string
	for _, n := range v.nodes {
		if n.Finding != "" {
			who = append(who, n.Name+" "+n.Finding)
		}
	}
	return strings.Join(who, "; ")
}
