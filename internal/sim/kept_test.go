package sim

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"noxmesh/controller"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/host/keep"
	"noxmesh/internal/db"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
)

// mostRecord bounds the record of a seed, which has a handful of modules and an
// hour: what grows with every look or message is far above it.
const mostRecord = 8 << 20

// secrets are the keys of the world, each with the file that it may stand in.
func (w *world) secrets() []observe.Secret {
	all := []observe.Secret{{Name: "the key that declares", Bytes: w.who.Declare.Seed()}}
	broker, seal := observe.Secret{Name: "a key for the broker", Bytes: []byte(w.fixed.nats)}, observe.Secret{Name: "a key that opens what is sealed", Bytes: []byte(w.fixed.seal)}
	for _, n := range w.nodes {
		home := filepath.Join(n.root, keep.Path, "identity")
		all = append(all, observe.Secret{Name: "the key of " + n.name, Bytes: n.key.Seed(), Homes: []string{home, snapshotOf(n, home)}})
		broker.Homes, seal.Homes = append(broker.Homes, home, snapshotOf(n, home)), append(seal.Homes, home, snapshotOf(n, home))
	}
	for _, b := range w.makers {
		home := filepath.Join(b.dir, "identity.json")
		all = append(all, observe.Secret{Name: "the key of " + b.name, Bytes: b.key.Seed(), Homes: []string{home}})
		broker.Homes = append(broker.Homes, home)
	}
	return append(all, broker, seal)
}

// snapshotOf is a file of a node's disk in the copy that was taken of it.
func snapshotOf(n *node, path string) string {
	return n.snapshot + strings.TrimPrefix(path, n.root)
}

// keeps is what has been kept of everything that was said and done: no secret
// outside its home, nothing without end, and nothing left behind once all is out.
func (w *world) keeps(seen *invariant.Seen, settled bool) {
	hunt := observe.Seek(w.secrets())
	w.must(hunt.Folder(w.dir))
	for d, b := range w.registry.blobs {
		hunt.Text("blob "+d.Short(), b)
	}
	seen.Canaries = hunt.Found()
	info, err := os.Stat(w.record)
	w.must(err)
	seen.Usage = append(seen.Usage, invariant.Usage{What: "bytes of the record", Used: info.Size(), Most: mostRecord})
	if !settled {
		return
	}
	for _, n := range w.nodes {
		left, err := leftIn(n.root)
		w.must(err)
		seen.Left = append(seen.Left, left...)
	}
	w.must(w.main().db.Read(w.ctx, func(tx *db.Tx) error {
		there, err := deliverystore.Modules(tx)
		if err != nil {
			return err
		}
		known := map[string]bool{}
		for _, m := range there {
			known[m.Name] = true
		}
		return deliverystore.Codes(tx, func(some []deliverystore.Coded) {
			for _, c := range some {
				if !known[c.Module] {
					seen.Left = append(seen.Left, "what the code of "+c.Module+" says")
				}
				delete(known, c.Module)
			}
		})
	}))
}

// leftIn is what a host has written beside a file that takes its place, and does
// not any more.
func leftIn(root string) (left []string, err error) {
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(filepath.Base(path), ".mesh-new-") {
			left = append(left, path)
		}
		return err
	})
	return left, err
}

// What is looked for is found: a secret where it may not be, and what was left
// behind.
func TestWhatIsKeptIsLookedAt(t *testing.T) {
	t.Parallel()
	w := world{dir: t.TempDir(), fixed: fixed{nats: "a seed of the broker", seal: "a seed of what is sealed"}, who: controller.Identity{Declare: keyOf("the mesh")}}
	n := &node{name: "n1", root: filepath.Join(w.dir, "n1"), key: keyOf("n1")}
	w.nodes = []*node{n}
	put := func(path string, text []byte) {
		at := filepath.Join(w.dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	found := func() (all []string) {
		hunt := observe.Seek(w.secrets())
		left, err := leftIn(n.root)
		if err := errors.Join(err, hunt.Folder(w.dir)); err != nil {
			t.Fatal(err)
		}
		for _, c := range hunt.Found() {
			all = append(all, c.Found...)
		}
		return append(all, left...)
	}
	home := filepath.Join("n1", keep.Path, "identity")
	put(home, []byte(hex.EncodeToString(n.key.Seed())+w.fixed.nats+w.fixed.seal))
	if got := found(); len(got) > 0 {
		t.Errorf("all are at home, and found: %v", got)
	}
	put("n1/etc/motd", []byte(base64.StdEncoding.EncodeToString(n.key.Seed())))
	put("controller.db", w.who.Declare.Seed())
	put("n1/etc/.mesh-new-1", nil)
	want := []string{filepath.Join(w.dir, "controller.db"), filepath.Join(w.dir, "n1/etc/motd"), filepath.Join(w.dir, "n1/etc/.mesh-new-1")}
	if got := found(); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
