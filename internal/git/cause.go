package git

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unicode"

	"noxmesh/internal/fault"
)

// Cause is a fact about a repository that stands in the way; errors.Is finds it.
type Cause string

// The causes.
const (
	NoRepository Cause = "there is no such repository"
	Empty        Cause = "the repository has no commit"
	NoRef        Cause = "there is no such branch or tag"
	NoCommit     Cause = "there is no such commit"
	NoFolder     Cause = "there is no such folder"
	NoFile       Cause = "there is no such file"
	NotFile      Cause = "it is not a regular file"
	TooBig       Cause = "it is too big"
)

// Error is the cause in words.
func (c Cause) Error() string { return string(c) }

// said is what one line of git's stderr means. The first row that matches counts.
type said struct {
	words string
	kind  fault.Kind
	cause error
	hint  string
}

// meanings is in order: what is said before what follows from it.
func meanings() []said {
	const readable = "give the repository to the mesh without one, or name a key that may read it"
	return []said{
		{"remote host identification has changed", fault.Denied, nil, "the forge's key differs from the one in the file of known hosts: find out why"},
		{"host key verification failed", fault.Denied, nil, "put the forge's key into the file of known hosts, once you have checked it"},
		{"detected dubious ownership", fault.Denied, nil, "the folder belongs to another user"},
		{"could not read username", fault.Denied, nil, readable},
		{"could not read password", fault.Denied, nil, readable},
		{"authentication failed", fault.Denied, nil, readable},
		{"permission denied", fault.Denied, nil, readable},
		{"returned error: 401", fault.Denied, nil, readable},
		{"returned error: 403", fault.Denied, nil, readable},
		{"access denied", fault.Denied, nil, readable},
		{"file too large", fault.Invalid, TooBig, ""},
		{"file size limit exceeded", fault.Invalid, TooBig, ""},
		{"not our ref", fault.NotFound, NoCommit, ""},
		{"no such remote ref", fault.NotFound, NoRef, ""},
		{"couldn't find remote ref", fault.NotFound, NoRef, ""},
		{"does not allow request for unadvertised", fault.Invalid, errUnadvertised, ""},
		{"repository not found", fault.NotFound, NoRepository, ""},
		{"returned error: 404", fault.NotFound, NoRepository, ""},
		{"returned error: 410", fault.NotFound, NoRepository, ""},
		{"does not appear to be a git repository", fault.NotFound, NoRepository, ""},
		{"' not found", fault.NotFound, NoRepository, ""},
		{"returned error: 5", fault.Unavailable, nil, ""},
		{"returned error: 429", fault.Unavailable, nil, ""},
		{"returned error: 3", fault.Unavailable, nil, "the forge says that the repository is at another address: give that one"},
		{"unable to update url base from redirection", fault.Unavailable, nil, "the forge says that the repository is at another address: give that one"},
		{"certificate", fault.Unavailable, nil, "its certificate is not one that this machine believes: name the one that signed it"},
		{"transport '", fault.Invalid, nil, ""},
		{"fsck error", fault.Invalid, nil, "the repository holds what no git should accept"},
		{"error in blob", fault.Invalid, nil, "the repository holds what no git should accept"},
		{"fsck failed", fault.Invalid, nil, "the repository holds what no git should accept"},
		{"invalid path", fault.Invalid, nil, "the repository holds what no git should accept"},
		{"malformed object name", fault.Invalid, nil, ""},
		{"possible repository corruption", fault.Invalid, nil, "the repository is damaged at the forge"},
	}
}

// errUnadvertised is a server that gives only what one of its refs names.
var errUnadvertised = errors.New("the forge gives no commit by its id")

// classify makes an error of a git that failed: its kind by what it said, and
// Unavailable where that is nothing we know, since a call to a remote failed.
func classify(ctx context.Context, runErr error, stderr []byte, limit time.Duration) error {
	lines := lastLines(stderr)
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), errLimit) {
			return fault.New(fault.Unavailable, "it took longer than %s", limit)
		}
		return fault.Wrap(fault.Unavailable, ctx.Err(), "stopped")
	}
	m, ok := meaning(stderr)
	if !ok {
		m.kind = fault.Unavailable
	}
	e := fault.New(m.kind, "git said %q", lines)
	switch {
	case lines == "":
		e = fault.Wrap(m.kind, runErr, "git")
	case m.cause != nil:
		e = fault.Wrap(m.kind, m.cause, "git said %q", lines)
	}
	e.Hint = m.hint
	return &ending{e, runErr}
}

// ending is what a git that failed has said, and how it ended.
type ending struct {
	said *fault.Error
	how  error
}

// Error is what it said.
func (e *ending) Error() string { return e.said.Error() }

// Unwrap is what it said, and how it ended.
func (e *ending) Unwrap() []error { return []error{e.said, e.how} }

// saysNo reports whether git ended by itself with the status of a no. One that
// could not begin, was killed, or had no more time has said nothing.
func saysNo(err error) bool {
	var x *exec.ExitError
	return errors.As(err, &x) && x.ExitCode() == 1
}

// isMachines reports whether git ended, or was ended, for want of something that
// is this machine's to give.
func isMachines(err error) bool {
	var x *exec.ExitError
	if !errors.As(err, &x) || x.ExitCode() < 0 {
		return true
	}
	for _, no := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN,
	} {
		if strings.Contains(strings.ToLower(err.Error()), ": "+no.Error()) {
			return true
		}
	}
	return strings.Contains(err.Error(), "ut of memory")
}

// meaning is what git meant. What it says itself counts before what it passes on
// from the forge, which may say anything.
func meaning(stderr []byte) (said, bool) {
	all := strings.ToLower(string(stderr))
	var own strings.Builder
	for line := range strings.Lines(all) {
		if !strings.HasPrefix(line, "remote:") {
			own.WriteString(line)
		}
	}
	for _, text := range []string{own.String(), all} {
		for _, m := range meanings() {
			if strings.Contains(text, m.words) {
				return m, true
			}
		}
	}
	return said{}, false
}

var errLimit = errors.New("time limit")

// lastLines is the end of what git said as one line, without anything that a
// terminal would act on.
func lastLines(stderr []byte) string {
	const keep, most = 4, 600
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(string(stderr), "?")) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return ' '
		}, line))
		if line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > keep {
		lines = lines[len(lines)-keep:]
	}
	s := []rune(strings.Join(lines, "; "))
	if len(s) > most {
		s = append([]rune("…"), s[len(s)-most:]...)
	}
	return string(s)
}
