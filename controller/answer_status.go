package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"noxmesh/api"
	"noxmesh/declaration"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/planted"
	"noxmesh/inventory"
	"noxmesh/status"
	"noxmesh/trouble"
	troublestore "noxmesh/trouble/store"
)

// answerStatus is the two comparisons, made when they are asked for.
func (c *Controller) answerStatus(ctx context.Context, _ api.Who, in api.StatusIn) (api.StatusOut, error) {
	out := status.Status{Controller: c.cfg.Version, Modules: []status.Module{}, Nodes: []status.Node{}}
	if why, since := c.unwell.now(); why != "" {
		out.Unwell = &status.Unwell{Why: why, Since: since}
	}
	if why, since := c.shelf.now(); why != "" {
		out.Registry = &status.Unwell{Why: why, Since: since}
	}
	usual, err := c.usual(ctx)
	if err != nil {
		return out, err
	}
	if err := c.with(ctx, func(v *view) error { return c.fillStatus(v, in, &out) }); err != nil {
		return out, err
	}
	for _, m := range out.Modules {
		if m.Building != nil {
			m.Building.Usual = usual[m.Module]
		}
	}
	out.At = clock.Now()
	return out, nil
}

func (c *Controller) fillStatus(v *view, in api.StatusIn, out *api.StatusOut) error {
	now := clock.Now()
	if err := known(v, in); err != nil {
		return err
	}
	out.Recovering = v.recovering()
	names := v.names
	if in.Module != "" {
		names = []string{in.Module}
	}
	all := c.statusOf(v)
	for _, name := range names {
		if one := c.moduleStatus(v, v.modules[name].row, all, now); in.Node == "" || belongsTo(one, in.Node) {
			out.Modules = append(out.Modules, one)
		}
	}
	nodes := v.inOrder()
	if in.Node != "" {
		n, err := v.node(in.Node)
		if err != nil {
			return err
		}
		nodes = []*nodeView{n}
	}
	for _, n := range nodes {
		one, err := c.nodeStatus(v, n)
		if err != nil {
			return err
		}
		if in.Module == "" || slices.Contains(one.Modules, in.Module) {
			out.Nodes = append(out.Nodes, one)
		}
	}
	return nil
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

// statusFacts is what the status of every module is made of.
type statusFacts struct {
	nodes    map[string]inventory.Node
	applied  map[string]map[document.Digest]time.Time
	troubles map[string]trouble.Trouble
}

func (c *Controller) statusOf(v *view) statusFacts {
	all := statusFacts{
		nodes: make(map[string]inventory.Node, len(v.nodes)), applied: make(map[string]map[document.Digest]time.Time, len(v.nodes)),
		troubles: c.knownTroubles(v.troubles),
	}
	for id, n := range v.nodes {
		all.nodes[id], all.applied[id] = n.Node, n.applied
	}
	return all
}

// seen is a source with the time of the last look, which is not recorded where
// nothing had moved.
func (c *Controller) seen(s source.Source) source.Source {
	if at, ok := c.looked.Load(s.Module); ok {
		s.LookedAt, _ = at.(time.Time)
	}
	return s
}

func (c *Controller) moduleStatus(v *view, m deliverystore.ModuleRow, all statusFacts, now time.Time) status.Module {
	f := status.ModuleFacts{Delivery: v.facts(m), Nodes: all.nodes, AppliedAt: all.applied}
	f.Delivery.Source = c.seen(f.Delivery.Source)
	keys := []string{"build/" + m.Name, "source/" + m.Name}
	for _, key := range v.modules[m.Name].images {
		keys = append(keys, "image/"+key)
	}
	for _, key := range keys {
		if t, ok := all.troubles[key]; ok {
			f.Trouble = append(f.Trouble, t)
		}
	}
	out := status.OfModule(f, now)
	out.Source.Notices = append(out.Source.Notices, c.around(m, all, now)...)
	for i := range out.Nodes {
		if m, _ := c.outbox.of(out.Nodes[i].Node); m.removal != nil && out.Nodes[i].Standing != inventory.Applied {
			out.Nodes[i].HeldBack = m.removal.Words()
		}
	}
	for i, on := range out.Nodes {
		if n := v.nodes[on.Node]; planted.Is("applied said from accepted") && on.Commit != "" && n.Accepted == n.Wanted {
			out.Nodes[i].Standing = inventory.Applied
		}
	}
	return out
}

// around is what this process knows of a module's forge, and the record does not:
// that it has asked to be left alone, and that somebody signs its webhooks wrong.
func (c *Controller) around(m deliverystore.ModuleRow, all statusFacts, now time.Time) (out []status.Notice) {
	if h, is := c.git.Held(m.Repository, now); is {
		out = append(out, status.Notice{Kind: "forge-held", Since: h.Since, Says: fmt.Sprintf(
			"forge %s asks to be left alone until %s: no source there is looked at before", h.Host, h.Until.UTC().Format(time.RFC3339))})
	}
	if n, is := c.hooks.forged(m.Name, all.troubles[forgedKey(m.Name)]); is {
		out = append(out, n)
	}
	return out
}

func (c *Controller) nodeStatus(v *view, n *nodeView) (status.Node, error) {
	w, err := v.inShort(n)
	if err != nil {
		return status.Node{}, err
	}
	last := c.heard.last(n.ID)
	message, _ := c.outbox.of(n.ID)
	return status.OfNode(status.NodeFacts{
		Node: n.Node, Wanted: w.of(n.Node), NotWorkedOut: n.dated(slices.Concat(w.held, w.leftOut)...), Modules: w.wanted,
		Ignored:    c.conduct.ignored(n.ID),
		ClockAhead: last.ahead, Unwell: last.unwell, Deaf: last.deaf,
		Removal: message.removal, Version: c.cfg.Version,
	}), nil
}

// answerPlans is what nodes should be, or why that cannot be worked out.
func (c *Controller) answerPlans(ctx context.Context, _ api.Who, in api.PlansIn) (api.PlansOut, error) {
	out := api.PlansOut{Plans: []status.Plan{}}
	err := c.with(ctx, func(v *view) error {
		nodes := v.inOrder()
		if in.Node != "" {
			n, err := v.node(in.Node)
			if err != nil {
				return err
			}
			nodes = []*nodeView{n}
		}
		for _, n := range nodes {
			one, err := planOf(v, n)
			if err != nil {
				return err
			}
			out.Plans = append(out.Plans, one)
		}
		return nil
	})
	return out, err
}

func planOf(v *view, n *nodeView) (status.Plan, error) {
	p, short, err := v.inFull(n)
	if err != nil {
		return status.Plan{}, err
	}
	want := short.of(n.Node)
	out := status.Plan{
		Node: n.ID, Name: n.Name, Behind: inventory.BehindOf(n.Node, want), Digest: string(want),
		Modules: []status.PlanModule{}, Resources: []status.PlanResource{}, LeftOut: n.dated(p.LeftOut...), Held: n.dated(p.Held...),
	}
	out.Removal = heldBack(n.Node, removalOf(n.Node, p, want), want)
	for _, m := range p.Body.Modules {
		commit := ""
		if b := v.made[n.declared[m.Module]]; b != nil && b.Content == m.Content {
			commit = b.Manifest.Built.Commit
		} else if b := v.before(n, m.Module); b != nil {
			commit = b.Manifest.Built.Commit
		}
		out.Modules = append(out.Modules, status.PlanModule{Module: m.Module, Content: string(m.Content), Commit: commit})
	}
	for _, r := range p.Body.Resources {
		out.Resources = append(out.Resources, status.PlanResource{ID: r.ID, Type: string(r.Type), Path: r.Called()})
	}
	return out, nil
}

// answerPush drops backoff, sends what is wanted and waits for receipts. What
// is behind is decided by the very question that status asks.
func (c *Controller) answerPush(ctx context.Context, _ api.Who, in api.PushIn) (api.PushOut, error) {
	var chosen []api.Pushed
	err := c.with(ctx, func(v *view) (err error) {
		chosen, err = choose(v, in)
		return err
	})
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
			rest(wait, receiptGap) // many come at once
		case <-wait.Done():
			return api.PushOut{Nodes: chosen}, nil
		}
	}
}

