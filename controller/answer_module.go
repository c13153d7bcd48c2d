package controller

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	mesh "noxmesh"
	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/manifest"
	troublestore "noxmesh/trouble/store"
)

func (c *Controller) answerModuleAdd(ctx context.Context, who api.Who, in api.ModuleAddIn) (api.ModuleOut, error) {
	m := mesh.Module{Name: in.Module, Repository: in.Repository, Ref: in.Ref, Folder: in.Folder}
	if err := c.checkModule(m); err != nil {
		return api.ModuleOut{}, err
	}
	var row deliverystore.ModuleRow
	already := false
	err := c.write(ctx, func(tx *db.Tx) (err error) {
		row, err = deliverystore.Module(tx, in.Module)
		if already = err == nil; already {
			return sameModule(row.Module, m)
		}
		if err = deliverystore.AddModule(tx, m, who.Name, clock.Now()); err != nil {
			return err
		}
		row, err = deliverystore.Module(tx, in.Module)
		return err
	})
	if err != nil {
		return api.ModuleOut{}, err
	}
	c.sources.Nudge(in.Module)
	out := moduleOut(row)
	out.Already = already
	return out, nil
}

// sameModule refuses a module that is to be added though one of its name is there
// and comes from elsewhere, and says what differs.
func sameModule(is, wanted mesh.Module) error {
	var differs []string
	if !git.Same(is.Repository, wanted.Repository) {
		differs = append(differs, fmt.Sprintf("its repository is %q, not %q", is.Repository, wanted.Repository))
	}
	for _, d := range []struct{ what, is, wanted, none string }{
		{"ref", is.Ref, wanted.Ref, "the default branch"}, {"folder", is.Folder, wanted.Folder, "the root"},
	} {
		if d.is != d.wanted {
			differs = append(differs, fmt.Sprintf("its %s is %s, not %s", d.what, quotedOr(d.is, d.none), quotedOr(d.wanted, d.none)))
		}
	}
	if len(differs) == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "there is a module %q already: %s", is.Name, strings.Join(differs, "; ")).
		With("mesh module remove %s takes it out of the mesh; or give this one another name", is.Name)
}

func quotedOr(s, none string) string {
	if s == "" {
		return none
	}
	return strconv.Quote(s)
}

// checkModule refuses a place that the mesh would never read, before it is recorded.
func (c *Controller) checkModule(m mesh.Module) error {
	if !mesh.ValidModuleName(m.Name) {
		return fault.New(fault.Invalid, "%q is not a module's name", m.Name).With("lower-case letters, digits and inner hyphens, at most 63")
	}
	if err := git.CheckURL(m.Repository, c.allow()); err != nil {
		return err
	}
	if m.Ref != "" {
		if err := git.CheckRef(m.Ref); err != nil {
			return err
		}
	}
	return manifest.CheckFolder(m.Folder)
}

func moduleOut(m deliverystore.ModuleRow) api.ModuleOut {
	return api.ModuleOut{
		Module: m.Name, Repository: m.Repository, Ref: m.Ref, Folder: m.Folder,
		Policy: m.Policy, AddedBy: m.AddedBy, AddedAt: m.AddedAt,
	}
}

func (c *Controller) answerModules(ctx context.Context, _ api.Who, _ api.Nothing) (api.ModulesOut, error) {
	out := api.ModulesOut{Modules: []api.ModuleOut{}}
	err := c.db.Read(ctx, func(tx *db.Tx) error {
		rows, err := deliverystore.Modules(tx)
		for _, m := range rows {
			out.Modules = append(out.Modules, moduleOut(m))
		}
		return err
	})
	return out, err
}

