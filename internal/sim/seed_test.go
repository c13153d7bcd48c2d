package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/api"
	"noxmesh/controller"
	"noxmesh/document"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/db"
	"noxmesh/internal/invariant"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/manifest"
)

// result is what a seed came to.
type result struct {
	seed     uint64
	findings []string
	trace    []string
	hash     uint64
	steps    int
	took     time.Duration // by the clock of the seed
}

// play runs one seed from its beginning to its end.
func play(t *testing.T, seed uint64) result {
	t.Helper()
	return run(t, seed, *trace || *verbose)
}

// traced is play with the trace of it.
func traced(t *testing.T, seed uint64) result {
	t.Helper()
	return run(t, seed, true)
}

func run(t *testing.T, seed uint64, traced bool) (r result) {
	t.Helper()
	f, err := made()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(shm(), "mesh-sim-") //nolint:usetesting // in memory, and gone with its seed
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		w := newWorld(ctx, seed, dir, f)
		w.traced = traced
		defer func() {
			if p := recover(); p != nil {
				text := fmt.Sprint("the simulation itself: ", p)
				if s, ok := p.(stopped); ok {
					text = "the simulation itself: " + s.why
				} else {
					text += "\n" + string(debug.Stack())
				}
				w.findings = append(w.findings, text)
			}
			w.end()
			r = result{seed, w.findings, w.shown, w.hash, w.steps, time.Since(w.began)}
		}()
		w.begins()
		w.storm()
		w.settle()
	})
	return r
}

func newWorld(ctx context.Context, seed uint64, dir string, f fixed) *world {
	w := &world{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 0x6d657368)), dir: dir, ctx: ctx, fixed: f, registry: newRegistry(),
		opened: map[string][]*db.DB{}, lives: map[string]int{}, unsaid: map[string]bool{}, newest: map[string]int{}, natures: map[int]nature{}, content: map[document.Digest]*commit{},
		made: map[document.Digest]manifest.Built{}, given: map[document.Digest]string{},
		paths: map[string]map[string]bool{}, began: time.Now(), evil: keyOf("the broker"),
	}
	w.queue.posted = make(chan struct{}, 1)
	w.office.seen = map[string][][]byte{}
	w.forge.repositories = map[string]*repository{}
	root, declare := keyOf("root"), keyOf("declare")
	keys, err := link.Seal(root, link.TypeKeys, link.Keys{Format: link.Format, Mesh: "simulate", Version: 1, Declare: []link.PublicKey{declare.Public()}})
	w.must(err)
	w.who = controller.Identity{Mesh: "simulate", Root: root.Public(), Declare: declare, Keys: keys, Version: 1}
	return w
}

// begins is a mesh in which everybody has joined and nothing has been delivered.
func (w *world) begins() {
	w.calm = true
	defer func() { w.calm = false }()
	w.record, w.holder = filepath.Join(w.dir, "record.db"), "holder0000"
	for i := range 1 + w.rng.IntN(3) {
		w.join(fmt.Sprintf("node%d", i+1))
	}
	for i := range 1 + w.rng.IntN(2) {
		w.hire(fmt.Sprintf("maker%d", i+1))
	}
	w.enrolled()
	for _, m := range []string{site, motd, kit} {
		w.forge.repositories[m], w.paths[m] = &repository{}, map[string]bool{}
		w.commit(m)
	}
	c := w.raise("controller", w.record, w.holder)
	for _, m := range []string{site, motd, kit} {
		_, err := now(c, api.ModuleAdd(), api.ModuleAddIn{Module: m, Repository: "https://forge.test/" + m + ".git"})
		w.must(err)
		if w.rng.IntN(5) > 0 {
			_, err = now(c, api.ModulePolicy(), api.PolicyIn{Module: m, Policy: "auto"})
			w.must(err)
		}
	}
	for _, n := range w.nodes {
		for _, m := range []string{site, motd, kit} {
			if w.rng.IntN(3) > 0 {
				_, err := now(c, api.Assign(), api.AssignIn{Module: m, Node: n.name})
				w.must(err)
			}
		}
		n.start()
	}
	for _, b := range w.makers {
		b.start()
	}
}

// enrolled makes the record in which everybody has joined. It is the same for as
// many nodes and builders, so that it is made once.
func (w *world) enrolled() {
	e := w.fixed.enrolled
	e.mu.Lock()
	defer e.mu.Unlock()
	of := [2]int{len(w.nodes), len(w.makers)}
	if e.records[of] == nil {
		w.enrol()
		made, err := os.ReadFile(w.record)
		w.must(err)
		e.records[of] = made
	}
	w.must(os.WriteFile(w.record, e.records[of], 0o600))
}

// enrol records the keys of everybody, as joining does.
func (w *world) enrol() {
	w.must(os.WriteFile(w.record, w.fixed.record, 0o600))
	d, err := db.Open(w.ctx, "sqlite:"+w.record)
	w.must(err)
	_, err = d.Resume(w.ctx, w.holder)
	w.must(err)
	w.must(d.Write(w.ctx, func(tx *db.Tx) error {
		for _, n := range w.nodes {
			if err := inventorystore.AddNode(tx, inventorystore.NewNode{ID: n.id, Name: n.name, By: "sim", At: time.Now()}); err != nil {
				return err
			}
			j := inventorystore.Joining{ID: n.id, Sign: n.key.Public(), Nats: n.name, Seal: n.name, Host: "sim", Speaks: []int{1}, At: time.Now()}
			if err := inventorystore.JoinNode(tx, j); err != nil {
				return err
			}
		}
		for _, b := range w.makers {
			row := identitystore.BuilderRow{ID: b.id, Name: b.name, Sign: b.key.Public(), Nats: b.name, Version: "sim", AddedAt: time.Now()}
			if err := identitystore.AddBuilder(tx, row); err != nil {
				return err
			}
		}
		return nil
	}))
	w.must(d.Close())
}

// storm is the time in which everything goes wrong.
func (w *world) storm() {
	for range 8 + w.rng.IntN(18) {
		w.run(time.Duration(w.rng.IntN(25_000))*time.Millisecond, nil)
		if w.stop {
			return
		}
		w.deed()
		if w.rng.IntN(3) == 0 {
			w.check(invariant.Always)
		}
	}
}

// end puts everything down. What is still under way is lost.
func (w *world) end() {
	for _, n := range w.nodes {
		n.stop()
		n.forgetDisk()
	}
	for _, b := range w.makers {
		b.stop()
	}
	for len(w.controllers) > 0 {
		w.bury(w.controllers[0])
	}
	for record := range w.opened {
		w.shut(record)
	}
	synctest.Wait()
}
