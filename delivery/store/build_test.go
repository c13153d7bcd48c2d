package deliverystore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

func TestAnAnswerIsOneFact(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "web", "c1", 1, t0()))
		r := mustTake(t, d, "b1", t0())
		lapse(t, d, t0().Add(lease))
		mustTake(t, d, "b2", t0().Add(lease))
		first := built(t, r, "b2", "one")
		at := t0().Add(5 * time.Minute)
		if got := save(t, d, first, at); got != deliverystore.SavedFirst {
			t.Errorf("the first answer is %q", got)
		}
		if got := save(t, d, first, at.Add(time.Hour)); got != deliverystore.SavedAgain {
			t.Errorf("the same answer is %q", got)
		}
		if got := save(t, d, built(t, r, "b1", "one"), at); got != deliverystore.SavedAgain {
			t.Errorf("the late builder's equal answer is %q", got)
		}
		if got := save(t, d, build.Answer{Request: r.ID, Builder: "b1", Outcome: build.OutcomeEnvironment}, at); got != deliverystore.SavedAgain {
			t.Errorf("a late answer about the environment is %q", got)
		}
		want := artifact.Build{
			ID: first.Build, Content: first.Content, Module: "web", Manifest: *first.Manifest, Where: *first.Where, Verdict: verdict.Fit,
			Request: r.ID, Builder: "b2", At: at, Sequence: 1, Published: first.Published,
		}
		all := func() (b []artifact.Build) {
			dbtest.Read(t, d, func(tx *db.Tx) (err error) {
				b, err = deliverystore.MadeBuilds(tx, "web")
				return err
			})
			return b
		}
		if diff := cmp.Diff([]artifact.Build{want}, all()); diff != "" {
			t.Error(diff)
		}
		if got := save(t, d, built(t, r, "b1", "another"), at); got != deliverystore.SavedDiffers {
			t.Errorf("another build of the same request is %q", got)
		}
		after := all()
		if len(after) != 1 || after[0].ID != first.Build || !strings.Contains(after[0].Finding, "b1") || !strings.Contains(after[0].Finding, "b2") {
			t.Errorf("two answers that differ left %+v", after)
		}
		if got := look(t, d, r.ID); got.State != deliverystore.Done || got.Builder != "b2" {
			t.Errorf("the request is %s of %s", got.State, got.Builder)
		}
	})
}

func TestAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "web", "c1", 1, t0()))
		r := mustTake(t, d, "b1", t0())
		other := r
		other.Module = "dns"
		for name, c := range map[string]struct {
			answer func(a build.Answer) build.Answer
			kind   fault.Kind
		}{
			"never given":     {func(a build.Answer) build.Answer { a.Builder = "b2"; return a }, fault.Denied},
			"not asked":       {func(a build.Answer) build.Answer { a.Request = "none"; return a }, fault.NotFound},
			"another module":  {func(build.Answer) build.Answer { return built(t, other, "b1", "x") }, fault.Denied},
			"no manifest":     {func(a build.Answer) build.Answer { a.Manifest = nil; return a }, fault.Invalid},
			"nowhere":         {func(a build.Answer) build.Answer { a.Where = nil; return a }, fault.Invalid},
			"not its digest":  {func(a build.Answer) build.Answer { a.Build = document.Sum([]byte("x")); return a }, fault.Invalid},
			"not its content": {func(a build.Answer) build.Answer { a.Content = document.Sum([]byte("x")); return a }, fault.Invalid},
			"changed afterwards": {func(a build.Answer) build.Answer {
				m := *a.Manifest
				m.Claims = []string{"tcp:1"}
				a.Manifest = &m
				return a
			}, fault.Invalid},
		} {
			_, err := trySave(t, d, c.answer(built(t, r, "b1", "x")), t0())
			if fault.KindOf(err) != c.kind {
				t.Errorf("%s: %v, want %v", name, err, c.kind)
			}
		}
		if got := look(t, d, r.ID); got.State != deliverystore.Leased {
			t.Errorf("a refused answer left the request %s", got.State)
		}
	})
}