func (c *Controller) answerModule(ctx context.Context, _ api.Who, in api.ModuleIn) (api.ModuleShowOut, error) {
	var writes []deliverystore.DeclareWrite
	err := c.db.Read(ctx, func(tx *db.Tx) (err error) {
		writes, err = deliverystore.DeclareWrites(tx, in.Module, 20)
		return err
	})
	if err != nil {
		return api.ModuleShowOut{}, err
	}
	var out api.ModuleShowOut
	err = c.with(ctx, func(v *view) error {
		m, err := v.module(in.Module)
		if err != nil {
			return err
		}
		s := c.seen(v.source(m.Name))
		out = api.ModuleShowOut{
			ModuleOut: moduleOut(m), Status: c.moduleStatus(v, m, c.statusOf(v), clock.Now()),
			Provides: manifest.Scoped(s.Manifest.Provides, manifest.NodeScope), Offers: manifest.Scoped(s.Manifest.Provides, manifest.MeshScope),
			Requires: s.Manifest.Requires, Instances: v.instances(s.Manifest), Grants: grants(s.Manifest), Claims: s.Manifest.Claims,
			Capabilities: s.Manifest.Capabilities, Summary: s.Manifest.Summary, Writes: []api.Write{},
		}
		for _, w := range writes {
			one := api.Write{Build: string(w.Build), By: w.By, At: w.At, Why: w.Why, Nodes: names(v, w.Nodes)}
			if b := v.made[w.Build]; b != nil {
				one.Commit = b.Manifest.Built.Commit
			}
			out.Writes = append(out.Writes, one)
		}
		return nil
	})
	return out, err
}

func names(v *view, ids []string) []string {
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, v.nodeName(id))
	}
	return out
}

func (c *Controller) answerModuleRemove(ctx context.Context, _ api.Who, in api.ModuleIn) (api.Nothing, error) {
	err := c.with(ctx, func(v *view) error {
		if _, err := v.module(in.Module); err != nil {
			return err
		}
		if on := v.nodesOf(in.Module); len(on) > 0 {
			return fault.New(fault.Conflict, "module %q belongs on %s", in.Module, strings.Join(names(v, on), ", ")).
				With("mesh unassign it, or what requires it, first; that also removes what it put there")
		}
		return nil
	})
	if err != nil {
		return api.Nothing{}, err
	}
	err = c.write(ctx, func(tx *db.Tx) error {
		if err := deliverystore.RemoveModule(tx, in.Module, clock.Now()); err != nil {
			return err
		}
		if err := inventorystore.ForgetSecrets(tx, in.Module); err != nil {
			return err
		}
		return troublestore.Clear(tx, forgedKey(in.Module))
	})
	c.hooks.forget(in.Module)
	c.turns.Delete(in.Module)
	c.declares.NudgeAll()
	return api.Nothing{}, err
}

// answerLook looks at a module now, whatever it was backing off from. Where that
// is asked for, a build that failed or was given up is asked for again.
func (c *Controller) answerLook(ctx context.Context, _ api.Who, in api.LookIn) (out api.LookOut, err error) {
	m, f, _, err := c.factsOf(ctx, in.Module)
	if err != nil {
		return out, err
	}
	if in.Again {
		if a := delivery.AskAgain(f); a != nil {
			if err := c.ask(ctx, m, f, *a); err != nil {
				return out, err
			}
			out.Attempt = a.Attempt
		}
	}
	c.sources.Forgive(in.Module)
	c.builds.Forgive(in.Module)
	return out, c.forgiveImage(ctx, in.Module)
}

func (c *Controller) answerPolicy(ctx context.Context, who api.Who, in api.PolicyIn) (api.ModuleOut, error) {
	if _, ok := delivery.ParsePolicy(in.Policy); !ok {
		return api.ModuleOut{}, fault.New(fault.Invalid, "no policy %q", in.Policy).
			With("manual: a person declares each build. auto: a fit build is declared at once")
	}
	var row deliverystore.ModuleRow
	err := c.write(ctx, func(tx *db.Tx) (err error) {
		if err = deliverystore.SetPolicy(tx, in.Module, in.Policy, who.Name, clock.Now()); err != nil {
			return err
		}
		row, err = deliverystore.Module(tx, in.Module)
		return err
	})
	c.builds.Nudge(in.Module)
	return moduleOut(row), err
}

