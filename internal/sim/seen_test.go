package sim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"noxmesh/api"
	"noxmesh/declaration"
	"noxmesh/delivery"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
	"noxmesh/inventory"
	"noxmesh/status"
)

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// check asks the checker of invariants, and then the world itself, which knows
// what nobody who only looks can know.
func (w *world) check(ask func(invariant.Seen) []invariant.Finding) {
	seen, s, ok := w.seen()
	if !ok || w.stop {
		return
	}
	for _, f := range ask(seen) {
		w.fail("%s", f)
	}
	w.truth(s, seen.Record)
	w.kept(s, seen.Record)
	w.sound(seen.Record)
}

// seen is everything there is to see now; false while no controller runs.
func (w *world) seen() (seen invariant.Seen, s status.Status, ok bool) {
	c := w.main()
	if c == nil {
		return seen, s, false
	}
	s, ok = w.steady(c)
	if !ok || c.dead.Load() {
		return seen, s, false
	}
	record, err := w.proofs.Record(w.ctx, c.db)
	w.must(err)
	w.copied(c, s, record)
	seen = invariant.Seen{At: time.Now(), Record: record, Said: observe.Said(s, record), Registry: w.registry.seen(), Acks: w.acks}
	for _, m := range s.Modules {
		if head := w.forge.repositories[m.Module].head; head != nil {
			seen.Sources = append(seen.Sources, invariant.Source{Module: m.Module, Commit: head.id, Auto: m.Policy == string(delivery.Auto)})
		}
	}
	for _, n := range w.nodes {
		seen.Nodes = append(seen.Nodes, n.seen(record))
	}
	return seen, s, true
}

// steady is the status of a record that stood still while it was asked for: the world
// goes on meanwhile, and what has changed since the question would be held against
// the answer.
func (w *world) steady(c *control) (s status.Status, ok bool) {
	for range 20 {
		before := w.revision(c)
		if s, ok = w.status(); !ok || c.dead.Load() || w.revision(c) == before {
			return s, ok
		}
	}
	return s, false
}

func (w *world) revision(c *control) (at int64) {
	w.must(c.db.Read(w.ctx, func(tx *db.Tx) error {
		since, err := tx.Since(0)
		at = since.Revision
		return err
	}))
	return at
}

// copied is that what the controller shows is what its record holds, whoever wrote it.
func (w *world) copied(c *control, s status.Status, record invariant.Record) {
	var sources map[string]source.Source
	w.must(c.db.Read(w.ctx, func(tx *db.Tx) (err error) {
		sources, err = deliverystore.Sources(tx)
		return err
	}))
	for _, m := range s.Modules {
		if is := sources[m.Module]; is.Commit != m.Source.Commit {
			w.find(invariant.I2, m.Module, "its source is shown at %q, and the record has %q", m.Source.Commit, is.Commit)
		}
	}
	for _, n := range s.Nodes {
		for _, row := range record.Nodes {
			if row.Node == n.Node && !row.ReportAt.Equal(n.ReportAt) {
				w.find(invariant.I2, n.Name, "its report of %s is shown, and the record has one of %s", n.ReportAt, row.ReportAt)
			}
		}
	}
}

func (n *node) seen(record invariant.Record) invariant.Node {
	is, err := n.w.proofs.Node(n.root)
	n.w.must(err)
	is.Away = n.run == nil
	if is.Committed <= n.excused {
		is.Committed = 0
	}
	for i, t := range is.Things {
		if t.Found == t.Want {
			delete(n.touched, t.Path)
		}
		is.Things[i].Touched = n.touched[t.Path]
	}
	for _, path := range sorted(n.foreign) {
		is.Foreign = append(is.Foreign, invariant.Foreign{Path: path, Put: n.foreign[path], Found: n.read(path)})
	}
	for _, row := range record.Nodes {
		if row.Node == n.id && len(is.History) > 0 {
			last := is.History[len(is.History)-1].Tuple
			n.restored = n.restored && (last.Before(row.Accepted) || last.Before(row.Sent))
		}
	}
	if n.restored || n.w.mixed {
		is.History = nil
	}
	return is
}

