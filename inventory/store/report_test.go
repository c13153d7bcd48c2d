package inventorystore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/report"
	"noxmesh/trouble"
)

// clean is a report that says the module site is applied with this content.
func clean(node string, sequence int64, content string) report.Report {
	return report.Report{
		Format: report.Format, Mesh: "mesh0001", Node: node, Boot: "boot", Sequence: sequence, Accepted: tuple(1, 1, "a"), Applied: tuple(1, 1, "a"),
		Host: "1.0", Cause: report.CauseDeclaration, Began: 1000, Ended: 2000, Outcome: report.OutcomeApplied,
		Modules:   []declaration.Module{{Module: "site", Content: document.Sum([]byte(content))}},
		Resources: []report.Resource{{ID: "site/index", Digest: document.Sum([]byte(content)), State: report.StateChanged}},
	}
}

// failed is a report that says these resources of the module site failed.
func failed(node string, sequence int64, fingerprint string, count int64, ids ...string) report.Report {
	r := clean(node, sequence, "x")
	r.Outcome, r.Resources = report.OutcomeFailed, nil
	for _, id := range ids {
		r.Resources = append(r.Resources, report.Resource{ID: id, State: report.StateFailed, Error: "no space \x1b[31m<script>"})
	}
	if fingerprint != "" {
		r.Trouble = &report.Trouble{Fingerprint: fingerprint, Since: 500, Count: count}
	}
	return r
}

func keep(t *testing.T, d *db.DB, r report.Report, at time.Time) (stored bool) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) (err error) {
		stored, err = inventorystore.SaveReport(tx, r, []byte(`{"payloadType":"x"}`), at)
		return err
	})
	return stored
}

func TestReportsCountOnlyUpward(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		first := clean(n1, 5, "one")
		first.Facts = &report.Facts{OS: "debian 12", Arch: "amd64", Hostname: "web", Capabilities: []string{"systemd"}}
		if !keep(t, d, first, t0()) {
			t.Fatal("a new report was ignored")
		}
		n := node(t, d, n1)
		if diff := cmp.Diff(&first, n.Report); diff != "" || !n.ReportAt.Equal(t0()) {
			t.Error(diff, n.ReportAt)
		}
		for _, sequence := range []int64{5, 4, 0, -3} {
			if keep(t, d, failed(n1, sequence, "f", 1, "site/index"), t0().Add(time.Hour)) {
				t.Errorf("report %d after 5 was stored", sequence)
			}
		}
		if diff := cmp.Diff(n, node(t, d, n1)); diff != "" {
			t.Errorf("an older report changed: %s", diff)
		}
		second := failed(n1, 6, "f", 1, "site/index")
		if !keep(t, d, second, t0().Add(time.Hour)) {
			t.Error("report 6 was ignored")
		}
		second.Facts = first.Facts
		if diff := cmp.Diff(&second, node(t, d, n1).Report); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTroubleOfReports(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		sequence := int64(0)
		now := t0()
		after := func(r report.Report) trouble.Trouble {
			t.Helper()
			sequence, now = sequence+1, now.Add(time.Minute)
			r.Sequence = sequence
			keep(t, d, r, now)
			return node(t, d, n1).Trouble
		}
		for n := range int64(3) {
			got := after(failed(n1, 0, "site/index", n+1, "site/index"))
			want := trouble.Trouble{
				Key: "node/" + n1, Fingerprint: "site/index", Says: "site/index: no space \x1b[31m<script>",
				Since: t0().Add(time.Minute), Count: n + 1, Last: now,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if got.Stuck() != (n == 2) {
				t.Errorf("after %d alike stuck is %v", n+1, got.Stuck())
			}
		}
		confirming := clean(n1, 0, "x")
		confirming.Outcome = report.OutcomeConfirming
		if got := after(confirming); got.Count != 3 {
			t.Errorf("a host that is not confirmed yet changed the trouble: %+v", got)
		}
		if got := after(failed(n1, 0, "site/other", 1, "site/other", "site/more")); got.Count != 1 || !got.Since.Equal(now) {
			t.Errorf("another failure: %+v", got)
		}
		if got := after(clean(n1, 0, "x")); got.Count != 0 {
			t.Errorf("a clean report left %+v", got)
		}
		// A controller that was away hears of the twelfth, 1.5 s after the first by the node's own clock.
		got := after(failed(n1, 0, "site/index", 12, "site/index"))
		if got.Count != 12 || !got.Stuck() || !got.Since.Equal(now.Add(-1500*time.Millisecond)) {
			t.Errorf("the twelfth alike: %+v at %s", got, now)
		}
		jumped := failed(n1, 0, "site/jump", 2, "site/jump")
		jumped.Ended = 1 << 50
		if got := after(jumped); got.Count != 2 || !got.Since.Equal(now) {
			t.Errorf("a clock that jumped: %+v", got)
		}
		if got := after(failed(n1, 0, "", 0, "site/b", "site/a")); got.Fingerprint != "site/a,site/b" || got.Count != 1 {
			t.Errorf("a failure that the host does not count: %+v", got)
		}
	})
}