// receiptGap lies between two looks at who has accepted: however many receipts
// come, whoever waits for them costs no more.
const receiptGap = 20 * time.Millisecond

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// choose is the nodes that a push is about: those named or else all, and of
// them only those that are behind where that is asked for.
func choose(v *view, in api.PushIn) ([]api.Pushed, error) {
	nodes := v.inOrder()
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
		w, err := v.inShort(n)
		if err != nil {
			return nil, err
		}
		behind := inventory.BehindOf(n.Node, w.of(n.Node))
		if behind != inventory.NotBehind || !in.Behind {
			out = append(out, api.Pushed{Node: n.ID, Name: n.Name, Behind: behind, LastSeen: n.LastSeen})
		}
	}
	return out, nil
}

// received fills in which of the nodes have accepted what is wanted of them.
func (c *Controller) received(ctx context.Context, nodes []api.Pushed) (bool, error) {
	all := true
	err := c.with(ctx, func(v *view) error {
		for i := range nodes {
			p := &nodes[i]
			n, err := v.node(p.Node)
			if err != nil {
				return err
			}
			if err := receiptOf(v, n, p); err != nil {
				return err
			}
			all = all && (p.Accepted || p.Why == nothingWanted)
		}
		return nil
	})
	return all, err
}

const nothingWanted = "nothing is wanted of it"

func receiptOf(v *view, n *nodeView, p *api.Pushed) error {
	w, err := v.inShort(n)
	if err != nil {
		return err
	}
	want := w.of(n.Node)
	p.LastSeen = n.LastSeen
	p.Accepted = want != "" && n.Accepted == n.Wanted && n.Wanted.Digest == want
	switch {
	case p.Accepted:
		p.Why = ""
	case v.recovering() != "":
		p.Why = v.recovering()
	case len(w.held) > 0:
		p.Why = w.held[0].Module + " cannot be worked out: " + w.held[0].Why
	case want == "":
		p.Why = nothingWanted
	case n.JoinedAt.IsZero():
		p.Why = "it has not joined"
	case n.HasRefused(n.Wanted):
		p.Why = "refused: " + status.RefusalOf(n.Node, v.version)
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
		if planted.Is("since of a trouble lost at a restart") {
			return nil, nil
		}
		err = c.db.Read(ctx, func(tx *db.Tx) error {
			all, err = troublestore.ByPrefix(tx, loop+"/")
			return err
		})
		return all, err
	}
}

// knownTroubles is the recorded ones, as this process knows them by now.
func (c *Controller) knownTroubles(recorded map[string]trouble.Trouble) map[string]trouble.Trouble {
	byKey := maps.Clone(recorded)
	c.troubles.Range(func(key, value any) bool {
		k, _ := key.(string)
		byKey[k], _ = value.(trouble.Trouble)
		return true
	})
	maps.DeleteFunc(byKey, func(_ string, t trouble.Trouble) bool { return t.Count == 0 })
	return byKey
}
