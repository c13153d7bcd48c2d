package standing_test

import (
	"testing"
	"time"

	"noxmesh/delivery/environment"
	"noxmesh/delivery/source"
	"noxmesh/delivery/standing"
)

func TestNamedKnowsEveryStateAndNoOther(t *testing.T) {
	t.Parallel()
	for _, s := range source.States() {
		if got, is := standing.Named(source.States(), string(s)); !is || got != s {
			t.Errorf("%q is %q %v", s, got, is)
		}
	}
	for _, s := range environment.States() {
		if got, is := standing.Named(environment.States(), string(s)); !is || got != s {
			t.Errorf("%q is %q %v", s, got, is)
		}
	}
	if got, is := standing.Named(source.States(), "other"); is || got != source.NeverLooked {
		t.Errorf("a state that is none is %q %v", got, is)
	}
}

func TestSinceStandsStillWhileTheStateDoes(t *testing.T) {
	t.Parallel()
	first, later := time.Unix(1, 0), time.Unix(2, 0)
	for name, c := range map[string]struct {
		was, is string
		since   time.Time
		want    time.Time
	}{
		"the same":              {"a", "a", first, first},
		"another":               {"a", "b", first, later},
		"in none before":        {"a", "a", time.Time{}, later},
		"the first of them all": {"", "a", time.Time{}, later},
	} {
		if got := standing.Since(c.was, c.is, c.since, later); !got.Equal(c.want) {
			t.Errorf("%s: since %s", name, got)
		}
	}
}