func TestAppliedIsTheFirstTimeOfEachContent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		addNode(t, d, n1, "web")
		hour := func(n int) time.Time { return t0().Add(time.Duration(n) * time.Hour) }
		check := func(want map[string]inventorystore.AppliedModule) {
			t.Helper()
			dbtest.Read(t, d, func(tx *db.Tx) error {
				got, err := inventorystore.Applied(tx, n1)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				return err
			})
		}
		check(map[string]inventorystore.AppliedModule{})
		one, two := document.Sum([]byte("one")), document.Sum([]byte("two"))
		keep(t, d, clean(n1, 1, "one"), hour(1))
		keep(t, d, clean(n1, 2, "one"), hour(2))
		check(map[string]inventorystore.AppliedModule{"site": {one, hour(1)}})
		keep(t, d, failed(n1, 3, "f", 1, "site/index"), hour(3))
		check(map[string]inventorystore.AppliedModule{"site": {one, hour(1)}})
		keep(t, d, clean(n1, 4, "two"), hour(4))
		check(map[string]inventorystore.AppliedModule{"site": {two, hour(4)}})
		keep(t, d, clean(n1, 2, "one"), hour(5)) // late
		check(map[string]inventorystore.AppliedModule{"site": {two, hour(4)}})
		keep(t, d, clean(n1, 6, "one"), hour(6))
		check(map[string]inventorystore.AppliedModule{"site": {one, hour(6)}})
		empty := clean(n1, 7, "")
		empty.Modules, empty.Resources = nil, nil
		keep(t, d, empty, hour(7))
		check(map[string]inventorystore.AppliedModule{})
	})
}

// TestReportsInAnyOrderLeaveTheNewest lets reports and hellos arrive doubled and reordered.
func TestReportsInAnyOrderLeaveTheNewest(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, dbtest.SQLite(t), "c")
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		id := "n" + document.Sum([]byte{byte(run), byte(run >> 8)}).Hex()[:20]
		addNode(t, d, id, id)
		highest := int64(0)
		var newest string
		for range rapid.IntRange(1, 10).Draw(rt, "reports") {
			sequence := rapid.Int64Range(1, 8).Draw(rt, "sequence")
			content := rapid.SampledFrom([]string{"one", "two", "three"}).Draw(rt, "content")
			if stored := keep(t, d, clean(id, sequence, content), t0()); stored != (sequence > highest) {
				rt.Fatalf("report %d after %d: stored %v", sequence, highest, stored)
			}
			if sequence > highest {
				highest, newest = sequence, content
			}
		}
		if got := node(t, d, id).Report.Modules[0].Content; got != document.Sum([]byte(newest)) {
			rt.Fatalf("the report is not the newest")
		}
	})
}
