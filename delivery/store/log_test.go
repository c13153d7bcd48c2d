package deliverystore_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
)

func TestALogComesInPieces(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		add(t, d, request(t, "web", "c1", 1, t0()))
		r := mustTake(t, d, "b1", t0())
		piece := func(offset int64, text string) error {
			return d.Write(t.Context(), func(tx *db.Tx) error { return deliverystore.AppendLog(tx, r.ID, offset, text) })
		}
		log := func() (text string, complete bool) {
			dbtest.Read(t, d, func(tx *db.Tx) (err error) {
				text, complete, err = deliverystore.Log(tx, r.ID)
				return err
			})
			return text, complete
		}
		if text, complete := log(); text != "" || complete {
			t.Errorf("a log before it began: %q %v", text, complete)
		}
		for _, p := range []struct {
			offset int64
			text   string
		}{{0, "clone\n"}, {0, "clone\n"}, {3, "ne\nbuild"}, {0, "clo"}, {11, "\n"}, {12, "a\x00b\xffc\xc3"}, {12, ""}} {
			if err := piece(p.offset, p.text); err != nil {
				t.Fatal(err)
			}
		}
		want := "clone\nbuild\na?b?c?"
		if text, complete := log(); text != want || complete {
			t.Errorf("the log is %q %v", text, complete)
		}
		wantKind(t, piece(19, "after a gap"), fault.Conflict, "ends at 18")
		wantKind(t, piece(-1, "before the beginning"), fault.Invalid)
		wantKind(t, d.Write(t.Context(), func(tx *db.Tx) error { return deliverystore.AppendLog(tx, "none", 0, "x") }), fault.NotFound)
		wantKind(t, d.Read(t.Context(), func(tx *db.Tx) error { _, _, err := deliverystore.Log(tx, "none"); return err }), fault.NotFound)
		save(t, d, build.Answer{Request: r.ID, Builder: "b1", Outcome: build.OutcomeFailed, LogSize: 18}, t0())
		if _, complete := log(); !complete {
			t.Error("a log that is all there is not complete")
		}
		if err := piece(18, strings.Repeat("x", deliverystore.LogLimit)); err != nil {
			t.Fatal(err)
		}
		if err := piece(18+deliverystore.LogLimit, "beyond the limit"); err != nil {
			t.Fatal(err)
		}
		if text, _ := log(); len(text) != deliverystore.LogLimit || !strings.HasPrefix(text, want+"xxx") {
			t.Errorf("a log beyond the limit has %d bytes", len(text))
		}
	})
}

// TestALogIsTheSameHoweverItsPiecesCome sends the pieces of a log again, overlapping and out of order.
func TestALogIsTheSameHoweverItsPiecesCome(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.SQLite(t), "c")
	commit := 0
	rapid.Check(t, func(rt *rapid.T) {
		commit++
		r := request(t, "web", "c"+strings.Repeat("1", commit%7), int64(commit), t0())
		add(t, d, r)
		whole := rapid.StringMatching(`[a-zäöü\n]{1,60}`).Draw(rt, "log")
		have := 0
		for have < len(whole) {
			from := rapid.IntRange(0, len(whole)).Draw(rt, "from")
			to := rapid.IntRange(from, len(whole)).Draw(rt, "to")
			err := d.Write(t.Context(), func(tx *db.Tx) error { return deliverystore.AppendLog(tx, r.ID, int64(from), whole[from:to]) })
			if (err != nil) != (from > have) {
				rt.Fatalf("a piece from %d where %d are there: %v", from, have, err)
			}
			if err == nil {
				have = max(have, to)
			}
		}
		dbtest.Read(t, d, func(tx *db.Tx) error {
			text, _, err := deliverystore.Log(tx, r.ID)
			if len(text) != len(whole) {
				rt.Errorf("%q became %q", whole, text)
			}
			if !strings.Contains(text, "?") && text != whole {
				rt.Errorf("%q became %q", whole, text)
			}
			return err
		})
	})
}
