package verdict_test

import (
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/delivery/verdict"
)

func all() []verdict.Verdict {
	return []verdict.Verdict{verdict.Outstanding, verdict.Unfit, verdict.Fit, verdict.FitNoTests}
}

func TestVerdictParsesItsOwnWord(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range all() {
		if got := verdict.Parse(v.String()); got != v || seen[v.String()] {
			t.Errorf("%q parses as %v", v, got)
		}
		seen[v.String()] = true
	}
	for _, s := range []string{"", "Fit", "fit ", "fit (no tests", "2"} {
		if v := verdict.Parse(s); v != verdict.Outstanding {
			t.Errorf("%q parses as %v", s, v)
		}
	}
	if s := verdict.Verdict(9).String(); s != "outstanding" {
		t.Errorf("a verdict that there is not is %q", s)
	}
}

// TestEligible: nothing may be declared because nobody said otherwise.
func TestEligible(t *testing.T) {
	t.Parallel()
	for v := verdict.Verdict(-1); v < 10; v++ {
		if got, want := v.Eligible(), v == verdict.Fit || v == verdict.FitNoTests; got != want {
			t.Errorf("%d is eligible: %v", v, got)
		}
	}
	var none verdict.Verdict
	if none.Eligible() {
		t.Error("no verdict is a verdict")
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome build.Outcome
		tests   build.Tests
		want    verdict.Verdict
	}{
		{build.OutcomeBuilt, build.TestsPassed, verdict.Fit},
		{build.OutcomeBuilt, build.TestsFailed, verdict.Unfit},
		{build.OutcomeBuilt, build.TestsNone, verdict.FitNoTests},
		{build.OutcomeBuilt, "", verdict.Outstanding},
		{build.OutcomeBuilt, "skipped", verdict.Outstanding},
		{build.OutcomeFailed, build.TestsPassed, verdict.Outstanding},
		{build.OutcomeFailed, "", verdict.Outstanding},
		{build.OutcomeEnvironment, build.TestsFailed, verdict.Outstanding},
		{build.OutcomeEnvironment, build.TestsPassed, verdict.Outstanding},
		{"", build.TestsPassed, verdict.Outstanding},
	} {
		if got := verdict.Judge(build.Answer{Outcome: c.outcome, Tests: c.tests}); got != c.want {
			t.Errorf("%q with tests %q is %v, want %v", c.outcome, c.tests, got, c.want)
		}
	}
}
