package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/loop"
	"noxmesh/internal/oci/registry"
	inventorystore "noxmesh/inventory/store"
)

const (
	// collectEvery lies between two collections of what nothing names.
	collectEvery = 24 * time.Hour

	// collectSettled is how long a controller has run before it collects of its own
	// accord: by then every node that is there has said what it has accepted, and a
	// record that was put back from an older copy has been found out.
	collectSettled = time.Hour

	// collectKey is the only thing that the loop "collect" looks at.
	collectKey = "registry"
)

// collectStep takes away what nothing names, once this process has heard enough.
func (c *Controller) collectStep(ctx context.Context, _ string) (loop.Result, error) {
	if rest := collectSettled - clock.Now().Sub(c.conduct.since); rest > 0 {
		return loop.Result{After: rest}, nil
	}
	_, err := c.collect(ctx, false)
	if fault.KindOf(err) == fault.Conflict {
		c.log.Warn("nothing is collected", "why", err.Error())
		return loop.Result{After: collectSettled}, nil
	}
	return loop.Result{}, err
}

func (c *Controller) answerCollect(ctx context.Context, _ api.Who, in api.CollectIn) (api.CollectOut, error) {
	return c.collect(ctx, in.Look)
}

// chosenBuilds is what a collection has decided: why builds are kept, and which
// of the others still have bytes.
type chosenBuilds struct {
	kept  map[document.Digest][]delivery.Keeping
	made  map[document.Digest]artifact.Build
	leave []artifact.Build // by module, oldest first

	retired delivery.Retired // what leaves the record itself
}

// collect takes away what nothing names, or with look says what that would be.
// That a build has no bytes any more is recorded before they go: a declare-write
// that comes now or later finds it, and nothing that is named is ever gone.
func (c *Controller) collect(ctx context.Context, look bool) (out api.CollectOut, err error) {
	if c.edges.registry == nil {
		return out, fault.New(fault.Conflict, "this controller keeps no registry of its own").With("collect in the registry that it uses")
	}
	select {
	case c.collecting <- struct{}{}:
		defer func() { <-c.collecting }()
	default:
		return out, fault.New(fault.Conflict, "a collection is under way").With("try again in a while")
	}
	now := clock.Now()
	is, err := c.leaving(ctx, look, now)
	if err != nil {
		return out, err
	}
	going := map[document.Digest]bool{} // though the record does not say so
	if look {
		for _, b := range is.leave {
			going[b.ID] = true
		}
	}
	swept, err := c.edges.registry.Collect(ctx, registry.Collecting{Names: c.namedIn(going), Before: now.Add(-c.grace()), Look: look})
	if err != nil {
		return out, err
	}
	out = collectOut(is, swept)
	out.Look, out.Grace = look, int64(c.grace()/time.Second)
	if !look {
		c.log.Info("collected", "builds", len(is.leave), "blobs", swept.Blobs, "bytes", swept.Bytes, "kept", swept.KeptBytes, "lines", len(is.retired.Lines), "logs", len(is.retired.Logs))
	}
	return out, nil
}

// leaving is what a collection takes away, and but for a look the record says so.
func (c *Controller) leaving(ctx context.Context, look bool, now time.Time) (is chosenBuilds, err error) {
	if look {
		err = c.db.Read(ctx, func(tx *db.Tx) (err error) {
			is, err = c.chooseBuilds(tx, now)
			return err
		})
		return is, err
	}
	err = c.write(ctx, func(tx *db.Tx) (err error) {
		if is, err = c.chooseBuilds(tx, now); err != nil {
			return err
		}
		for _, b := range is.leave {
			if err := deliverystore.MarkCollected(tx, b.ID, now); err != nil {
				return err
			}
		}
		return deliverystore.RemoveLines(tx, is.retired, now)
	})
	return is, err
}

// grace is how long what nothing names stays: a build that is under way, and
// whoever has just seen one that he is about to declare.
func (c *Controller) grace() time.Duration { return c.cfg.Grace + c.cfg.Limit }

// chooseBuilds decides by the record as the transaction has it.
func (c *Controller) chooseBuilds(tx *db.Tx, now time.Time) (out chosenBuilds, err error) {
	s := delivery.Shelf{Told: map[delivery.Content]bool{}, Grace: c.grace()}
	if s.Laid, err = deliverystore.LaidOut(tx); err != nil {
		return out, err
	}
	left, err := deliverystore.Left(tx)
	if err != nil {
		return out, err
	}
	told, err := inventorystore.Told(tx)
	if err != nil {
		return out, err
	}
	for module, contents := range told {
		for _, digest := range contents {
			s.Told[delivery.Content{Module: module, Digest: digest}] = true
		}
	}
	out.made = map[document.Digest]artifact.Build{}
	err = c.within(tx, func(v *view) error {
		if why := v.recovering(); why != "" {
			return fault.New(fault.Conflict, "nothing is collected: %s", why).With("mesh-controller recover says what to do")
		}
		s.Modules = v.shelved(left)
		return nil
	})
	if err != nil {
		return out, err
	}
	out.kept = delivery.Kept(s, now)
	if err = out.choose(tx, s.Modules); err != nil {
		return out, err
	}
	lines, err := deliverystore.Lines(tx)
	for i, l := range lines {
		lines[i].Bare = l.Bare && len(out.kept[l.Build]) == 0
	}
	out.retired = delivery.Retire(lines, delivery.Retention{Builds: c.cfg.KeepBuilds, Logs: c.cfg.KeepLogs})
	return out, err
}

