package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	"noxmesh/api"
	"noxmesh/declaration"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/plan"
	"noxmesh/status"
	"noxmesh/trouble"
	troublestore "noxmesh/trouble/store"
)

// answerStatus is the two comparisons, made when they are asked for.
func (c *Controller) answerStatus(ctx context.Context, _ api.Who, in api.StatusIn) (api.StatusOut, error) {
	out := status.Status{At: clock.Now(), Controller: c.cfg.Version, Modules: []status.Module{}, Nodes: []status.Node{}}
	v, troubles, applied, err := c.lookAll(ctx)
	if err != nil {
		return out, err
	}
	if err := known(v, in); err != nil {
		return out, err
	}
	out.Recovering = v.recovering()
	if why, since := c.unwell.now(); why != "" {
		out.Unwell = &status.Unwell{Why: why, Since: since}
	}
	for _, m := range v.modules {
		if in.Module != "" && in.Module != m.Name {
			continue
		}
		if one := v.moduleStatus(m, troubles, applied, out.At); in.Node == "" || belongsTo(one, in.Node) {
			out.Modules = append(out.Modules, one)
		}
	}
	out.Nodes, err = nodeStatuses(v, in)
	return out, err
}

func nodeStatuses(v *view, in api.StatusIn) ([]status.Node, error) {
	out := []status.Node{}
	for _, n := range v.nodes {
		if in.Node != "" && in.Node != n.Name && in.Node != n.ID {
			continue
		}
		one, err := nodeStatus(v, n)
		if err != nil {
			return out, err
		}
		if in.Module == "" || slices.Contains(one.Modules, in.Module) {
			out = append(out, one)
		}
	}
	return out, nil
}

func known(v *view, in api.StatusIn) error {
	if in.Module != "" {
		if _, err := v.module(in.Module); err != nil {
			return err
		}
	}
	if in.Node != "" {
		if _, err := v.node(in.Node); err != nil {
			return err
		}
	}
	return nil
}

func belongsTo(m status.Module, node string) bool {
	return slices.ContainsFunc(m.Nodes, func(on status.On) bool { return on.Name == node || on.Node == node })
}

// appliedAt is when each node first reported each content as applied.
type appliedAt map[string]map[document.Digest]time.Time

// lookAll is the view with what only status needs.
func (c *Controller) lookAll(ctx context.Context) (*view, []trouble.Trouble, appliedAt, error) {
	v := &view{mesh: c.mesh, registry: c.at.Registry, platform: c.cfg.Platform}
	var troubles []trouble.Trouble
	applied := appliedAt{}
	err := c.db.Read(ctx, func(tx *db.Tx) (err error) {
		if err = v.load(tx); err != nil {
			return err
		}
		if troubles, err = troublestore.All(tx); err != nil {
			return err
		}
		for _, n := range v.nodes {
			on, err := inventorystore.Applied(tx, n.ID)
			if err != nil {
				return err
			}
			applied[n.ID] = map[document.Digest]time.Time{}
			for _, a := range on {
				applied[n.ID][a.Content] = a.At
			}
		}
		return nil
	})
	for name, s := range v.sources {
		if at, ok := c.looked.Load(name); ok {
			s.LookedAt, _ = at.(time.Time)
			v.sources[name] = s
		}
	}
	return v, c.knownTroubles(troubles), applied, err
}

func (v *view) moduleStatus(m deliverystore.ModuleRow, all []trouble.Trouble, applied appliedAt, now time.Time) status.Module {
	f := status.ModuleFacts{Delivery: v.facts(m), Nodes: map[string]inventory.Node{}, AppliedAt: applied}
	for _, n := range v.nodes {
		f.Nodes[n.ID] = n
	}
	for _, t := range all {
		if t.Key == "source/"+m.Name || t.Key == "build/"+m.Name {
			f.Trouble = append(f.Trouble, t)
		}
	}
	return status.OfModule(f, now)
}

func nodeStatus(v *view, n inventory.Node) (status.Node, error) {
	p := v.plan(n)
	want, err := wanted(n, p)
	if err != nil {
		return status.Node{}, err
	}
	return status.OfNode(status.NodeFacts{
		Node: n, Wanted: want, NotWorkedOut: len(p.LeftOut) + len(p.Held), Modules: p.Wanted,
	}), nil
}

// answerPlans is what nodes should be, or why that cannot be worked out.
func (c *Controller) answerPlans(ctx context.Context, _ api.Who, in api.PlansIn) (api.PlansOut, error) {
	out := api.PlansOut{Plans: []status.Plan{}}
	v, err := c.look(ctx)
	if err != nil {
		return out, err
	}
	nodes := v.nodes
	if in.Node != "" {
		n, err := v.node(in.Node)
		if err != nil {
			return out, err
		}
		nodes = []inventory.Node{n}
	}
	for _, n := range nodes {
		one, err := planOf(v, n)
		if err != nil {
			return out, err
		}
		out.Plans = append(out.Plans, one)
	}
	return out, nil
}

func planOf(v *view, n inventory.Node) (status.Plan, error) {
	p := v.plan(n)
	want, err := wanted(n, p)
	if err != nil {
		return status.Plan{}, err
	}
	out := status.Plan{
		Node: n.ID, Name: n.Name, Behind: inventory.BehindOf(n, want), Digest: string(want),
		Modules: []status.PlanModule{}, Resources: []status.PlanResource{}, LeftOut: reasons(p.LeftOut), Held: reasons(p.Held),
	}
	for _, m := range p.Body.Modules {
		commit := ""
		if b := v.byID[v.declared[n.ID][m.Module]]; b != nil {
			commit = b.Manifest.Built.Commit
		}
		out.Modules = append(out.Modules, status.PlanModule{Module: m.Module, Content: string(m.Content), Commit: commit})
	}
	for _, r := range p.Body.Resources {
		out.Resources = append(out.Resources, status.PlanResource{ID: r.ID, Type: string(r.Type), Path: r.Path})
	}
	return out, nil
}

