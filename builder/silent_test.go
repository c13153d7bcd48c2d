package builder

import (
	"testing"
	"time"
)

// Whoever has nothing new to say is heard of three times in a lease all the same.
func TestNobodyIsSilentForLong(t *testing.T) {
	t.Parallel()
	for lease, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 100 * time.Millisecond, 3 * time.Second: time.Second, 9 * time.Second: 3 * time.Second,
		15 * time.Second: 3 * time.Second, 30 * time.Second: 6 * time.Second, time.Hour: 6 * time.Second,
	} {
		every := min(max(lease/3, 100*time.Millisecond), sayEvery)
		times := 1
		for mayKeepSilent(times, every, lease) {
			times++
		}
		if got := time.Duration(times) * every; got != want {
			t.Errorf("with a lease of %s it is silent for %s, want %s", lease, got, want)
		}
	}
}
