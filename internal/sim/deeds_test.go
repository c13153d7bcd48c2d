package sim

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"noxmesh/api"
	"noxmesh/controller"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	"noxmesh/status"
)

// deed is something that happens to the mesh, of the operator's or of the world's doing.
func (w *world) deed() {
	deeds := []struct {
		weight int
		name   string
		do     func()
	}{
		{20, "somebody commits", func() { w.commit(w.module()) }},
		{4, "a force-push", w.forcePush},
		{6, "the forge says something else", w.forgeFails},
		{6, "a hook", func() { w.hook(w.module()) }},
		{8, "the controller is killed", w.killController},
		{4, "another controller takes the record over", w.takeOver},
		{3, "a backup of the record", func() { w.backups = append(w.backups, w.backup(w.record)) }},
		{4, "the record is restored from a backup", w.restore},
		{4, "a copy of the record has a controller of its own", w.clone},
		{4, "the controller runs twice", w.twin},
		{8, "a host is killed", func() { w.killNode(w.someNode()) }},
		{3, "a snapshot of a node", func() { w.snapshot(w.someNode()) }},
		{3, "a node is restored from its snapshot", func() { w.restoreNode(w.someNode()) }},
		{5, "a builder is killed", w.killMaker},
		{5, "a cable is pulled", w.pull},
		{4, "the registry is away", w.registryAway},
		{4, "the registry lies", w.registryLies},
		{3, "the registry loses something", w.registryLoses},
		{6, "the broker is somebody else's", w.brokerBends},
		{5, "a builder lies", w.lie},
		{5, "somebody changes a node by hand", w.drift},
		{4, "somebody puts something on a node", w.putForeign},
		{4, "an assignment", func() { w.assign(w.module(), w.someNode()) }},
		{4, "an assignment is taken back", func() { w.unassign(w.module(), w.someNode()) }},
		{3, "the policy changes", func() { w.policy(w.module()) }},
		{4, "somebody declares", func() { w.declare(w.module()) }},
	}
	sum := 0
	for _, d := range deeds {
		sum += d.weight
	}
	at := w.rng.IntN(sum)
	for _, d := range deeds {
		if at -= d.weight; at < 0 {
			w.note("world", "%s", d.name)
			d.do()
			return
		}
	}
}

func (w *world) module() string    { return []string{site, motd, kit}[w.rng.IntN(3)] }
func (w *world) someNode() *node   { return w.nodes[w.rng.IntN(len(w.nodes))] }
func (w *world) someMaker() *maker { return w.makers[w.rng.IntN(len(w.makers))] }

// while lets something be so for a while.
func (w *world) while(most int, over func()) {
	w.later(time.Duration(1+w.rng.IntN(most))*time.Second, over)
}

// commit is one more commit of a module. Some change nothing that a node gets of
// it, and some do something to their builder.
func (w *world) commit(module string) *commit {
	if w.calm || w.rng.IntN(5) > 0 {
		w.newest[module]++
	}
	c := w.write(module, w.newest[module])
	for path := range c.on {
		w.paths[module][path] = true
	}
	if module == site {
		w.paths[module][linked] = true
	}
	if x := w.rng.IntN(24); !w.calm && module == site && x < 4 {
		w.natures[w.edition] = []nature{broken, unfit, poison, hangs}[x]
	} else if !w.calm && module == kit && x < 2 {
		w.natures[w.edition] = unfit
	}
	w.note("world", "%s is at commit %s, edition %d, which is %s", module, c.id[:7], c.edition, w.natures[w.edition])
	if w.rng.IntN(3) > 0 {
		w.hook(module)
	}
	return c
}

// hook is what the forge calls, or would have.
func (w *world) hook(module string) {
	c := w.main()
	if c == nil || w.chance(0.2) {
		return
	}
	w.later(w.latency(), func() {
		if c := w.main(); c != nil {
			call(c, api.Hook(), api.HookIn{Module: module}, func(api.Nothing, error) {})
		}
	})
}

func (w *world) forcePush() {
	r := w.forge.repositories[w.module()]
	r.head = r.commits[w.rng.IntN(len(r.commits))]
	w.note("world", "%s is at commit %s again", r.head.module, r.head.id[:7])
}

func (w *world) forgeFails() {
	m := w.module()
	r := w.forge.repositories[m]
	head := r.head
	switch w.rng.IntN(6) {
	case 0:
		r.state = fault.Wrap(fault.Conflict, git.Empty, "look")
	case 1:
		r.state = fault.Wrap(fault.NotFound, git.NoRepository, "look")
	case 2:
		r.state = fault.New(fault.Unavailable, "connection refused")
	case 3:
		r.state = fault.New(fault.Denied, "it wants a credential")
	case 4:
		r.lag = r.commits[w.rng.IntN(len(r.commits))]
	default:
		r.head = nil
		w.while(100, func() {
			if r.head == nil {
				r.head = head
			}
		})
		return
	}
	w.while(100, func() { r.state, r.lag = nil, nil })
}

