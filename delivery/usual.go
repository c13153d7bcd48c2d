package delivery

import (
	"slices"
	"time"

	"noxmesh/delivery/build"
)

// UsualOf is how many of a module's last builds say what is usual: few enough to
// follow a module that becomes slower, and odd.
const UsualOf = 9

// Past is how long one build took that ended well.
type Past struct {
	Took  time.Duration
	Steps []build.Took // none where its builder did not say
}

// Usually is how long the builds of a module for one platform usually take: the
// median of the last. It is a guess and decides nothing.
type Usually struct {
	Builds int // of how many
	Took   time.Duration
	Steps  map[string]time.Duration // of each step that more than half of them had
}

// Usual is what the past says, or nil where there is none.
func Usual(past []Past) *Usually {
	if len(past) == 0 {
		return nil
	}
	u := &Usually{Builds: len(past), Steps: map[string]time.Duration{}}
	var whole []time.Duration
	steps := map[string][]time.Duration{}
	for _, p := range past {
		whole = append(whole, p.Took)
		for _, s := range p.Steps {
			steps[s.Step] = append(steps[s.Step], time.Duration(s.Took)*time.Millisecond)
		}
	}
	u.Took = median(whole)
	for step, took := range steps {
		if 2*len(took) > len(past) {
			u.Steps[step] = median(took)
		}
	}
	return u
}

// median is the one in the middle, of two the shorter: it is one that has been.
func median(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[(len(all)-1)/2]
}
