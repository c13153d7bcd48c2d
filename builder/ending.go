package builder

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"noxmesh/delivery/build"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
)

// ending is why a build did not come to its end. It is an answer, not an error
// of the builder: failed is about the module, environment is about nothing but
// the surroundings and can never be held against the module.
type ending struct {
	outcome build.Outcome
	step    build.Step
	why     string
}

func (e *ending) Error() string {
	if e.outcome == build.OutcomeFailed {
		return fmt.Sprintf("%s: %s", e.step, e.why)
	}
	return e.why
}

func failed(step build.Step, format string, args ...any) *ending {
	return &ending{build.OutcomeFailed, step, fmt.Sprintf(format, args...)}
}

func environment(format string, args ...any) *ending {
	return &ending{outcome: build.OutcomeEnvironment, why: fmt.Sprintf(format, args...)}
}

// errDiskFull is why a build's context ended, as a limit is. Any other cause is
// the builder's own end, and no answer.
var errDiskFull = errors.New("the disk is full")

// limit is what a build took more of than it may. It is the module's failure,
// but where time ran out while the builder itself was at work.
type limit struct {
	says string
	time bool
}

func (l *limit) Error() string { return l.says }

// sizeWords is a size for people.
func sizeWords(n int64) string {
	if n >= 1<<30 && n%(1<<30) == 0 {
		return strconv.FormatInt(n>>30, 10) + " GiB"
	}
	return strconv.FormatInt(n>>20, 10) + " MiB"
}

// timeWords is a time for people: 20m, and not 20m0s.
func timeWords(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// stopped is the controller's word that a build must end.
type stopped struct{ why string }

func (s *stopped) Error() string { return s.why }

// judge makes an ending of whatever went wrong in a step. What the context says
// comes first: a command that was killed has nothing to say of its own.
func judge(ctx context.Context, step build.Step, err error) *ending {
	if cause := context.Cause(ctx); cause != nil {
		return judgeCause(step, cause)
	}
	var e *ending
	if errors.As(err, &e) {
		return e
	}
	var l *limit
	if errors.As(err, &l) {
		return failed(step, "%s", l)
	}
	var x *exited
	if errors.As(err, &x) {
		return failed(step, "%s", x)
	}
	if surroundings(err) {
		return environment("%s: %s", step, said(err))
	}
	return failed(step, "%s", said(err))
}

func judgeCause(step build.Step, cause error) *ending {
	var s *stopped
	var l *limit
	switch {
	case errors.As(cause, &s):
		return environment("stopped: %s", s.why)
	case errors.As(cause, &l) && l.time && (step == build.StepClone || step == build.StepPublish):
		return environment("%s: %s", step, l) // a slow forge, registry or machine: no command of the module ran
	case errors.As(cause, &l):
		return failed(step, "%s", l)
	}
	return environment("%s", cause)
}

// surroundings reports whether err says nothing about the module. An error that
// nobody has given a kind is one of the builder's machine.
func surroundings(err error) bool {
	for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN} {
		if errors.Is(err, no) {
			return true
		}
	}
	switch fault.KindOf(err) {
	case fault.Invalid, fault.NotFound, fault.Conflict:
		return false
	case fault.Denied, fault.Unavailable, fault.Broken, fault.Unknown:
		return true
	}
	return true
}

// said is err and its hint, and of which disk it speaks.
func said(err error) string {
	err = disk.Say(err, "")
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + " (" + hint + ")"
	}
	return err.Error()
}