func (w *world) killController() {
	if c := w.main(); c != nil {
		c.die()
	}
}

// takeOver is that the controller moves to another machine, and the one before
// goes on as if nothing had happened.
func (w *world) takeOver() {
	old := w.main()
	if old == nil {
		return
	}
	w.doubled = true
	w.holders++
	w.holder = fmt.Sprintf("holder%04d", w.holders)
	w.recoverRecord()
	if w.rng.IntN(2) == 0 {
		old.alone = true // it hears nobody any more, and may still speak
	}
	c := w.raise("controller", w.record, w.holder)
	if c == nil {
		return
	}
	w.while(60, old.die)
}

// recoverRecord is mesh-controller recover.
func (w *world) recoverRecord() {
	d := w.open(w.record)
	epoch, err := controller.TakeOver(w.ctx, d, w.holder)
	w.must(err)
	w.leave(w.record, d)
	w.note("operator", "mesh-controller recover: epoch %d", epoch)
}

// restore puts the record back to what it was, and starts on it as if nothing had happened.
func (w *world) restore() {
	if len(w.backups) == 0 {
		return
	}
	if c := w.main(); c != nil {
		w.bury(c)
	}
	for _, c := range slices.Clone(w.controllers) {
		if c.record == w.record {
			w.bury(c)
		}
	}
	w.shut(w.record)
	w.copyRecord(w.backups[w.rng.IntN(len(w.backups))], w.record)
	w.holder = w.heldBy(w.record)
	w.mixed, w.acks, w.declared = true, nil, nil
	for _, n := range w.nodes {
		n.excused = n.most
	}
	w.later(w.pause(), w.serveAgain)
}

// heldBy is who may resume a record: the data folder that the backup came with.
func (w *world) heldBy(record string) string {
	for i := w.holders; i >= 0; i-- {
		holder := fmt.Sprintf("holder%04d", i)
		d := w.open(record)
		_, err := d.Resume(w.ctx, holder)
		w.leave(record, d)
		if err == nil {
			return holder
		}
	}
	panic(stopped{"nobody holds the record"})
}

// clone is a second machine that somebody has made of the first one: the same
// keys, a copy of the record, and the same network.
func (w *world) clone() {
	if w.main() == nil || len(w.controllers) > 1 {
		return
	}
	c := w.raise("clone", w.backup(w.record), w.holder)
	w.mixed = true
	if c != nil {
		w.commit(w.module()) // so that both have something to issue
		w.part(c)
		w.while(120, c.die)
	}
}

// part waits until both have heard the same node, and then lets people tell each
// something else about it: both issue the same place in the order, with another digest.
func (w *world) part(clone *control) {
	w.later(time.Second, func() {
		c := w.main()
		if c == nil || clone.dead.Load() {
			return
		}
		for _, n := range w.nodes {
			if at := clone.declared(n.id); c.met[n.id] && clone.met[n.id] && len(at) > 1 {
				call(clone, api.Unassign(), api.UnassignIn{Module: at[0], Node: n.name}, func(api.AssignOut, error) {})
				w.unassign(at[1], n)
				return
			}
		}
		w.part(clone)
	})
}

// declared is the modules that are declared on a node.
func (c *control) declared(node string) (modules []string) {
	c.w.must(c.db.Read(c.w.ctx, func(tx *db.Tx) (err error) {
		modules, err = db.All(tx, db.Text, `SELECT module FROM declared WHERE node = $1 ORDER BY module`, node)
		return err
	}))
	return modules
}

// twin is the same controller twice, on one record.
func (w *world) twin() {
	if w.main() == nil || len(w.controllers) > 1 {
		return
	}
	w.doubled = true
	if c := w.raise("twin", w.record, w.holder); c != nil {
		w.while(90, c.die)
	}
}

func (w *world) killNode(n *node) {
	if n.run != nil {
		n.run.die()
	}
}

func (w *world) killMaker() {
	if b := w.someMaker(); b.run != nil {
		b.run.die()
	}
}

func (w *world) snapshot(n *node) {
	n.snapshot = filepath.Join(w.dir, "snapshot-"+n.name)
	w.copyTree(n.root, n.snapshot)
	n.astray = maps.Clone(n.touched)
}

