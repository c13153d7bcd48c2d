package deliverystore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

func list(t *testing.T, d *db.DB, l deliverystore.Listing) (all []deliverystore.Attempt) {
	t.Helper()
	dbtest.Read(t, d, func(tx *db.Tx) (err error) {
		all, err = deliverystore.Builds(tx, l)
		return err
	})
	return all
}

// The list is the same whether it is read at once or page by page, and each of
// its conditions holds of all that it gives.
func TestTheRecordOfBuildsIsReadInPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for i := range 12 { // several at one moment
			at := t0().Add(time.Duration(i/3) * time.Minute)
			add(t, d, request(t, []string{"web", "dns"}[i%2], fmt.Sprintf("c%d", i), 1, at))
		}
		for _, tests := range []build.Tests{build.TestsPassed, build.TestsFailed, build.TestsNone} {
			r := mustTake(t, d, "b1", t0().Add(time.Hour))
			a := built(t, r, "b1", r.Commit)
			a.Tests = tests
			save(t, d, a, t0().Add(time.Hour))
		}
		for _, outcome := range []build.Outcome{build.OutcomeFailed, build.OutcomeEnvironment} {
			r := mustTake(t, d, "b1", t0().Add(time.Hour))
			save(t, d, build.Answer{Request: r.ID, Builder: "b1", Outcome: outcome, Step: build.StepBuild}, t0().Add(time.Hour))
		}
		whole := list(t, d, deliverystore.Listing{})
		if len(whole) != 12 {
			t.Fatalf("%d builds", len(whole))
		}
		for _, l := range []deliverystore.Listing{{}, {Module: "web"}, {Failed: true}, {Since: t0().Add(2 * time.Minute)}, {Module: "dns", Failed: true, Since: t0()}} {
			var want, got []string
			for _, a := range whole {
				failed := a.State == "failed" || a.State == "environment" || a.Tests == build.TestsFailed
				if (l.Module == "" || a.Module == l.Module) && (!l.Failed || failed) && !a.Asked.Before(l.Since) {
					want = append(want, a.Request)
				}
			}
			for l.Limit = 2; ; {
				page := list(t, d, l)
				for _, a := range page {
					got = append(got, a.Request)
				}
				if len(page) < l.Limit {
					break
				}
				l.Before = page[len(page)-1].Request
			}
			if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
				t.Errorf("%+v: %s", l, diff)
			}
		}
		wantKind(t, d.Read(t.Context(), func(tx *db.Tx) error {
			_, err := deliverystore.Builds(tx, deliverystore.Listing{Before: "none"})
			return err
		}), fault.NotFound, "none")
	})
}

// A request that killed its builders is among the failed; one that somebody has
// taken back is not.
func TestWhatIsWithdrawnAmongTheFailed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "web", "c1", 1, t0()), request(t, "dns", "c2", 1, t0()))
		dbtest.Write(t, d, func(tx *db.Tx) error {
			return deliverystore.Withdraw(tx, request(t, "dns", "c2", 1, t0()).ID, "cancelled by ann", t0())
		})
		for i := range 3 {
			at := t0().Add(time.Duration(i) * time.Hour)
			mustTake(t, d, "b1", at)
			lapse(t, d, at.Add(lease))
		}
		all := list(t, d, deliverystore.Listing{Failed: true})
		if len(all) != 1 || all[0].Commit != "c1" || all[0].State != "withdrawn" {
			t.Errorf("failed are %+v", all)
		}
	})
}

func TestWhatABuildIsAtAndHowLongItTook(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "web", "c1", 1, t0()))
		r := mustTake(t, d, "b1", t0())
		one := func() (a deliverystore.Attempt) {
			dbtest.Read(t, d, func(tx *db.Tx) (err error) {
				a, err = deliverystore.OneAttempt(tx, r.ID)
				return err
			})
			return a
		}
		at := func(step string, since time.Time) {
			dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.Doing(tx, r.ID, step, since) })
		}
		if a := one(); a.Doing != "" || !a.DoingSince.IsZero() || a.Builder != "b1" {
			t.Errorf("one that was just given: %+v", a)
		}
		at("clone", t0().Add(time.Second))
		at("build", t0().Add(2*time.Second))
		at("build", t0().Add(3*time.Second)) // when it began is said once
		if a := one(); a.Doing != "build" || !a.DoingSince.Equal(t0().Add(2*time.Second)) {
			t.Errorf("it is at %q since %s", a.Doing, a.DoingSince)
		}
		lapse(t, d, t0().Add(lease))
		mustTake(t, d, "b2", t0().Add(lease))
		if a := one(); a.Doing != "" {
			t.Errorf("what another builder was at is said of this one: %+v", a)
		}
		at("pack", t0().Add(lease))
		a := built(t, r, "b2", "one")
		a.Steps = []build.Took{{Step: "clone", Took: 5}, {Step: "build", Took: 7}}
		save(t, d, a, t0().Add(2*lease))
		got := one()
		if diff := cmp.Diff(a.Steps, got.Steps); diff != "" || got.Doing != "" || got.State != "built" {
			t.Errorf("%s %+v", diff, got)
		}
		if len(got.Artifacts) != 1 || got.Artifacts[0].Name != "site" || got.Artifacts[0].Size != 2 {
			t.Errorf("it has published %+v", got.Artifacts)
		}
		wantKind(t, d.Read(t.Context(), func(tx *db.Tx) error { _, err := deliverystore.OneAttempt(tx, "none"); return err }), fault.NotFound)
	})
}

// What is usual is said by the last builds of that module and platform that ended
// well, and by no others.
func TestThePastOfAModule(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		end := func(module, commit string, minute int, change func(*build.Answer)) {
			at := t0().Add(time.Duration(minute) * time.Minute)
			add(t, d, request(t, module, commit, 1, at))
			r := mustTake(t, d, "b1", at)
			a := built(t, r, "b1", module+commit)
			a.Began, a.Ended, a.Steps = 1000, 1000+int64(minute)*1000, []build.Took{{Step: "build", Took: int64(minute)}}
			if change != nil {
				change(&a)
			}
			save(t, d, a, at)
		}
		for i := range 5 {
			end("web", fmt.Sprintf("c%d", i), i, nil)
		}
		end("web", "c5", 5, func(a *build.Answer) { a.Tests = build.TestsFailed })
		end("dns", "c6", 6, nil)
		end("web", "c7", 7, func(a *build.Answer) {
			*a = build.Answer{Request: a.Request, Builder: a.Builder, Outcome: build.OutcomeFailed, Step: build.StepBuild, Ended: 99}
		})
		end("web", "c8", 8, func(a *build.Answer) { a.Steps, a.Ended = nil, 0 }) // its clock was set back
		past := func(module, platform string) (all []delivery.Past) {
			dbtest.Read(t, d, func(tx *db.Tx) (err error) {
				all, err = deliverystore.PastOf(tx, module, platform, 3)
				return err
			})
			return all
		}
		want := []delivery.Past{
			{}, {Took: 4 * time.Second, Steps: []build.Took{{Step: "build", Took: 4}}}, {Took: 3 * time.Second, Steps: []build.Took{{Step: "build", Took: 3}}},
		}
		if diff := cmp.Diff(want, past("web", platform)); diff != "" {
			t.Error(diff)
		}
		if all := past("web", "linux/arm64"); len(all) != 0 {
			t.Errorf("for another platform there is %v", all)
		}
	})
}
