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
)

// What was worked out of an older look takes no place above what was issued
// since, and does not stand in its way to the node.
func TestAnOlderLookIssuesNothing(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.Dir, cfg.Names, cfg.Listen, cfg.Broker = t.TempDir(), []string{"127.0.0.1"}, "127.0.0.1:0", "127.0.0.1:0"
	cfg.Socket = filepath.Join(cfg.Dir, "s")
	cfg.Log = slog.New(slog.DiscardHandler)
	c, err := start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close(t.Context())
	const id = "node1234"
	issue := func(what string) inventory.Node {
		var n inventory.Node
		err := c.write(t.Context(), func(tx *db.Tx) error {
			_, err := inventorystore.Issue(tx, inventorystore.Issuing{Node: id, Digest: document.Sum([]byte(what)), At: time.Now()})
			if err == nil {
				n, err = inventorystore.Node(tx, id)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	err = c.write(t.Context(), func(tx *db.Tx) error {
		return inventorystore.AddNode(tx, inventorystore.NewNode{ID: id, Name: "node", By: "test", At: time.Now()})
	})
	if err != nil {
		t.Fatal(err)
	}
	issue("first")
	old, err := c.lookAt(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	now := issue("second")
	if _, err := c.workOut(t.Context(), old); !errors.Is(err, errMoved) {
		t.Errorf("an older look issues something: %v", err)
	}
	m, err := c.message(t.Context(), now)
	if err != nil || m.tuple.Generation != 3 {
		t.Errorf("the next look gives %+v, %v", m.tuple, err)
	}
	stale := message{tuple: declaration.Tuple{Epoch: 1, Generation: 2, Digest: now.Wanted.Digest}}
	if got := c.outbox.put(id, stale); got.tuple != m.tuple {
		t.Errorf("an older message takes the place of the newer: %+v", got.tuple)
	}
	if got := c.outbox.put(id, message{}); got.tuple != (declaration.Tuple{}) {
		t.Errorf("that nothing is wanted any more does not count: %+v", got.tuple)
	}
}