// choose finds the builds that go, but for those of modules of which nothing is
// taken away now.
func (b *chosenBuilds) choose(tx *db.Tx, modules []delivery.Shelved) error {
	for _, m := range modules {
		var leave []artifact.Build
		for _, one := range m.Facts.Builds {
			b.made[one.ID] = one
			if _, kept := b.kept[one.ID]; !kept && one.Collected.IsZero() {
				leave = append(leave, one)
			}
		}
		if len(leave) == 0 {
			continue
		}
		_, busy, err := deliverystore.Published(tx, m.Facts.Module)
		if err != nil {
			return err
		}
		if !busy {
			b.leave = append(b.leave, leave...)
		}
	}
	slices.SortFunc(b.leave, func(a, b artifact.Build) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), artifact.Older(a, b), cmp.Compare(a.ID, b.ID))
	})
	return nil
}

// shelved is every module of which something may lie in the registry.
func (v *view) shelved(left map[string]time.Time) (out []delivery.Shelved) {
	declared := map[string][]document.Digest{}
	for _, n := range v.nodes {
		for module, id := range n.declared {
			declared[module] = append(declared[module], id)
		}
	}
	for name, m := range v.modules {
		s := delivery.Shelved{Declared: declared[name]}
		if m.known {
			s.Facts = v.facts(m.row)
		} else {
			s.Facts = delivery.Facts{Module: name, Builds: m.builds, Writes: m.writes}
			s.Left, s.LeftAt = true, left[name]
		}
		out = append(out, s)
	}
	return out
}

// namedIn is what each repository of the registry must keep, as the record has it
// at that moment: a build that was answered anew since it was chosen is there again.
func (c *Controller) namedIn(going map[document.Digest]bool) func(context.Context, string) (registry.Named, error) {
	return func(ctx context.Context, repository string) (n registry.Named, err error) {
		err = c.db.Read(ctx, func(tx *db.Tx) error {
			held, err := tx.Held()
			if err == nil && !held {
				err = fault.New(fault.Conflict, "another controller has taken the record over")
			}
			if err != nil {
				return err
			}
			published, busy, err := deliverystore.Published(tx, repository)
			n = registry.Named{Busy: busy, Manifests: map[document.Digest]bool{}}
			for _, p := range published {
				n.Manifests[p.Manifest] = n.Manifests[p.Manifest] || !going[p.Build]
			}
			return err
		})
		return n, err
	}
}

func collectOut(is chosenBuilds, swept registry.Collected) api.CollectOut {
	out := api.CollectOut{
		Kept: []api.CollectKept{}, Builds: []api.CollectBuild{}, Reasons: []api.CollectReason{},
		Manifests: swept.Manifests, Blobs: swept.Blobs, Bytes: swept.Bytes, KeptBlobs: swept.Kept, KeptBytes: swept.KeptBytes, Busy: append([]string{}, swept.Busy...),
	}
	out.Lines, out.Logs = len(is.retired.Lines), len(is.retired.Logs)
	for _, l := range append(slices.Clone(is.retired.Lines), is.retired.Logs...) {
		out.LogBytes += l.Log
	}
	count := map[delivery.Keeping]int{}
	for id, why := range is.kept {
		b := is.made[id]
		one := api.CollectKept{Module: b.Module, Build: string(id), Commit: b.Manifest.Built.Commit, Request: b.Request}
		for _, w := range why {
			count[w]++
			one.Why = append(one.Why, string(w))
		}
		out.Kept = append(out.Kept, one)
	}
	slices.SortFunc(out.Kept, func(a, b api.CollectKept) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), is.made[document.Digest(a.Build)].At.Compare(is.made[document.Digest(b.Build)].At), cmp.Compare(a.Build, b.Build))
	})
	for _, w := range delivery.Keepings() {
		out.Reasons = append(out.Reasons, api.CollectReason{Why: string(w), Builds: count[w]})
	}
	for _, b := range is.leave {
		out.Builds = append(out.Builds, api.CollectBuild{Module: b.Module, Build: string(b.ID), Commit: b.Manifest.Built.Commit, Request: b.Request, At: b.At})
	}
	return out
}