func (g *registry) seen() invariant.Registry {
	is := invariant.Registry{Blobs: map[document.Digest]invariant.Blob{}, Taken: g.taken}
	for d, b := range g.blobs {
		is.Blobs[d] = invariant.Blob{Size: int64(len(b)), Sum: d} // it was worked out when it came
	}
	for _, d := range sorted(g.manifests) {
		m := invariant.Manifest{Repository: "r", Digest: d, Encoded: document.Sum(g.bytes[d])}
		for _, l := range append(slices.Clone(g.manifests[d].Layers), g.manifests[d].Config) {
			m.Names = append(m.Names, invariant.Named{Digest: l.Digest, Size: l.Size})
		}
		is.Manifests = append(is.Manifests, m)
	}
	return is
}

// kept is that what is declared where it belongs stays declared, unless somebody
// takes it away: no failure does.
func (w *world) kept(s status.Status, record invariant.Record) {
	now := map[string]bool{}
	for _, d := range record.Declared {
		now[d.Module+" on "+d.Node] = true
	}
	for _, m := range s.Modules {
		for _, on := range m.Nodes {
			pair := m.Module + " on " + on.Node
			if w.declared[pair] && !now[pair] && !w.taken {
				w.find(invariant.I1, pair, "it was declared and still belongs there, and is not declared any more")
			}
		}
	}
	w.declared = now
}

// truth holds what is claimed against what the world has seen with its own eyes:
// applied is said only of what that node's key has signed, and its disk was like.
func (w *world) truth(s status.Status, record invariant.Record) {
	content := map[string][]document.Digest{} // by module and commit: what was made of it, against one thing and another
	for _, b := range record.Builds {
		content[b.Module+" "+b.Commit] = append(content[b.Module+" "+b.Commit], b.Content)
		if w.content[b.Content] == nil {
			w.find(invariant.I4, b.Module, "a build of content %s is recorded, which nobody has published", b.Content.Short())
		}
	}
	for _, m := range s.Modules {
		for _, on := range m.Nodes {
			proven := slices.ContainsFunc(content[m.Module+" "+on.Commit], func(d document.Digest) bool {
				return w.node(on.Node).proven[declaration.Module{Module: m.Module, Content: d}]
			})
			if on.Standing == inventory.Applied && !proven {
				w.find(invariant.I2, on.Name, "%s of commit %s is said to be applied, and was never so when the node read itself back", m.Module, on.Commit)
			}
		}
	}
	for _, row := range record.Nodes {
		n := w.node(row.Node)
		if row.Report != nil && row.Report.Sequence > n.most {
			w.find(invariant.I2, n.name, "report %d is recorded, and its disk knows of %d", row.Report.Sequence, n.most)
		}
		for _, said := range s.Nodes {
			if said.Node == row.Node && said.State == status.Applied && row.Report != nil && !n.whole[row.Report.Applied] {
				w.find(invariant.I2, n.name, "it is said to be applied, and was never so when it read itself back")
			}
		}
	}
}

// heal ends every fault there is.
func (w *world) heal() {
	w.calm = true
	w.jobs = slices.DeleteFunc(w.jobs, func(job) bool { return false })
	w.office.byzantine, w.registry.lies, w.registry.down = 0, 0, false
	for _, r := range w.forge.repositories {
		r.state, r.lag = nil, nil
		if r.head == nil {
			r.head = r.commits[len(r.commits)-1]
		}
	}
	for _, c := range slices.Clone(w.controllers) {
		if c != w.main() {
			w.bury(c)
		}
	}
	w.serveAgain()
	for _, n := range w.nodes {
		if n.run != nil && n.run.cut {
			n.run.cut = false
			n.reconnect()
		}
	}
	for _, b := range w.makers {
		if b.run != nil {
			b.run.cut = false
		}
	}
}

