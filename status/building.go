package status

import (
	"maps"
	"slices"
	"time"

	"noxmesh/delivery"
)

// Building is a build that a builder is making now.
type Building struct {
	Request   string    `json:"request"`
	Builder   string    `json:"builder"` // its name
	Since     time.Time `json:"since"`
	Step      string    `json:"step,omitempty"` // as far as the builder has said
	StepSince time.Time `json:"step_since,omitzero"`
	Usual     *Usual    `json:"usual,omitempty"`
}

// Usual is how long the last builds of a module for a platform took that ended
// well: the median of so many, in milliseconds.
type Usual struct {
	Builds int    `json:"builds"`
	Took   int64  `json:"took"`
	Steps  []Step `json:"steps,omitempty"`
}

// Step is how long one step of a build took, in milliseconds.
type Step struct {
	Step string `json:"step"`
	Took int64  `json:"took"`
}

// Of is how long a step usually takes, or false where nobody knows.
func (u *Usual) Of(step string) (time.Duration, bool) {
	if u == nil {
		return 0, false
	}
	for _, s := range u.Steps {
		if s.Step == step {
			return time.Duration(s.Took) * time.Millisecond, true
		}
	}
	return 0, false
}

// UsualOf is u as status shows it, or nil where nothing is known.
func UsualOf(u *delivery.Usually) *Usual {
	if u == nil {
		return nil
	}
	out := &Usual{Builds: u.Builds, Took: u.Took.Milliseconds()}
	for _, s := range slices.Sorted(maps.Keys(u.Steps)) {
		out.Steps = append(out.Steps, Step{s, u.Steps[s].Milliseconds()})
	}
	return out
}

// buildingOf is the build that is being made of a module, the first of several.
// What it usually takes is for whoever can read the record of builds to fill in.
func buildingOf(d delivery.Facts) *Building {
	var out *Building
	for _, a := range d.Asked {
		if a.State != delivery.Leased || out != nil && !a.Since.Before(out.Since) {
			continue
		}
		out = &Building{Request: a.ID, Builder: delivery.BuilderName(d, a.Builder), Since: a.Since, Step: a.Doing, StepSince: a.DoingAt}
	}
	return out
}