// answerDeclare is one write for all the nodes it concerns.
func (c *Controller) answerDeclare(ctx context.Context, who api.Who, in api.DeclareIn) (api.DeclareOut, error) {
	out := api.DeclareOut{Module: in.Module, Nodes: []string{}, Already: []string{}}
	var b artifact.Build
	var ids []string
	err := c.with(ctx, func(v *view) (err error) {
		if why := v.recovering(); why != "" {
			return fault.New(fault.Conflict, "nothing is declared: %s", why).With("mesh-controller recover says what to do")
		}
		b, ids, err = chosen(v, in, &out)
		return err
	})
	if err != nil || len(ids) == 0 {
		return out, err
	}
	return out, c.declare(ctx, deliverystore.DeclareWrite{Module: in.Module, Build: b.ID, Nodes: ids, By: who.Name, At: clock.Now(), Why: in.Why})
}

// chosen is the build and the nodes that a person means, and says in out what that is.
func chosen(v *view, in api.DeclareIn, out *api.DeclareOut) (b artifact.Build, ids []string, err error) {
	m, err := v.module(in.Module)
	if err != nil {
		return b, nil, err
	}
	f := v.facts(m)
	found, err := chosenBuild(f, in.Build)
	if err != nil {
		return b, nil, err
	}
	nodes, err := chosenNodes(v, f, in.Nodes)
	if err != nil {
		return b, nil, err
	}
	b = *found
	out.Build, out.Commit, out.Verdict = string(b.ID), b.Manifest.Built.Commit, b.Verdict.String()
	for _, n := range nodes {
		if f.Declared[n.ID] == b.ID {
			out.Already = append(out.Already, n.Name)
			continue
		}
		ids, out.Nodes = append(ids, n.ID), append(out.Nodes, n.Name)
	}
	return b, ids, nil
}

// chosenBuild is the build that a person asked for, if it may be declared.
func chosenBuild(f delivery.Facts, named string) (*artifact.Build, error) {
	b := delivery.CurrentBuild(f)
	if named != "" {
		var err error
		if b, err = namedBuild(f, named); err != nil {
			return nil, err
		}
	}
	if b == nil {
		d := delivery.Compare(f, clock.Now())
		why := "nothing has been built from its source yet"
		if len(d.Waiting) > 0 {
			why = "it waits for " + d.Waiting[len(d.Waiting)-1].For
		}
		return nil, fault.New(fault.Conflict, "declare %q: no build of its current source: %s", f.Module, why).
			With("mesh builds %s shows what has been built; --build declares an older one", f.Module)
	}
	if !b.Verdict.Eligible() {
		return nil, fault.New(fault.Conflict, "declare %q: build %s is %s", f.Module, b.ID.Short(), b.Verdict).
			With("mesh logs %s shows why; only a fit build is ever declared", b.Request)
	}
	return b, nil
}

func namedBuild(f delivery.Facts, named string) (*artifact.Build, error) {
	var found []*artifact.Build
	for i, b := range f.Builds {
		if strings.HasPrefix(string(b.ID), named) || strings.HasPrefix(b.ID.Hex(), named) ||
			strings.HasPrefix(b.Manifest.Built.Commit, named) || strings.HasPrefix(b.Request, named) {
			found = append(found, &f.Builds[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, fault.New(fault.NotFound, "no build of %q begins with %q", f.Module, named).With("mesh builds %s lists them", f.Module)
	case 1:
		return found[0], nil
	}
	return nil, fault.New(fault.Invalid, "%d builds of %q begin with %q", len(found), f.Module, named).With("give more of it")
}

func chosenNodes(v *view, f delivery.Facts, named []string) ([]*nodeView, error) {
	var nodes []*nodeView
	belongs := map[string]bool{}
	for _, id := range f.Nodes {
		nodes, belongs[id] = append(nodes, v.nodes[id]), true
	}
	if len(named) == 0 {
		if len(nodes) == 0 {
			return nil, fault.New(fault.Conflict, "declare %q: it belongs on no node", f.Module).With("mesh assign %s NODE", f.Module)
		}
		return nodes, nil
	}
	var chosen []*nodeView
	for _, name := range named {
		n, err := v.node(name)
		if err != nil {
			return nil, err
		}
		if !belongs[n.ID] {
			return nil, fault.New(fault.Conflict, "declare %q: it does not belong on %q", f.Module, n.Name).With("mesh assign %s %s", f.Module, n.Name)
		}
		chosen = append(chosen, n)
	}
	return chosen, nil
}
