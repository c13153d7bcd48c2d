package builder

import (
	"context"
	"errors"
	"fmt"
	"syscall"

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

// Why a build's context ended. Any other cause is the builder's own end, and no answer.
var (
	errTimeLimit = errors.New("time limit")
	errTreeLimit = errors.New("tree limit")
	errDiskFull  = errors.New("the disk is full")
)

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
	switch {
	case errors.As(cause, &s):
		return environment("stopped: %s", s.why)
	case errors.Is(cause, errTimeLimit):
		return failed(step, "%s", cause)
	case errors.Is(cause, errTreeLimit):
		return failed(step, "%s", cause)
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