// restoreNode puts a node's whole disk back to what it was.
func (w *world) restoreNode(n *node) {
	if n.snapshot == "" || n.run == nil {
		return
	}
	n.stop()
	n.untouched()
	w.copyTree(n.snapshot, n.root)
	n.forgetDisk()
	n.touched = maps.Clone(n.astray)
	n.restored = true
	n.foreign = map[string]string{}
	n.observe()
	w.later(w.pause(), n.start)
}

// pull cuts a node or a builder off for a while.
func (w *world) pull() {
	var p *program
	if w.rng.IntN(3) > 0 {
		p = w.someNode().run
	} else {
		p = w.someMaker().run
	}
	if p == nil {
		return
	}
	p.cut = true
	w.note("world", "%s is cut off", p.name)
	w.while(120, func() {
		p.cut = false
		for _, n := range w.nodes {
			if n.run == p {
				n.reconnect()
			}
		}
	})
}

func (w *world) registryAway() {
	w.registry.down = true
	w.while(90, func() { w.registry.down = false })
}

func (w *world) registryLies() {
	w.registry.lies = 0.2 + 0.6*w.rng.Float64()
	w.while(90, func() { w.registry.lies = 0 })
}

// registryLoses takes a blob or a manifest out.
func (w *world) registryLoses() {
	g := w.registry
	all := sorted(g.bytes)
	if len(all) == 0 {
		return
	}
	d := all[w.rng.IntN(len(all))]
	if blobs := g.manifests[d].Layers; len(blobs) > 0 && w.rng.IntN(2) == 0 {
		d = blobs[w.rng.IntN(len(blobs))].Digest
	}
	delete(g.blobs, d)
	delete(g.bytes, d)
	delete(g.manifests, d)
	g.taken = append(g.taken, d)
	w.note("world", "the registry has lost %s", d.Short())
}

func (w *world) brokerBends() {
	w.office.byzantine = 0.1 + 0.4*w.rng.Float64()
	w.while(90, func() { w.office.byzantine = 0 })
}

// untouched remembers the disk before somebody else changes it, apart from what
// its host has done before and will do after.
func (n *node) untouched() {
	time.Sleep(apart)
	n.remember()
	time.Sleep(apart)
}

// drift is somebody with an editor, or with rm.
func (w *world) drift() {
	n := w.someNode()
	n.untouched()
	for _, m := range []string{site, motd} {
		for _, path := range sorted(w.paths[m]) {
			if n.read(path) == "" || w.rng.IntN(3) > 0 || n.foreign[path] != "" {
				continue
			}
			n.touched[path] = true
			if w.rng.IntN(2) == 0 {
				n.put(path, "by hand\n")
			} else {
				w.must(os.Remove(filepath.Join(n.root, path)))
			}
			w.note("world", "%s of %s was changed by hand", path, n.name)
		}
	}
}

// putForeign is a file of somebody else's, beside and among those of modules.
func (w *world) putForeign() {
	n := w.someNode()
	path := []string{"/etc/mine", "/opt/mine", "/opt/site/mine", "/etc/motd.d/mine"}[w.rng.IntN(4)]
	if n.foreign[path] != "" {
		return
	}
	text := fmt.Sprintf("mine since %s\n", time.Since(w.began))
	n.put(path, text)
	n.foreign[path] = text
}

func (w *world) assign(m string, n *node) {
	if c := w.main(); c != nil {
		call(c, api.Assign(), api.AssignIn{Module: m, Node: n.name}, func(api.AssignOut, error) {})
	}
}

func (w *world) unassign(m string, n *node) {
	if c := w.main(); c != nil {
		w.taken = true
		call(c, api.Unassign(), api.UnassignIn{Module: m, Node: n.name}, func(api.AssignOut, error) {})
	}
}

func (w *world) policy(m string) {
	if c := w.main(); c != nil {
		call(c, api.ModulePolicy(), api.PolicyIn{Module: m, Policy: []string{"auto", "manual"}[w.rng.IntN(2)]}, func(api.ModuleOut, error) {})
	}
}

// declare is a person: mostly the newest build, and at times one from before.
func (w *world) declare(m string) {
	c := w.main()
	if c == nil {
		return
	}
	build := ""
	if commits := w.forge.repositories[m].commits; w.rng.IntN(3) == 0 {
		build = commits[w.rng.IntN(len(commits))].id[:12]
	}
	call(c, api.Declare(), api.DeclareIn{Module: m, Build: build}, func(api.DeclareOut, error) {})
}

// status is what the mesh says of itself now.
func (w *world) status() (status.Status, bool) {
	c := w.main()
	if c == nil {
		return status.Status{}, false
	}
	s, err := now(c, api.Status(), api.StatusIn{})
	return s, err == nil
}
