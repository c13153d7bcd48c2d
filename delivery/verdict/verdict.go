package verdict

import "noxmesh/delivery/build"

// Verdict is what has been judged of a build. The zero value is Outstanding:
// nothing is fit because nobody said otherwise.
type Verdict int

// The verdicts.
const (
	Outstanding Verdict = iota
	Unfit
	Fit
	FitNoTests // fit, and nothing has tested it: shown as such
)

// String is the verdict as status says it.
func (v Verdict) String() string {
	switch v {
	case Outstanding:
		return "outstanding"
	case Unfit:
		return "unfit"
	case Fit:
		return "fit"
	case FitNoTests:
		return "fit (no tests)"
	}
	return "outstanding"
}

// Parse is the verdict that String gives as s; anything else is Outstanding.
func Parse(s string) Verdict {
	for _, v := range []Verdict{Unfit, Fit, FitNoTests} {
		if v.String() == s {
			return v
		}
	}
	return Outstanding
}

// Eligible reports whether a build with this verdict may be declared.
func (v Verdict) Eligible() bool { return v == Fit || v == FitNoTests }

// Judge is what an answer says of its build. Only a build that was made has a verdict.
func Judge(a build.Answer) Verdict {
	if a.Outcome != build.OutcomeBuilt {
		return Outstanding
	}
	switch a.Tests {
	case build.TestsPassed:
		return Fit
	case build.TestsFailed:
		return Unfit
	case build.TestsNone:
		return FitNoTests
	}
	return Outstanding
}
