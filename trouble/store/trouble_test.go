package troublestore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/trouble"
	troublestore "noxmesh/trouble/store"
)

func TestTroubleIsKeptUntilItIsCleared(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
		var kept trouble.Trouble
		for n := range 3 {
			kept = kept.Again("source/site", "unreachable", "no route\x1b[0m", now.Add(time.Duration(n)*time.Minute))
			dbtest.Write(t, d, func(tx *db.Tx) error { return troublestore.Save(tx, kept) })
			kept = kept.Again("source/site", "denied", "", now.Add(time.Duration(n)*time.Minute))
			dbtest.Write(t, d, func(tx *db.Tx) error { return troublestore.Save(tx, kept) })
		}
		others := []trouble.Trouble{
			trouble.Trouble{}.Again("Source/site", "f", "", now),
			trouble.Trouble{}.Again("source", "f", "", now),
			trouble.Trouble{}.Again("source-x/%", "f", "", now),
			trouble.Trouble{}.Again("source/a_", "f", "", now),
		}
		for _, o := range others {
			dbtest.Write(t, d, func(tx *db.Tx) error { return troublestore.Save(tx, o) })
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			all, err := troublestore.All(tx)
			if err != nil {
				return err
			}
			if diff := cmp.Diff([]trouble.Trouble{others[0], others[1], others[2], others[3], kept}, all); diff != "" {
				t.Error(diff)
			}
			for prefix, want := range map[string][]trouble.Trouble{
				"source/": {others[3], kept}, "source/a": {others[3]}, "source/%": nil, "s_urce/": nil, "": all, "source/site/more": nil,
			} {
				got, err := troublestore.ByPrefix(tx, prefix)
				if err != nil {
					return err
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%q: %s", prefix, diff)
				}
			}
			if !all[4].Stuck() {
				t.Error("three alike are not stuck")
			}
			return nil
		})
		for range 2 {
			dbtest.Write(t, d, func(tx *db.Tx) error { return troublestore.Clear(tx, "source/site") })
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			all, err := troublestore.All(tx)
			if diff := cmp.Diff(others, all); diff != "" {
				t.Error(diff)
			}
			return err
		})
	})
}
