package build

import (
	"regexp"
	"strconv"

	"noxmesh/document"
)

// Took is how long one step of a build took.
type Took struct {
	Step string `json:"step"` // as the log heads it: clone, build, pack, test, publish
	Took int64  `json:"took"` // milliseconds by the builder's clock
}

// stepsLimit is how many steps an answer may name.
const stepsLimit = 32

var stepName = regexp.MustCompile(`^[a-z]([a-z -]{0,30}[a-z])?$`)

// ValidStep reports whether a step of a build may be called so.
func ValidStep(name string) bool { return stepName.MatchString(name) }

// steps checks that each is named once and has lasted some time.
func (c checker) steps(all []Took) {
	if len(all) > stepsLimit {
		c.Fault("steps", "want at most "+strconv.Itoa(stepsLimit), "%d steps", len(all))
		return
	}
	named := map[string]bool{}
	for i, s := range all {
		at := document.At("steps", i)
		if !ValidStep(s.Step) {
			c.Fault(at+".step", "want lower-case letters and inner spaces or hyphens, at most 32", "%q is not the name of a step", document.Short(s.Step))
		}
		if named[s.Step] {
			c.Fault(at+".step", "name each once", "there is another %q", document.Short(s.Step))
		}
		named[s.Step] = true
		c.least(at+".took", s.Took, 0)
	}
}