func TestEqualBuildsOfTwoRequestsAreOneBuild(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web")
		first := made(t, d, "web", "c1", t0())
		dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.MarkGone(tx, first, t0()) })
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := deliverystore.Declare(tx, deliverystore.DeclareWrite{Module: "web", Build: first, Nodes: []string{"n1"}})
			return err
		}), fault.Conflict, "gone from the registry")
		add(t, d, request(t, "web", "c1", 2, t0().Add(time.Hour)))
		r := mustTake(t, d, "b2", t0().Add(time.Hour))
		again := built(t, r, "b2", "content of c1")
		again.Tests = build.TestsFailed
		again.Where.Archives = nil
		if got := save(t, d, again, t0().Add(2*time.Hour)); got != deliverystore.SavedFirst || again.Build != first {
			t.Fatalf("saved as %q", got)
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			b, err := deliverystore.Build(tx, first)
			if b.Gone || b.Verdict != verdict.Unfit || b.Builder != "b1" || len(b.Where.Archives) != 0 || !b.At.Equal(t0().Add(time.Second)) {
				t.Errorf("built again: %+v", b)
			}
			return err
		})
		if diff := cmp.Diff([]string{"web c1 built", "web c1 built"}, attempts(t, d, "web")); diff != "" {
			t.Error(diff)
		}
		dbtest.Write(t, d, func(tx *db.Tx) error {
			if err := deliverystore.MarkPresent(tx, first); err != nil {
				return err
			}
			return deliverystore.SetVerdict(tx, deliverystore.Judgement{Build: first, By: "lab", Verdict: verdict.Fit, At: t0()})
		})
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error { return deliverystore.MarkGone(tx, "sha256:none", t0()) }), fault.NotFound)
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error {
			return deliverystore.SetVerdict(tx, deliverystore.Judgement{Build: "sha256:none", By: "lab", Verdict: verdict.Fit, At: t0()})
		}), fault.NotFound)
	})
}

func TestTheRecordOfBuilds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addModule(t, d, "web")
		good := made(t, d, "web", "c0", t0())
		add(t, d, request(t, "web", "c1", 1, t0().Add(time.Minute)))
		r := mustTake(t, d, "b1", t0().Add(time.Minute))
		why := "tar: \x1b]0;owned\x07 no space\x00left"
		failed := build.Answer{Request: r.ID, Builder: "b1", Outcome: build.OutcomeFailed, Step: build.StepPack, Why: why, LogSize: 3, Began: 5, Ended: 9}
		save(t, d, failed, t0().Add(2*time.Minute))
		add(t, d, request(t, "web", "c1", 2, t0().Add(3*time.Minute)))
		leased := mustTake(t, d, "b2", t0().Add(3*time.Minute))
		add(t, d, request(t, "web", "c2", 1, t0().Add(4*time.Minute)), request(t, "dns", "c9", 1, t0().Add(5*time.Minute)))
		if diff := cmp.Diff([]string{"web c2 open", "web c1 leased", "web c1 failed", "web c0 built"}, attempts(t, d, "web")); diff != "" {
			t.Error(diff)
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			all, err := deliverystore.Builds(tx, deliverystore.Listing{Limit: 4})
			if err != nil || len(all) != 4 || all[0].Module != "dns" {
				t.Fatalf("%d lines of every module, %v", len(all), err)
			}
			want := deliverystore.Attempt{
				Request: r.ID, Module: "web", Commit: "c1", Tree: "tree-of-c1", Platform: platform, Number: 1, State: "failed",
				Outcome: build.OutcomeFailed, Step: build.StepPack, Why: strings.ReplaceAll(why, "\x00", "\uFFFD"), Builder: "b1",
				Asked: t0().Add(time.Minute), Began: db.Time(5), Ended: db.Time(9), At: t0().Add(2 * time.Minute), LogSize: 3,
			}
			if diff := cmp.Diff(want, all[3]); diff != "" {
				t.Error(diff)
			}
			asked, err := deliverystore.Asked(tx, "web")
			wantAsked := delivery.Asked{
				ID: r.ID, Closure: artifact.Closure{Tree: "tree-of-c1", Platform: platform, Inputs: r.Closure}, Attempt: 1,
				State: delivery.Done, Builder: "b1", Since: t0().Add(2 * time.Minute), Outcome: build.OutcomeFailed, Step: build.StepPack, Why: want.Why,
			}
			if len(asked) != 4 {
				t.Fatalf("asked %d times", len(asked))
			}
			if diff := cmp.Diff(wantAsked, asked[1]); diff != "" {
				t.Error(diff)
			}
			if asked[2].State != delivery.Leased || asked[2].Builder != "b2" || !asked[2].Since.Equal(leased.LeasedAt) {
				t.Errorf("the one under way: %+v", asked[2])
			}
			return err
		})
		find := func(word string) (id string, err error) {
			err = d.Read(t.Context(), func(tx *db.Tx) error {
				id, err = deliverystore.FindRequest(tx, word)
				return err
			})
			return id, err
		}
		for word, want := range map[string]string{r.ID: r.ID, r.ID[:16]: r.ID, "c1": leased.ID, good.Hex()[:12]: request(t, "web", "c0", 1, t0()).ID, string(good): request(t, "web", "c0", 1, t0()).ID} {
			if got, err := find(word); err != nil || got != want {
				t.Errorf("%q finds %q, %v; want %q", word, got, err, want)
			}
		}
		_, err := find("c")
		wantKind(t, err, fault.Invalid, "give more of it", "4 builds begin with", leased.ID[:12]+" (web at c1)", "(dns at c9)")
		_, err = find("")
		wantKind(t, err, fault.Invalid)
		_, err = find("' OR 1=1 --")
		wantKind(t, err, fault.Invalid)
		_, err = find("ffffffffffffffffffff")
		wantKind(t, err, fault.NotFound)
	})
}