// soon is the bound of progress once all is well: a loop waits five minutes at
// most, and a builder no longer than its leases.
const soon = 20 * time.Minute

// settle is the time after the faults: everything must come out right.
func (w *world) settle() {
	if w.stop {
		return
	}
	w.note("world", "all is well again")
	w.heal()
	w.run(3*time.Second, nil) // what people asked for before comes to its end
	last := w.rng.IntN(3) > 0
	if last {
		w.lastCommit()
	} else if w.rng.IntN(2) == 0 {
		w.killController()
	}
	out := w.run(soon, w.every(15*time.Second, func() bool { return w.wellOrRecovered(last) }))
	if w.stop {
		return
	}
	if last && !out {
		s, _ := w.status()
		w.find(invariant.I1, "mesh", "%s after all was well again: %s", soon, w.against(s))
	}
	w.mixed = false
	w.check(func(seen invariant.Seen) []invariant.Finding {
		w.keeps(&seen, last)
		return invariant.AtEnd(seen)
	})
	if last && !w.stop {
		w.compiled()
	}
}

// every asks a question now and then, by the clock of the seed.
func (w *world) every(d time.Duration, fact func() bool) func() bool {
	next := time.Now().Add(d)
	return func() bool {
		if time.Now().Before(next) {
			return false
		}
		next = time.Now().Add(d)
		return fact()
	}
}

// lastCommit is one more of each module, which must be out everywhere.
func (w *world) lastCommit() {
	if w.main() == nil {
		return
	}
	for _, m := range []string{site, motd, kit} {
		w.commit(m)
		_, err := now(w.main(), api.ModulePolicy(), api.PolicyIn{Module: m, Policy: "auto"})
		w.must(err)
		for _, n := range w.nodes {
			_, err := now(w.main(), api.Assign(), api.AssignIn{Module: m, Node: n.name})
			w.must(err)
		}
	}
}

// wellOrRecovered is the operator, who looks at status: where it says that the
// record is not the newest, he takes it over; when all is out he is content.
func (w *world) wellOrRecovered(last bool) bool {
	s, ok := w.status()
	if !ok {
		return false
	}
	if s.Recovering != "" {
		w.note("operator", "reads: %s", s.Recovering)
		w.bury(w.main())
		w.recoverRecord()
		w.serveAgain()
		return false
	}
	if w.allow(s) {
		return false
	}
	if last {
		return w.against(s) == ""
	}
	// Of what is there no more may come: it is enough that every reason is shown,
	// now and at the next look.
	seen, _, ok := w.seen()
	if ok && len(invariant.AtEnd(seen)) == 0 {
		w.quiet++
	} else {
		w.quiet = 0
	}
	return w.quiet == 4
}

// allow is the operator, who lets go out what is held back for what it would remove,
// with the command that status names.
func (w *world) allow(s status.Status) bool {
	some := false
	for _, n := range s.Nodes {
		if n.Removal == nil {
			continue
		}
		some = true
		w.note("operator", "reads: %s is %s", n.Name, n.Removal.Words())
		words := strings.Fields(n.Removal.Command)
		_, err := now(w.main(), api.NodeAllow(), api.NodeAllowIn{Node: words[len(words)-2], Digest: words[len(words)-1]})
		if fault.KindOf(err) != fault.Conflict { // meanwhile it is another, or none
			w.must(err)
		}
	}
	return some
}

// against is what stands against everything being out.
func (w *world) against(s status.Status) string {
	for _, m := range s.Modules {
		if !m.Out() || m.Source.Commit != w.forge.repositories[m.Module].head.id {
			return m.Module + ": " + m.Line() + waits(m)
		}
	}
	for _, n := range s.Nodes {
		if n.State != status.Applied {
			return n.Name + ": " + n.State + " " + n.Refused + n.Finding
		}
	}
	return ""
}

func waits(m status.Module) (text string) {
	for _, x := range m.Waiting {
		text += "; waits for " + x.For
	}
	for _, t := range m.Trouble {
		text += "; trouble: " + t.Says
	}
	return text
}
