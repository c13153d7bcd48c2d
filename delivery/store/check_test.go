package deliverystore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

// check asks for the n-th check of what this request ended in.
func check(t *testing.T, d *db.DB, of deliverystore.RequestRow, n int64, at time.Time) deliverystore.RequestRow {
	t.Helper()
	r := deliverystore.RequestRow{Request: of.Request, Envelope: of.Envelope, MadeAt: at, Avoid: of.Builder}
	r.Check, r.Attempt = of.ID, n
	var err error
	if r.ID, err = r.Identity(); err != nil {
		t.Fatal(err)
	}
	dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.AddCheck(tx, r) })
	return r
}

func lend(t *testing.T, d *db.DB, l deliverystore.Leasing) *deliverystore.RequestRow {
	t.Helper()
	l.Platform, l.Lease = platform, lease
	var r *deliverystore.RequestRow
	dbtest.Write(t, d, func(tx *db.Tx) (err error) {
		r, err = deliverystore.Lease(tx, l)
		return err
	})
	return r
}

// Who takes a check: a builder that can, after all that is to be delivered, and
// whoever made what is checked only where nobody else does.
func TestWhoMakesACheck(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		made(t, d, "web", "c1", t0())
		of := look(t, d, request(t, "web", "c1", 1, t0()).ID)
		at := t0().Add(time.Hour)
		c := check(t, d, of, 1, at)
		for what, l := range map[string]deliverystore.Leasing{
			"one that cannot":    {Builder: "b2", Now: at, Alone: true},
			"who made it":        {Builder: "b1", Now: at, Checks: true},
			"who made it, later": {Builder: "b1", Now: at.Add(10*time.Minute - 1), Checks: true},
		} {
			if r := lend(t, d, l); r != nil {
				t.Errorf("%s is given %s", what, r.ID)
			}
		}
		add(t, d, request(t, "web", "c2", 1, at.Add(time.Second)))
		if r := lend(t, d, deliverystore.Leasing{Builder: "b2", Now: at, Checks: true}); r == nil || r.Commit != "c2" {
			t.Errorf("before what is to be delivered comes %+v", r)
		}
		dbtest.Write(t, d, func(tx *db.Tx) error {
			return deliverystore.Withdraw(tx, request(t, "web", "c2", 1, t0()).ID, "cancelled by ann", at)
		})
		for _, l := range []deliverystore.Leasing{
			{Builder: "b3", Now: at, Checks: true}, {Builder: "b1", Now: at, Checks: true, Alone: true}, {Builder: "b1", Now: at.Add(10 * time.Minute), Checks: true},
		} {
			r := lend(t, d, l)
			if r == nil || r.ID != c.ID || r.Check != of.ID || r.Avoid != "b1" {
				t.Fatalf("%+v is given %+v", l, r)
			}
			lapse(t, d, at.Add(time.Hour))
			c = check(t, d, of, c.Attempt+1, at)
			dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.Withdraw(tx, r.ID, "cancelled by ann", at) })
		}
	})
}