func reasons(r []plan.Reason) []plan.Reason {
	if r == nil {
		return []plan.Reason{}
	}
	return r
}

// answerPush drops backoff, sends what is wanted and waits for receipts. What
// is behind is decided by the very question that status asks.
func (c *Controller) answerPush(ctx context.Context, _ api.Who, in api.PushIn) (api.PushOut, error) {
	v, err := c.look(ctx)
	if err != nil {
		return api.PushOut{}, err
	}
	chosen, err := choose(v, in)
	if err != nil {
		return api.PushOut{}, err
	}
	for _, n := range chosen {
		c.outbox.received(n.Node)
		c.declares.Forgive(n.Node)
		c.declares.Nudge(n.Node)
	}
	wait, cancel := context.WithTimeout(ctx, min(time.Duration(in.Wait)*time.Millisecond, 30*time.Second))
	defer cancel()
	for {
		rang := c.receipts.heard()
		done, err := c.received(ctx, chosen)
		if err != nil || done {
			return api.PushOut{Nodes: chosen}, err
		}
		select {
		case <-rang:
		case <-wait.Done():
			return api.PushOut{Nodes: chosen}, nil
		}
	}
}

// choose is the nodes that a push is about: those named or else all, and of
// them only those that are behind where that is asked for.
func choose(v *view, in api.PushIn) ([]api.Pushed, error) {
	nodes := v.nodes
	if len(in.Nodes) > 0 {
		nodes = nil
		for _, name := range in.Nodes {
			n, err := v.node(name)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
		}
	}
	out := []api.Pushed{}
	for _, n := range nodes {
		want, err := wanted(n, v.plan(n))
		if err != nil {
			return nil, err
		}
		behind := inventory.BehindOf(n, want)
		if behind != inventory.NotBehind || !in.Behind {
			out = append(out, api.Pushed{Node: n.ID, Name: n.Name, Behind: behind, LastSeen: n.LastSeen})
		}
	}
	return out, nil
}

// received fills in which of the nodes have accepted what is wanted of them.
func (c *Controller) received(ctx context.Context, nodes []api.Pushed) (bool, error) {
	v, err := c.look(ctx)
	if err != nil {
		return false, err
	}
	all := true
	for i := range nodes {
		p := &nodes[i]
		n, err := v.node(p.Node)
		if err != nil {
			return false, err
		}
		if err := receiptOf(v, n, p); err != nil {
			return false, err
		}
		all = all && (p.Accepted || p.Why == nothingWanted)
	}
	return all, nil
}

const nothingWanted = "nothing is wanted of it"

func receiptOf(v *view, n inventory.Node, p *api.Pushed) error {
	worked := v.plan(n)
	want, err := wanted(n, worked)
	if err != nil {
		return err
	}
	p.LastSeen = n.LastSeen
	p.Accepted = want != "" && n.Accepted == n.Wanted && n.Wanted.Digest == want
	switch {
	case p.Accepted:
		p.Why = ""
	case v.recovering() != "":
		p.Why = v.recovering()
	case len(worked.Held) > 0:
		p.Why = worked.Held[0].Module + " cannot be worked out: " + worked.Held[0].Why
	case want == "":
		p.Why = nothingWanted
	case n.JoinedAt.IsZero():
		p.Why = "it has not joined"
	case n.HasRefused(n.Wanted):
		p.Why = "refused: " + n.Refused.Why
	case n.Accepted == declaration.Tuple{}:
		p.Why = "no receipt yet; it has accepted nothing"
	default:
		p.Why = "no receipt yet; it has accepted " + tupleWords(n.Accepted)
	}
	return nil
}

// recordTrouble keeps a loop's trouble; its key begins with the loop's name. It
// is kept in memory first: the trouble may be that nothing can be recorded.
func (c *Controller) recordTrouble(ctx context.Context, _ string, t trouble.Trouble) error {
	c.troubles.Store(t.Key, t)
	return c.write(ctx, func(tx *db.Tx) error { return troublestore.Save(tx, t) })
}

func (c *Controller) clearTrouble(loop string) func(context.Context, string) error {
	return func(ctx context.Context, key string) error {
		c.troubles.Store(loop+"/"+key, trouble.Trouble{Key: loop + "/" + key})
		return c.write(ctx, func(tx *db.Tx) error { return troublestore.Clear(tx, loop+"/"+key) })
	}
}

func (c *Controller) recallTrouble(loop string) func(context.Context) ([]trouble.Trouble, error) {
	return func(ctx context.Context) (all []trouble.Trouble, err error) {
		err = c.db.Read(ctx, func(tx *db.Tx) error {
			all, err = troublestore.ByPrefix(tx, loop+"/")
			return err
		})
		return all, err
	}
}

// knownTroubles is the recorded ones, as this process knows them by now.
func (c *Controller) knownTroubles(recorded []trouble.Trouble) []trouble.Trouble {
	byKey := map[string]trouble.Trouble{}
	for _, t := range recorded {
		byKey[t.Key] = t
	}
	c.troubles.Range(func(key, value any) bool {
		k, _ := key.(string)
		byKey[k], _ = value.(trouble.Trouble)
		return true
	})
	var out []trouble.Trouble
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if t := byKey[key]; t.Count > 0 {
			out = append(out, t)
		}
	}
	return out
}
