package trouble_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/trouble"
)

// The recount: the failures since the last success that are like the last one.
// What four others have come after is forgotten.
func recount(history []string) (alike int, since int) {
	last := history[len(history)-1]
	others := map[string]bool{}
	for i := len(history) - 1; i >= 0 && history[i] != ""; i-- {
		if history[i] == last {
			alike, since = alike+1, i
			clear(others)
		} else if others[history[i]] = true; len(others) > 3 {
			break
		}
	}
	return alike, since
}

func TestTroubleIsARecount(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 17, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		// "" is a success, which clears.
		history := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "a", "b", "b", "c", "d", "e", "f"}), 1, 20).Draw(t, "history")
		var now trouble.Trouble
		for i, fingerprint := range history {
			if fingerprint == "" {
				now = trouble.Trouble{}
				continue
			}
			at := start.Add(time.Duration(i) * time.Minute)
			now = now.Again("node/n", fingerprint, rapid.String().Draw(t, "words"), at)
			alike, since := recount(history[:i+1])
			if now.Count != int64(alike) || !now.Since.Equal(start.Add(time.Duration(since)*time.Minute)) || !now.Last.Equal(at) {
				t.Fatalf("after %v: %+v, want %d since %d", history[:i+1], now, alike, since)
			}
			if now.Stuck() != (alike >= 3) {
				t.Fatalf("after %v: stuck is %v", history[:i+1], now.Stuck())
			}
		}
		if history[len(history)-1] == "" && (now.Stuck() || now.Count != 0) {
			t.Fatalf("a success did not clear: %+v", now)
		}
	})
}

func TestTwoFailuresByTurnsAreStuck(t *testing.T) {
	t.Parallel()
	var is trouble.Trouble
	for n := range 100 {
		at := time.Unix(int64(n), 0)
		is = is.Again("source/site", []string{"refused", "timed out"}[n%2], "x", at)
		if is.Stuck() != (n >= 4) || !is.Since.Equal(time.Unix(int64(n%2), 0)) || is.Count != int64(n/2+1) || len(is.Others) > 1 {
			t.Fatalf("the %d. failure: %+v", n+1, is)
		}
	}
	if is = is.Again("source/site", "denied", "x", time.Unix(100, 0)); is.Stuck() || is.Count != 1 {
		t.Errorf("a failure that had not come before: %+v", is)
	}
}

func TestTheWordsAreThoseOfTheLast(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	tr := trouble.Trouble{}.Again("k", "f", "first", now).Again("k", "f", "second", now.Add(time.Hour))
	if tr.Says != "second" || tr.Key != "k" || tr.Count != 2 || tr.Stuck() {
		t.Errorf("%+v", tr)
	}
}

func TestFingerprintIsOfTheSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfDistinct(rapid.StringMatching(`[a-c]{1,2}/[a-c]{1,2}`), rapid.ID).Draw(t, "ids")
		mixed := append(rapid.Permutation(ids).Draw(t, "order"), ids...)
		if trouble.Fingerprint(ids) != trouble.Fingerprint(mixed) {
			t.Fatal("the order or a repetition has a part in it")
		}
		others := rapid.SliceOfDistinct(rapid.StringMatching(`[a-c]{1,2}/[a-c]{1,2}`), rapid.ID).Draw(t, "others")
		a, b := slices.Sorted(slices.Values(ids)), slices.Sorted(slices.Values(others))
		if (trouble.Fingerprint(ids) == trouble.Fingerprint(others)) != slices.Equal(a, b) {
			t.Fatalf("%v and %v", ids, others)
		}
	})
	if got := trouble.Fingerprint([]string{"b/c", "a"}); got != trouble.Fingerprint([]string{"a", "b/c"}) || len(got) != 16 {
		t.Errorf("got %s", got)
	}
}

func TestFingerprintLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	ids := []string{"b", "a", "b"}
	trouble.Fingerprint(ids)
	if !slices.Equal(ids, []string{"b", "a", "b"}) {
		t.Errorf("got %v", ids)
	}
}

func TestTroubleNeverBeginsLaterThanItsLast(t *testing.T) {
	t.Parallel()
	future, now := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	is := trouble.Trouble{}.Again("k", "f", "says", future).Again("k", "f", "says", now)
	if is.Since.After(is.Last) || is.Count != 2 {
		t.Errorf("%+v", is)
	}
}
