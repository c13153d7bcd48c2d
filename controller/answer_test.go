package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mesh "noxmesh"
	"noxmesh/api"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/bus"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// flaky is a registry that does not answer, and counts who asks.
type flaky struct {
	quiet
	asked atomic.Int64
}

func (f *flaky) HasManifest(context.Context, string, document.Digest) (bool, error) {
	f.asked.Add(1)
	return false, fault.New(fault.Unavailable, "the registry does not answer")
}

// Whatever a module is backing off from, an answer of a builder and a commit are
// compared at once: no backoff of minutes stands between them and what follows.
func TestAnAnswerAndACommitAreComparedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stores, forge := &flaky{}, &slowForge{commit: commits.a, begun: time.Now()}
		r := &rig{t: t, root: t.TempDir(), stores: stores, forge: forge, record: dbtest.Open(t, dbtest.SQLite(t), dbtest.Holder)}
		var err error
		r.key, err = link.NewKey()
		r.must(err)
		r.restart()
		builder, err := link.NewKey()
		r.must(err)
		r.tx(func(tx *db.Tx) error {
			return identitystore.AddBuilder(tx, identitystore.BuilderRow{ID: "builder1", Name: "forge", Sign: builder.Public(), AddedAt: clock.Now()})
		})
		r.add("site", api.ModuleAddIn{Repository: "https://git.example.org/web/site", Folder: "site"})
		r.step("site")
		b := r.build("site")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.builds.Run(ctx) }()
		defer func() { cancel(); <-done }()
		time.Sleep(time.Hour) // the wait is now the longest
		synctest.Wait()

		before := stores.asked.Load()
		r.builds.Nudge("site")
		synctest.Wait()
		if stores.asked.Load() != before {
			t.Fatal("it is not backing off")
		}
		answer := build.Answer{
			Format: build.Format, Mesh: "mesh0001", Request: b.Request, Builder: "builder1", Outcome: build.OutcomeFailed, Step: build.StepBuild, Why: "exit 1",
			Log: document.Sum(nil), Began: 1, Ended: 2,
		}
		envelope, err := link.Seal(builder, link.TypeBuildAnswer, answer)
		r.must(err)
		data, err := document.Canonical(envelope)
		r.must(err)
		if _, err := r.answer(t.Context(), bus.Message{From: "builder1", Data: data}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if stores.asked.Load() != before+1 {
			t.Error("an answer waits for the backoff")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		forge.gives(commits.b)
		r.step("site")
		synctest.Wait()
		r.must(r.record.Read(t.Context(), func(tx *db.Tx) error {
			open, err := deliverystore.Requests(tx, "site", deliverystore.Open)
			if len(open) != 1 || open[0].Commit != commits.b {
				t.Errorf("a commit waits for the backoff: %+v", open)
			}
			return err
		}))
	})
}

// An answer's time is that of the state that it shows: what was written while it
// was waited for is in it, and is from before it.
func TestNothingInAnAnswerIsFromAfterIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &rig{t: t, root: t.TempDir(), stores: &flaky{}, forge: &slowForge{begun: time.Now()}, record: dbtest.Open(t, dbtest.SQLite(t), dbtest.Holder)}
		var err error
		c.key, err = link.NewKey()
		c.must(err)
		c.restart()
		type said struct {
			at      time.Time
			modules int
			err     error
		}
		answers := []func() said{
			func() said {
				out, err := c.answerStatus(t.Context(), api.Who{}, api.StatusIn{})
				return said{out.At, len(out.Modules), err}
			},
			func() said {
				out, err := c.answerStale(t.Context(), api.Who{}, api.Nothing{})
				return said{out.At, len(out.Modules), err}
			},
		}
		for i, answer := range answers {
			got := make(chan said, 1)
			c.book.turn <- struct{}{} // somebody else reads
			go func() { got <- answer() }()
			synctest.Wait()
			time.Sleep(time.Second)
			written := time.Now()
			c.tx(func(tx *db.Tx) error {
				return deliverystore.AddModule(tx, mesh.Module{Name: fmt.Sprintf("site%d", i), Repository: "https://git.example.org/site"}, "anna", written)
			})
			<-c.book.turn
			if s := <-got; s.err != nil || s.modules != i+1 || s.at.Before(written) {
				t.Errorf("answer %d shows %d modules as of %s, %v; the last was written at %s", i, s.modules, s.at, s.err, written)
			}
		}
	})
}
