package controller

import (
	"fmt"
	"testing"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// saying is one hello: its number, whose it is, and when it comes.
type saying struct {
	counter int64
	by      string
	at      int // seconds
}

func TestTwins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says  []saying
		twins bool
	}{
		"one machine":                {[]saying{{1, "a", 0}, {2, "a", 30}, {3, "a", 60}, {65, "a", 90}}, false},
		"every message comes twice":  {[]saying{{1, "a", 0}, {1, "a", 20}, {2, "a", 30}, {2, "a", 50}, {1, "a", 55}, {3, "a", 60}, {3, "a", 80}}, false},
		"some come late":             {[]saying{{2, "a", 0}, {1, "a", 1}, {4, "a", 30}, {3, "a", 32}, {6, "a", 60}, {5, "a", 63}, {8, "a", 90}, {7, "a", 91}}, false},
		"a disk that was put back":   {[]saying{{1, "a", 0}, {2, "a", 30}, {3, "a", 60}, {2, "b", 90}, {4, "b", 91}, {5, "b", 120}}, false},
		"it was put back again":      {[]saying{{1, "a", 0}, {2, "a", 30}, {1, "b", 90}, {3, "b", 91}, {2, "c", 3600}, {4, "c", 3601}, {3, "d", 7200}, {5, "d", 7201}}, false},
		"two machines, each heard":   {[]saying{{1, "a", 0}, {1, "b", 20}, {2, "b", 21}, {2, "a", 45}, {3, "a", 46}, {3, "b", 70}, {4, "b", 71}}, true},
		"two machines, one is ahead": {[]saying{{1, "a", 0}, {65, "b", 20}, {2, "a", 45}, {66, "a", 46}, {66, "b", 70}, {67, "b", 71}, {67, "a", 90}, {68, "a", 91}, {68, "b", 110}}, true},
		"many come a minute late":    {[]saying{{2, "a", 0}, {1, "a", 60}, {4, "a", 61}, {3, "a", 120}, {6, "a", 121}, {5, "a", 180}, {8, "a", 181}, {7, "a", 240}, {7, "a", 250}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Unix(1_700_000_000, 0)
			conduct, why := newConduct(start), ""
			for _, s := range c.says {
				digest := document.Sum([]byte(fmt.Sprint(s.counter, s.by)))
				if w := conduct.hello("node", link.Hello{Counter: s.counter}, 0, digest, start.Add(time.Duration(s.at)*time.Second)); w != "" {
					why = w
				}
			}
			if (why != "") != c.twins {
				t.Errorf("says %q, want twins: %v", why, c.twins)
			}
		})
	}
}

func TestNobodySaysTooMuch(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	c := newConduct(now)
	passed := 0
	for i := range 1000 {
		at := now.Add(time.Duration(i) * 10 * time.Millisecond) // a hundred a second for ten seconds
		switch err := c.may("loud", link.VerbHello, at); {
		case err == nil:
			passed++
		case fault.KindOf(err) != fault.Unavailable:
			t.Fatal(err)
		}
		if i%20 == 0 && (c.may("quiet", link.VerbHello, at) != nil || c.may("loud", link.VerbReport, at) != nil) {
			t.Fatal("another node, or another verb, pays for it")
		}
	}
	if passed < 60 || passed > 70 {
		t.Errorf("%d passed, want twenty and five a second", passed)
	}
	if i := c.ignored("loud"); i == nil || i.Excess != int64(1000-passed) || c.ignored("quiet") != nil {
		t.Errorf("counted %+v", i)
	}
	c.late("loud", declaration.Tuple{Generation: 1})
	c.late("loud", declaration.Tuple{Generation: 1})
	if i := c.ignored("loud"); i.Late != 1 || !i.Since.Equal(now) {
		t.Errorf("counted %+v", i)
	}
}
