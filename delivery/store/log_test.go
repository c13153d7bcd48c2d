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
		log := func() (string, bool) {
			l := logOf(t, d, r.ID)
			return l.Text, l.Complete
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
		wantKind(t, d.Read(t.Context(), func(tx *db.Tx) error { _, err := deliverystore.Log(tx, "none"); return err }), fault.NotFound)
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
			l, err := deliverystore.Log(tx, r.ID)
			text := l.Text
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

func logOf(t *testing.T, d *db.DB, request string) (l deliverystore.LogText) {
	t.Helper()
	dbtest.Read(t, d, func(tx *db.Tx) (err error) {
		l, err = deliverystore.Log(tx, request)
		return err
	})
	return l
}

// The log of what has ended is one compressed piece, and says the same; that of
// the next who makes it begins anew.
func TestALogIsCompressedWhenItsRequestHasEnded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		text := strings.Repeat("== build: ein längerer Satz, der sich wiederholt\n", 2000)
		say := func(r deliverystore.RequestRow) {
			for at := 0; at < len(text); at += 30_000 {
				dbtest.Write(t, d, func(tx *db.Tx) error {
					return deliverystore.AppendLog(tx, r.ID, int64(at), text[at:min(at+30_000, len(text))])
				})
			}
		}
		held := func(request string) (pieces, packed int64) {
			dbtest.Read(t, d, func(tx *db.Tx) (err error) {
				if pieces, _, err = db.One(tx, db.Number, `SELECT count(*) FROM log_piece WHERE request = $1`, request); err != nil {
					return err
				}
				packed, _, err = db.One(tx, db.Number, `SELECT length(packed) FROM log_whole WHERE request = $1`, request)
				return err
			})
			return pieces, packed
		}
		add(t, d, request(t, "web", "c1", 1, t0()), request(t, "web", "c2", 1, t0()), request(t, "web", "c3", 1, t0()))
		for i, end := range []func(r deliverystore.RequestRow){
			func(r deliverystore.RequestRow) {
				a := built(t, r, "b1", "x")
				a.LogSize = int64(len(text)) + 7
				save(t, d, a, t0())
			},
			func(r deliverystore.RequestRow) {
				dbtest.Write(t, d, func(tx *db.Tx) error { return deliverystore.Withdraw(tx, r.ID, "cancelled by ann", t0()) })
			},
			func(deliverystore.RequestRow) {
				lapse(t, d, t0().Add(lease))
				for range 2 {
					say(mustTake(t, d, "b1", t0()))
					lapse(t, d, t0().Add(lease))
				}
			},
		} {
			r := mustTake(t, d, "b1", t0())
			say(r)
			if l := logOf(t, d, r.ID); l.Text != text || l.Complete {
				t.Errorf("%d: while it goes on the log has %d bytes, complete %v", i, len(l.Text), l.Complete)
			}
			end(r)
			l := logOf(t, d, r.ID)
			if l.Text != text || !l.Complete || (l.Missing == 7) != (i == 0) {
				t.Errorf("%d: afterwards it has %d bytes, complete %v, missing %d", i, len(l.Text), l.Complete, l.Missing)
			}
			if pieces, packed := held(r.ID); pieces != 0 || packed == 0 || packed > int64(len(text))/10 {
				t.Errorf("%d: it is held in %d pieces and %d compressed bytes", i, pieces, packed)
			}
		}
	})
}