// What comes of a check is held against what it checks, and is nothing else: no
// build, no verdict, nothing that the comparison asks about or a person means who
// names a commit. Where it is not the same, that is a finding about the build.
func TestACheckDecidesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web")
		id := made(t, d, "web", "c1", t0())
		of := look(t, d, request(t, "web", "c1", 1, t0()).ID)
		answer := func(n int64, change func(*build.Answer)) deliverystore.RequestRow {
			at := t0().Add(time.Duration(n) * time.Hour)
			c := check(t, d, of, n, at)
			if r := lend(t, d, deliverystore.Leasing{Builder: "b2", Now: at, Checks: true}); r == nil || r.ID != c.ID {
				t.Fatalf("check %d was not given", n)
			}
			a := built(t, c, "b2", "content of c1")
			change(&a)
			if got := save(t, d, a, at); got != deliverystore.SavedFirst {
				t.Fatalf("check %d is %s", n, got)
			}
			if got := save(t, d, a, at); got != deliverystore.SavedAgain {
				t.Errorf("the same answer to check %d again is %s", n, got)
			}
			return c
		}
		finding := func() string {
			var out string
			dbtest.Read(t, d, func(tx *db.Tx) error {
				all, err := deliverystore.MadeBuilds(tx, "web")
				if err == nil && (len(all) != 1 || all[0].ID != id || all[0].Verdict != verdict.Fit || all[0].Builder != "b1") {
					t.Errorf("the builds are %+v", all)
				}
				out = all[0].Finding
				return err
			})
			return out
		}
		same := answer(1, func(a *build.Answer) { a.Tests = build.TestsFailed })
		if f := finding(); f != "" {
			t.Errorf("one that is the same is a finding: %s", f)
		}
		failed := answer(2, func(a *build.Answer) {
			*a = build.Answer{Request: a.Request, Builder: a.Builder, Outcome: build.OutcomeFailed, Step: build.StepClone, Why: "gone"}
		})
		other := answer(3, func(a *build.Answer) {
			b := built(t, deliverystore.RequestRow{Request: look(t, d, a.Request).Request}, "b2", "other")
			*a = b
		})
		if f := finding(); f == "" {
			t.Error("one that is not the same is no finding")
		}
		var checks []deliverystore.CheckRow
		var wait []deliverystore.Uncompared
		dbtest.Read(t, d, func(tx *db.Tx) (err error) {
			if checks, err = deliverystore.Checks(tx, of.ID); err != nil {
				return err
			}
			if of, err := deliverystore.WithoutFiles(tx); err != nil || !slices.Equal(of, []string{"web"}) {
				t.Errorf("there are files to compare of %v, %v", of, err)
			}
			wait, err = deliverystore.ToCompare(tx, "web")
			return err
		})
		if len(checks) != 3 || checks[0].Request != other.ID || checks[1].Request != failed.ID || checks[2].Request != same.ID {
			t.Fatalf("the checks are %+v", checks)
		}
		if c := checks[2]; !c.Same || !c.Compared || c.Made != id || len(c.Differences) != 0 || c.Build != "" || c.Verdict != verdict.Outstanding || c.State != "built" {
			t.Errorf("one that is the same: %+v", c)
		}
		if c := checks[1]; c.Same || c.Made != "" || c.State != "failed" {
			t.Errorf("one that failed: %+v", c)
		}
		want := []build.Difference{{Artifact: "site", Type: "archive", Was: document.Sum([]byte("content of c1")), Is: document.Sum([]byte("other"))}}
		if diff := cmp.Diff(want, checks[0].Differences); diff != "" || checks[0].Same || checks[0].Compared || len(wait) != 1 || wait[0].Request != other.ID {
			t.Errorf("one that differs: %s %+v, and to compare is %+v", diff, checks[0], wait)
		}
		if was, is, has := wait[0].HasFiles(want[0]); !has || was.Index != want[0].Was || is.Index != want[0].Is {
			t.Errorf("its archives travel as %+v and %+v", was, is)
		}
		want[0].Files = []build.FileDifference{{Path: "a", What: "other bytes"}}
		dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.SaveCompared(tx, other.ID, want) })
		dbtest.Read(t, d, func(tx *db.Tx) (err error) {
			if checks, err = deliverystore.Checks(tx, of.ID); err != nil {
				return err
			}
			if diff := cmp.Diff(want, checks[0].Differences); diff != "" || !checks[0].Compared {
				t.Error(diff)
			}
			if wait, err = deliverystore.ToCompare(tx, "web"); len(wait) != 0 {
				t.Errorf("to compare is still %+v", wait)
			}
			if of, err := deliverystore.WithoutFiles(tx); len(of) != 0 {
				t.Errorf("there are still files to compare of %v, %v", of, err)
			}
			return err
		})
		var asked []delivery.Asked
		dbtest.Read(t, d, func(tx *db.Tx) (err error) {
			if asked, err = deliverystore.Asked(tx, "web"); err != nil || len(asked) != 1 {
				t.Errorf("the comparison sees %d requests, %v", len(asked), err)
			}
			if _, there, err := deliverystore.AskedOne(tx, other.ID); there || err != nil {
				t.Errorf("it sees a check: %v", err)
			}
			for _, word := range []string{"c1", string(id), of.ID} {
				if found, err := deliverystore.FindRequest(tx, word); found != of.ID {
					t.Errorf("%q means %q, %v", word, found, err)
				}
			}
			found, err := deliverystore.FindRequest(tx, other.ID[:20])
			if found != other.ID {
				t.Errorf("a check is not found by its id: %q", found)
			}
			past, _ := deliverystore.PastOf(tx, "web", platform, 9)
			if len(past) != 1 {
				t.Errorf("%d builds say what is usual", len(past))
			}
			return err
		})
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error { return deliverystore.AddCheck(tx, of) }), fault.Broken)
	})
}
