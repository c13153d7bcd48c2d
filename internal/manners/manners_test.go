package manners

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const perHost = 4

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, " 5 ": 5 * time.Second, "-1": 0, "soon": 0, "0": 0, "99999999": longestHold, "99999999999999999999": 0,
		"Fri, 01 May 2026 12:01:00 GMT": time.Minute, "Fri, 01 May 2026 11:00:00 GMT": 0, "Sat, 01 May 2027 12:00:00 GMT": longestHold,
	} {
		if got := RetryAfter(text, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestManners: whatever order they come in, no host has more questions under way
// than it may, none before its time, and what happens at one changes nothing at
// another.
func TestManners(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := New(perHost)
		now := time.Unix(1e9, 0)
		under, until := map[string][]time.Time{}, map[string]time.Time{}
		took, since := map[string]time.Duration{}, map[string]time.Time{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			host := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "host")
			if h, is := m.Held(host, now); is != now.Before(until[host]) || is && h != (Held{host, since[host], until[host]}) {
				t.Fatalf("%s is held: %+v %v, want from %s until %s, at %s", host, h, is, since[host], until[host], now)
			}
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				alone := time.Duration(rapid.IntRange(0, 60).Draw(t, "hold")) * time.Second
				m.Hold(host, alone, now)
				if at := now.Add(alone); at.After(until[host]) {
					if !now.Before(until[host]) {
						since[host] = now
					}
					until[host] = at
				}
			case 1:
				if all := under[host]; len(all) > 0 {
					m.Leave(host, all[0], now)
					took[host], under[host] = now.Sub(all[0]), all[1:]
				}
			default:
				most := perHost
				if took[host] > slow {
					most = 1
				}
				may := !now.Before(until[host]) && len(under[host]) < most
				err := m.Enter(host, "r", now)
				if may != (err == nil) {
					t.Fatalf("%d under way, until %s, at %s: %v", len(under[host]), until[host], now, err)
				}
				if err == nil {
					under[host] = append(under[host], now)
				} else if later, is := errors.AsType[Later](err); !is || later.After <= 0 || now.Add(later.After).Before(until[host]) || later.After > max(longest, until[host].Sub(now)+holdSpread) {
					t.Fatalf("until %s, at %s: %v", until[host], now, err)
				}
			}
		}
	})
}

// TestThoseWhoAreSentAwayComeBackOneByOne and not all at once.
func TestThoseWhoAreSentAwayComeBackOneByOne(t *testing.T) {
	t.Parallel()
	m := New(perHost)
	now := time.Unix(1e9, 0)
	for range perHost {
		if err := m.Enter("a", "r", now); err != nil {
			t.Fatal(err)
		}
	}
	m.Leave("a", now, now.Add(time.Second))
	if err := m.Enter("a", "r", now); err != nil {
		t.Fatal(err)
	}
	last := time.Duration(0)
	for i := range 100 {
		later, is := errors.AsType[Later](m.Enter("a", "r", now))
		if !is || later.After < last || i > 0 && later.After-last != time.Second/perHost {
			t.Fatalf("%d: after %s, the one before after %s", i, later.After, last)
		}
		last = later.After
	}
}

// TestAHostThatIsBackIsSoonAskedByEverybody, however many it has sent away while
// it did not answer.
func TestAHostThatIsBackIsSoonAskedByEverybody(t *testing.T) {
	t.Parallel()
	m := New(perHost)
	now := time.Unix(1e9, 0)
	if err := m.Enter("a", "r", now); err != nil {
		t.Fatal(err)
	}
	m.Leave("a", now, now.Add(30*time.Second))
	if now = now.Add(30 * time.Second); m.Enter("a", "r", now) != nil {
		t.Fatal("nobody is there, and it was sent away")
	}
	times := map[time.Duration]int{}
	for range 10_000 {
		later, is := errors.AsType[Later](m.Enter("a", "r", now))
		if times[later.After]++; !is || later.After > longest {
			t.Fatalf("%+v %v", later, is)
		}
	}
	if len(times) < 4 {
		t.Errorf("they come back all at once: %v", times)
	}
}

// TestOfAllHostsThereEverWereOnlySoManyAreRemembered.
func TestOfAllHostsThereEverWereOnlySoManyAreRemembered(t *testing.T) {
	t.Parallel()
	m, now := New(perHost), time.Unix(1e9, 0)
	if err := m.Enter("under way", "r", now); err != nil {
		t.Fatal(err)
	}
	for n := range 2 * maxHosts {
		m.Hold("h"+strconv.Itoa(n), time.Minute, now)
	}
	if len(m.hosts) > maxHosts || m.hosts["under way"] == nil {
		t.Errorf("%d are remembered", len(m.hosts))
	}
	later := Later{90 * time.Second}
	if !strings.Contains(later.Error(), "1m30s") {
		t.Error(later.Error())
	}
}
