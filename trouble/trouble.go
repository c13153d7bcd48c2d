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
	Others      []Other   `json:"others,omitempty"` // the other failures of the same thing since its last success, the newest first
}

// Other is a failure that another one has followed, with no success between.
type Other struct {
	Fingerprint string    `json:"fingerprint"`
	Since       time.Time `json:"since"`
	Count       int64     `json:"count"`
}

// mostOthers is how many other failures are remembered: what goes round among
// more than these is taken for something new each time.
const mostOthers = 3

// Stuck reports whether the same trouble has come three times with no success between.
func (t Trouble) Stuck() bool { return t.Count >= StuckAt }

// Again is the trouble after one more failure. The zero Trouble is "none yet".
func (t Trouble) Again(key, fingerprint, says string, now time.Time) Trouble {
	switch {
	case t.Count == 0:
		return Trouble{Key: key, Fingerprint: fingerprint, Says: says, Since: now, Count: 1, Last: now}
	case t.Fingerprint != fingerprint:
		t = t.turn(fingerprint, now)
	}
	t.Key, t.Says, t.Last = key, says, now
	if t.Since.After(now) {
		t.Since = now // the clock has been set back meanwhile
	}
	t.Count++
	return t
}

// turn is the trouble that this failure goes on with: the one like it since the
// last success, or one that begins now. What fails in two ways by turns does not
// begin anew with each.
func (t Trouble) turn(fingerprint string, now time.Time) Trouble {
	next := Trouble{Fingerprint: fingerprint, Since: now, Others: []Other{{t.Fingerprint, t.Since, t.Count}}}
	for _, o := range t.Others {
		if o.Fingerprint == fingerprint {
			next.Since, next.Count = o.Since, o.Count
		} else if len(next.Others) < mostOthers {
			next.Others = append(next.Others, o)
		}
	}
	return next
}
