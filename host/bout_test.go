package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"noxmesh/document"
	"noxmesh/host/system"
	"noxmesh/report"
)

// Whatever comes of it and however long it takes: a resource is put back at once
// at first, in the end no more than once a period, at the latest after a period,
// and once it has stayed right for some periods as if nothing had been.
func TestAContestAgainstARival(t *testing.T) {
	t.Parallel()
	first, period := Default().Backoff, Default().Drift
	digest := document.Sum([]byte("x"))
	rapid.Check(t, func(t *rapid.T) {
		all, now := bouts{}, time.Unix(1e9, 0)
		var puts []time.Time // since it last stayed right for long
		right := now
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			now = now.Add(time.Second + time.Duration(rapid.Int64Range(1, int64(4*period)).Draw(t, "wait"))>>rapid.IntRange(0, 16).Draw(t, "shorter"))
			spared, _ := all.spared(now, first, period)
			_, left := spared["m/a"]
			r := report.Resource{ID: "m/a", Digest: digest, State: report.StateOK}
			if rapid.IntRange(0, 4).Draw(t, "the rival") > 0 {
				switch {
				case left:
					r.State = report.StateDiffers
					if last := puts[len(puts)-1]; len(puts) < boutFrom || now.Sub(last) >= period {
						t.Fatalf("put back %d times, last %s ago, and left alone", len(puts), now.Sub(last))
					}
				default:
					r.State, r.Fixed = report.StateChanged, true
				}
			}
			if now.Sub(right) >= boutOver*period {
				puts = nil
			}
			if r.State != report.StateOK {
				right = now
			}
			if r.Fixed {
				if n := len(puts); n >= boutFrom && now.Sub(puts[n-1]) < min(first<<(n-boutFrom), period) {
					t.Fatalf("put back %d times, and again %s after the last", n, now.Sub(puts[n-1]))
				}
				puts = append(puts, now)
			}
			found := []report.Resource{r}
			all.look(found, now, period)
			if _, next := all.spared(now, first, period); left && r.State != report.StateOK && (!next.After(now) || next.Sub(puts[len(puts)-1]) > period) {
				t.Fatalf("left alone, and looked at again in %s", next.Sub(now))
			}
			want := len(puts) >= boutFrom
			if got := found[0].Contested; (got != nil) != want || want && (got.Count != int64(len(puts)) || got.Since != puts[0].UnixMilli()) {
				t.Fatalf("put back %d times, it says %+v", len(puts), got)
			}
		}
		other := []report.Resource{{ID: "m/a", Digest: document.Sum([]byte("y")), State: report.StateOK}}
		if all.look(other, now, period); other[0].Contested != nil || len(all) > 0 {
			t.Fatalf("what it is to be is something else, and it is remembered: %+v", all)
		}
	})
}

// Two write the same file: it is said, with how often and since when, and it is
// put back ever more seldom; when the other one has gone, that is soon over.
func TestTwoWritersAreNamed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/a", "one", "/b", "two"))
		e := &ears{tells: make(chan system.Heard, 10)}
		s := hearing(t, root, c, e, configured(root))
		defer s.stop()
		time.Sleep(time.Second)
		synctest.Wait()
		file := filepath.Join(root, "a")
		puts := 0
		rival := func(how time.Duration) {
			t.Helper()
			for end := time.Now().Add(how); time.Now().Before(end); time.Sleep(time.Second) {
				if describe(file) == "one" {
					puts++
					must(t, os.WriteFile(file, []byte("theirs"), 0o644))
					e.at("/a")
				}
			}
		}
		rival(30 * time.Second)
		synctest.Wait()
		r := c.lastReport().Resources[0]
		if r.State != report.StateDiffers || r.Found != "other content (6 bytes)" || r.Contested == nil || r.Contested.Count < boutFrom {
			t.Errorf("after half a minute: %+v %+v", r, r.Contested)
		}
		began := time.Now()
		rival(12 * s.cfg.Drift)
		if puts < 10 || puts > 24 { // twelve, and those before it was as seldom
			t.Errorf("put back %d times in twelve periods", puts)
		}
		synctest.Wait()
		if r := c.lastReport().Resources[0]; r.Contested == nil || int(r.Contested.Count) < puts-1 || r.Contested.Since > began.UnixMilli() {
			t.Errorf("after twelve periods: %+v %+v", r, r.Contested)
		}
		if r := c.lastReport().Resources[1]; r.State != report.StateOK || r.Contested != nil {
			t.Errorf("the other one: %+v", r)
		}
		standing, err := Status(s.cfg)
		must(t, err)
		var text strings.Builder
		for _, l := range standing.lines() {
			text.WriteString(l[0] + " " + l[1] + "\n")
		}
		if !strings.Contains(text.String(), "contested m/a: put back ") {
			t.Errorf("mesh-host status says\n%s", text.String())
		}
		time.Sleep(s.turn())
		s.is("/a", "one")
		time.Sleep((boutOver + 1) * s.turn()) // it stays right for so long, and then a look finds that
		synctest.Wait()
		if r := c.lastReport().Resources[0]; r.State != report.StateOK || r.Contested != nil {
			t.Errorf("the other has gone: %+v %+v", r, r.Contested)
		}
	})
}
