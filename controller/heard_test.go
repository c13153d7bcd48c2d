package controller

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
)

func running(t *testing.T) *Controller {
	t.Helper()
	cfg := Default()
	cfg.Dir, cfg.Names, cfg.Listen, cfg.Broker = t.TempDir(), []string{"127.0.0.1"}, "127.0.0.1:0", "127.0.0.1:0"
	cfg.Socket = filepath.Join(cfg.Dir, "s")
	cfg.Log = slog.New(slog.DiscardHandler)
	c, err := start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.close(t.Context()) })
	return c
}

// An older hello changes nothing, and says which number has been heard.
func TestAnOlderHelloIsNotHeard(t *testing.T) {
	t.Parallel()
	c := running(t)
	const id = "node1234"
	err := c.write(t.Context(), func(tx *db.Tx) error {
		return inventorystore.AddNode(tx, inventorystore.NewNode{ID: id, Name: "node", By: "test", At: time.Now()})
	})
	if err != nil {
		t.Fatal(err)
	}
	n := inventory.Node{ID: id}
	hear := func(counter int64) error {
		return c.hear(t.Context(), &n, link.Hello{Format: 1, Mesh: c.mesh, Node: id, Boot: "b", Counter: counter, Speaks: []int{1}}, time.Now())
	}
	if err := hear(400); err != nil {
		t.Fatal(err)
	}
	if err := hear(12); !errors.Is(err, errHeard) || n.Counter != 400 {
		t.Errorf("%v, and the number is %d", err, n.Counter)
	}
	if err := hear(401); err != nil {
		t.Error(err)
	}
}

// A node that has accepted something is told that nothing is wanted of it, also
// where the record, being older, never issued anything to it.
func TestWhatHasAcceptedSomethingIsTold(t *testing.T) {
	t.Parallel()
	w := &workedOut{digest: document.Sum([]byte("nothing")), empty: true}
	if got := w.of(inventory.Node{}); got != "" {
		t.Errorf("%s is wanted of a node that has never been told anything", got.Short())
	}
	if got := w.of(inventory.Node{Accepted: declaration.Tuple{Epoch: 1, Generation: 1, Digest: document.Sum([]byte("a"))}}); got != w.digest {
		t.Errorf("%q is wanted of a node that has accepted something", got)
	}
}
