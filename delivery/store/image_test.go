package deliverystore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/environment"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
)

func TestImages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		key := environment.Key("docker.io/library/golang:1.22", "linux/amd64")
		dbtest.Read(t, d, func(tx *db.Tx) error {
			i, known, err := deliverystore.Image(tx, key)
			if known || i != environment.OfKey(key) {
				t.Errorf("nobody has looked, and it is %+v", i)
			}
			return err
		})
		one := environment.Look(environment.OfKey(key), environment.Seen{State: environment.Found, Head: document.Sum([]byte("h")), Digest: document.Sum([]byte("d"))}, time.UnixMilli(1000))
		two := environment.Look(one, environment.Seen{State: environment.Unreachable, Why: "off"}, time.UnixMilli(2000))
		other := environment.Look(environment.OfKey("linux/arm64 docker.io/library/golang:1.22"), environment.Seen{State: environment.NoPlatform, Why: "none"}, time.UnixMilli(3000))
		for _, i := range []environment.Image{one, two, other} {
			dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.SaveImage(tx, i) })
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			all, err := deliverystore.Images(tx)
			if diff := cmp.Diff(map[string]environment.Image{key: two, other.Key(): other}, all); diff != "" {
				t.Error(diff)
			}
			return err
		})
		dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.DropImage(tx, key) })
		dbtest.Read(t, d, func(tx *db.Tx) error {
			_, known, err := deliverystore.Image(tx, key)
			if known {
				t.Error("it is still there")
			}
			return err
		})
	})
}
