package delivery_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/delivery"
	"noxmesh/document"
)

func drawLines(t *rapid.T) (lines []delivery.Line) {
	for i := range rapid.IntRange(0, 25).Draw(t, "lines") {
		l := delivery.Line{
			Request: strconv.Itoa(i), Module: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "module"), Order: int64(rapid.IntRange(0, 20).Draw(t, "order")),
			Live: rapid.IntRange(0, 5).Draw(t, "live") == 0, Log: int64(rapid.IntRange(0, 100).Draw(t, "log")),
		}
		if rapid.Bool().Draw(t, "built") {
			n := rapid.IntRange(0, 5).Draw(t, "build")
			l.Build, l.Bare = document.Sum([]byte(l.Module+strconv.Itoa(n))), n < 3
		}
		lines = append(lines, l)
	}
	return lines
}

func drawRetention(t *rapid.T) delivery.Retention {
	return delivery.Retention{Builds: rapid.IntRange(0, 4).Draw(t, "keep"), Logs: int64(rapid.IntRange(0, 300).Draw(t, "logs"))}
}

// What leaves the record is what a slow reading of the rule lets go: nothing that
// is live, new, named or there; and whoever has less of the logs than the others
// loses none.
func TestRetireProperties(t *testing.T) {
	t.Parallel()
	drawn, keep := rapid.Custom(drawLines), rapid.Custom(drawRetention)
	went, logs := 0, 0
	for n := range 100 { // the same ones each time
		got := delivery.Retire(drawn.Example(n), keep.Example(n))
		went, logs = went+len(got.Lines), logs+len(got.Logs)
	}
	if went < 20 || logs < 20 {
		t.Errorf("only %d lines and %d logs went", went, logs)
	}
	rapid.Check(t, func(t *rapid.T) {
		lines, r := drawn.Draw(t, "lines"), keep.Draw(t, "retention")
		got := delivery.Retire(lines, r)
		newest := func(l delivery.Line) bool {
			newer := 0
			for _, o := range lines {
				if o.Module == l.Module && (o.Order > l.Order || o.Order == l.Order && o.Request < l.Request) {
					newer++
				}
			}
			return newer < r.Builds
		}
		has, lost := map[string]int64{}, map[string]bool{}
		for _, l := range lines {
			sameBuild := func(o delivery.Line) bool { return l.Build != "" && o.Build == l.Build && newest(o) }
			stays := r.Builds == 0 || newest(l) || l.Live || l.Build != "" && !l.Bare || slices.ContainsFunc(lines, sameBuild)
			if stays == slices.Contains(got.Lines, l) {
				t.Fatalf("%+v stays %v, want %v", l, !stays, stays)
			}
			gone := slices.Contains(got.Logs, l)
			switch {
			case gone && (!stays || l.Live || l.Log == 0):
				t.Fatalf("the log of %+v goes by itself", l)
			case gone:
				lost[l.Module] = true
			case stays && !l.Live:
				has[l.Module] += l.Log
			}
		}
		checkLogs(t, lines, got, r, leftOf{has, lost})
		if again := delivery.Retire(rapid.Permutation(lines).Draw(t, "shuffled"), r); !cmp.Equal(got, again) {
			t.Fatalf("in another order: %s", cmp.Diff(got, again))
		}
		var after []delivery.Line
		for _, l := range lines {
			if slices.Contains(got.Lines, l) {
				continue
			}
			if slices.Contains(got.Logs, l) {
				l.Log = 0
			}
			after = append(after, l)
		}
		if again := delivery.Retire(after, r); len(again.Lines)+len(again.Logs) > 0 {
			t.Fatalf("a second time it removes %+v", again)
		}
	})
}

// leftOf is, by module, how much of its logs stays, and whether some go.
type leftOf struct {
	has  map[string]int64
	lost map[string]bool
}

// checkLogs: what is left is within the bound; a module that has lost some has no
// newer one gone than one that stays, and had at least as much as any that lost none.
func checkLogs(t *rapid.T, lines []delivery.Line, got delivery.Retired, r delivery.Retention, is leftOf) {
	if r.Logs == 0 {
		if len(got.Logs) > 0 {
			t.Fatal("logs go though all may stay")
		}
		return
	}
	all, needs := int64(0), map[string]int64{}
	for _, n := range is.has {
		all += n
	}
	for _, l := range lines {
		if !l.Live && !slices.Contains(got.Lines, l) {
			needs[l.Module] += l.Log
		}
	}
	if all > r.Logs || len(got.Logs) > 0 && all+100*3 < r.Logs {
		t.Fatalf("%d bytes of logs stay, and %d may", all, r.Logs)
	}
	for _, gone := range got.Logs {
		for _, l := range lines {
			older := l.Module == gone.Module && (l.Order < gone.Order || l.Order == gone.Order && l.Request > gone.Request)
			if older && !l.Live && l.Log > 0 && !slices.Contains(got.Logs, l) && !slices.Contains(got.Lines, l) {
				t.Fatalf("the log of %+v goes before that of %+v", gone, l)
			}
		}
		for module, need := range needs {
			if !is.lost[module] && need > needs[gone.Module] {
				t.Fatalf("%s loses a log, and %s has more and loses none", gone.Module, module)
			}
		}
	}
}
