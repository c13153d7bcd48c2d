package system

import (
	"testing"
	"time"
)

// Whatever is changed after a unit was started is newer than that, whichever way the clock
// was set meanwhile.
func TestAClockIsSetAfterAStart(t *testing.T) {
	t.Parallel()
	noted, age := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), time.Hour
	for name, set := range map[string]time.Duration{"not": 0, "an hour back": -time.Hour, "to 1970": -56 * 365 * 24 * time.Hour, "to 2100": 74 * 365 * 24 * time.Hour} {
		now := noted.Add(age).Add(set)
		if began := started(noted, now, age); began.After(noted) || began.After(now.Add(-age)) {
			t.Errorf("%s: it began at %s", name, began)
		}
	}
	if began := started(noted, noted.Add(age), age); !began.Equal(noted) {
		t.Errorf("of a clock that nobody has set: %s", began)
	}
}
