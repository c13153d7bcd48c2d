package trouble

import "time"

// StuckAt is how many in a row make trouble stuck. Twice is a coincidence; the
// third look has seen the whole of a loop's backoff begin.
const StuckAt = 3

// Trouble is one failure of one thing that keeps trying.
type Trouble struct {
	Key         string    `json:"key"`         // what keeps trying: "source/site", "node/n7f3k…"
	Fingerprint string    `json:"fingerprint"` // what makes two failures alike, whatever the words
	Says        string    `json:"says"`        // the last failure, in words
	Since       time.Time `json:"since"`
	Count       int64     `json:"count"`
	Last        time.Time `json:"last"`
}

// Stuck reports whether the same trouble has come three times in a row.
func (t Trouble) Stuck() bool { return t.Count >= StuckAt }

// Again is the trouble after one more failure. The zero Trouble is "none yet".
func (t Trouble) Again(key, fingerprint, says string, now time.Time) Trouble {
	if t.Count == 0 || t.Fingerprint != fingerprint {
		return Trouble{Key: key, Fingerprint: fingerprint, Says: says, Since: now, Count: 1, Last: now}
	}
	t.Says, t.Last = says, now
	if t.Since.After(now) {
		t.Since = now // the clock has been set back meanwhile
	}
	t.Count++
	return t
}
