package builder

import (
	"context"
	"errors"
	"testing"
	"time"

	"noxmesh/delivery/build"
)

// Time that runs out while the builder itself is at work is a slow machine,
// forge or registry; while the module's commands run, or what they left is
// packed, it is the module.
func TestWhoseTimeRanOut(t *testing.T) {
	t.Parallel()
	for step, want := range map[build.Step]build.Outcome{
		build.StepClone: build.OutcomeEnvironment, build.StepPublish: build.OutcomeEnvironment,
		build.StepBuild: build.OutcomeFailed, build.StepPack: build.OutcomeFailed,
	} {
		ctx, end := context.WithCancelCause(t.Context())
		end(tooLong(20 * time.Minute))
		e := judge(ctx, step, errors.New("signal: killed"))
		if e.outcome != want || e.outcome == build.OutcomeFailed && e.step != step {
			t.Errorf("%s: %s %s: %s", step, e.outcome, e.step, e.why)
		}
		why := "time limit: the build takes longer than 20m"
		if want == build.OutcomeEnvironment {
			why = string(step) + ": " + why
		}
		if e.why != why {
			t.Errorf("%s: %q, want %q", step, e.why, why)
		}
	}
}
