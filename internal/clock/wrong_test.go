//go:build meshcrash

package clock

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestShift(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, 87600 * time.Hour, 74 * 8766 * time.Hour, -56 * 8766 * time.Hour} {
		got := shift(now, by)
		if want := now.Round(0).Add(by); !got.Round(0).Equal(want) {
			t.Errorf("shifted by %s the wall clock shows %s, want %s", by, got, want)
		}
		if passed := got.Sub(now); passed != 0 {
			t.Errorf("shifted by %s, %s seems to have passed", by, passed)
		}
		if passed := time.Since(got); passed < 0 || passed > time.Minute {
			t.Errorf("shifted by %s, %s seems to have passed since", by, passed)
		}
		if left := shift(now, by).Add(time.Minute).Sub(shift(now, -by)); left != time.Minute {
			t.Errorf("a minute across a step of %s takes %s", by, left)
		}
	}
}

func TestClockIsSteppedWhileItRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock")
	t.Setenv("MESH_CLOCK_FILE", path)
	t.Setenv("MESH_CLOCK", "24h")
	before := time.Now()
	var passed time.Duration
	for text, want := range map[string]time.Duration{"": 24 * time.Hour, "-1h\n": 23 * time.Hour, "876000h": 876024 * time.Hour} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		now := Now()
		if off := now.Round(0).Sub(before.Round(0)); off < want || off > want+time.Minute {
			t.Errorf("with %q the clock is off by %s, want %s", text, off, want)
		}
		if d := now.Sub(before); d < passed || d > time.Minute {
			t.Errorf("with %q %s have passed, after %s", text, d, passed)
		} else {
			passed = d
		}
	}
}