// That a builder could not is no answer of a request that another has, or may
// have: a builder that was told to stop would otherwise end the other's build.
func TestThatOneCouldNotIsNoAnswerForAnother(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "web", "c1", 1, t0()))
		r := mustTake(t, d, "b1", t0())
		stopped := build.Answer{Request: r.ID, Builder: "b1", Outcome: build.OutcomeEnvironment, Why: "stopped: it was given to b2"}
		still := func(when string, state deliverystore.State, builder string) {
			t.Helper()
			if got := save(t, d, stopped, t0().Add(lease)); got != deliverystore.SavedNot {
				t.Errorf("%s: it is %q", when, got)
			}
			if got := look(t, d, r.ID); got.State != state || got.Builder != builder {
				t.Errorf("%s: the request is %s of %q", when, got.State, got.Builder)
			}
		}
		lapse(t, d, t0().Add(lease))
		still("nobody has it", deliverystore.Open, "b1")
		mustTake(t, d, "b2", t0().Add(lease))
		still("the other has it", deliverystore.Leased, "b2")
		if got := save(t, d, built(t, r, "b2", "one"), t0().Add(lease+time.Minute)); got != deliverystore.SavedFirst {
			t.Errorf("the other's answer is %q", got)
		}
	})
}

// A build that fails by itself just as somebody cancels it was cancelled: it has
// not failed, and is not made again. One that was made is there all the same.
func TestWhatFailsAsItIsCancelledWasCancelled(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		why := delivery.CancelledBy + "ann"
		cancelled := func(commit, why string) deliverystore.RequestRow {
			t.Helper()
			add(t, d, request(t, "web", commit, 1, t0()))
			r := mustTake(t, d, "b1", t0())
			dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.Withdraw(tx, r.ID, why, t0()) })
			return r
		}
		r := cancelled("c1", why)
		failed := build.Answer{Request: r.ID, Builder: "b1", Outcome: build.OutcomeFailed, Step: build.StepBuild, Why: "status 1"}
		if got := save(t, d, failed, t0()); got != deliverystore.SavedNot {
			t.Errorf("the failure is %q", got)
		}
		if got := look(t, d, r.ID); got.State != deliverystore.Withdrawn || got.Why != why {
			t.Errorf("the request is %s: %s", got.State, got.Why)
		}
		if got := save(t, d, built(t, r, "b1", "one"), t0()); got != deliverystore.SavedFirst {
			t.Errorf("the build is %q", got)
		}
		r = cancelled("c2", "3 leases of it were lost")
		failed.Request = r.ID
		if got := save(t, d, failed, t0()); got != deliverystore.SavedFirst {
			t.Errorf("the failure of one that was withdrawn for its builders is %q", got)
		}
	})
}

// The provenance is that of each answer; the newest build of a module is found with
// it, and what was refused is no build and says why.
func TestTheProvenanceOfAnAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "web", "c1", 1, t0()))
		r := mustTake(t, d, "b1", t0())
		a := built(t, r, "b1", "x")
		a.Provenance = document.Sum([]byte("provenance"))
		save(t, d, a, t0())
		dbtest.Read(t, d, func(tx *db.Tx) error {
			by, err := deliverystore.AttestedBy(tx, r.ID)
			if err != nil || by.Provenance != a.Provenance || by.Build != a.Build || by.Builder != "b1" || by.Request.ID != r.ID {
				t.Errorf("%+v, %v", by, err)
			}
			if newest, err := deliverystore.NewestAttested(tx, "web"); err != nil || newest.Provenance != a.Provenance {
				t.Errorf("%+v, %v", newest, err)
			}
			if _, err := deliverystore.NewestAttested(tx, "dns"); fault.KindOf(err) != fault.NotFound {
				t.Error(err)
			}
			line, err := deliverystore.OneAttempt(tx, r.ID)
			if line.Provenance != a.Provenance {
				t.Errorf("%+v", line)
			}
			return err
		})
		add(t, d, request(t, "web", "c2", 1, t0()))
		r = mustTake(t, d, "b1", t0())
		dbtest.Write(t, d, func(tx *db.Tx) error {
			refused := build.Answer{Request: r.ID, Builder: "b1", Outcome: build.OutcomeEnvironment, Why: "it does not stand"}
			_, err := deliverystore.SaveAnswer(tx, deliverystore.AnswerRow{Answer: refused, Envelope: []byte(`{}`), At: t0(), Finding: "it does not stand"})
			return err
		})
		dbtest.Read(t, d, func(tx *db.Tx) error {
			if _, err := deliverystore.AttestedBy(tx, r.ID); fault.KindOf(err) != fault.Conflict {
				t.Error(err)
			}
			line, err := deliverystore.OneAttempt(tx, r.ID)
			if line.Finding != "it does not stand" || line.State != "environment" {
				t.Errorf("%+v", line)
			}
			return err
		})
	})
}
