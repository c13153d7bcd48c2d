package inventorystore_test

import (
	"context"
	"testing"

	"noxmesh/internal/db"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
)

// BenchmarkHello is one hello in one durable write: what a node costs when nothing changes.
func BenchmarkHello(b *testing.B) {
	ctx := context.Background()
	d, err := db.Open(ctx, "sqlite:"+b.TempDir()+"/record.db")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Resume(ctx, "c"); err != nil {
		b.Fatal(err)
	}
	write := func(f func(tx *db.Tx) error) {
		if err := d.Write(ctx, f); err != nil {
			b.Fatal(err)
		}
	}
	write(func(tx *db.Tx) error {
		return inventorystore.AddNode(tx, inventorystore.NewNode{ID: n1, Name: "web", At: t0()})
	})
	counter := int64(0)
	for b.Loop() {
		counter++
		write(func(tx *db.Tx) error {
			_, err := inventorystore.Heard(tx, link.Hello{Node: n1, Counter: counter, Accepted: tuple(1, 1, "a")}, t0())
			return err
		})
	}
}
