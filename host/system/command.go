package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"noxmesh/internal/fault"
)

// Command is a program of the machine and its words. No shell reads them.
type Command struct {
	Name  string
	Args  []string
	Stdin string
	Input io.Reader // what it reads in place of Stdin, where there is one: it is read for as long as it runs
	Env   []string  // beside a path and a plain language
}

// Done is what came of a program that has ended.
type Done struct {
	Code int    // 0 where it ended well
	Out  string // what it wrote to stdout: the first of it, where it is much
	Said string // what it wrote to stderr: the last of it, where it is much
}

const (
	outMost  = 1 << 20 // of what a program writes to stdout is kept
	saidMost = 4 << 10 // of what it writes to stderr
	letGo    = time.Second
)

// Whole reports whether the root is the machine itself, on which programs and
// services can be asked to do something, and no folder that plays its part.
func (r *Root) Whole() bool { return r.dir == "/" }

// works refuses to run a program where the root is no machine.
func (r *Root) works(program string) error {
	if r.Whole() {
		return nil
	}
	return fault.New(fault.Conflict, "this host keeps the folder %q, and %q works on a machine", r.dir, program)
}

// Run runs a program of the machine until it ends, or until ctx does: then it
// and all that it has started and not let go of are ended. A program that ends
// with another code than 0 is no error here.
func (r *Root) Run(ctx context.Context, c Command) (Done, error) {
	if err := r.works(c.Name); err != nil {
		return Done{}, err
	}
	r.Step()
	defer r.Step()
	began := time.Now()
	cmd := exec.CommandContext(ctx, c.Name, c.Args...)
	cmd.Env, cmd.Dir = environment(c), "/"
	cmd.Stdin = strings.NewReader(c.Stdin)
	if c.Input != nil {
		cmd.Stdin = c.Input
	}
	out, said := &first{most: outMost}, &last{most: saidMost}
	cmd.Stdout, cmd.Stderr = out, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = letGo
	err := cmd.Run()
	done := Done{Out: out.kept.String(), Said: strings.TrimSpace(said.kept.String())}
	if ctx.Err() != nil {
		return done, tooLong(c.Name, began, said)
	}
	return over(done, c.Name, err)
}

func environment(c Command) []string {
	return append(append(plain(), "HOME=/root"), c.Env...)
}

// plain is a path and a language that everybody reads.
func plain() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"}
}

func tooLong(name string, began time.Time, said *last) error {
	return fault.New(fault.Conflict, "%q had not ended after %s, and was ended with all that it had started%s",
		name, time.Since(began).Round(time.Second), said.tail())
}

// over is what came of a program that has ended like that.
func over(done Done, name string, err error) (Done, error) {
	var ended *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it has left somebody behind who holds its output
		return done, nil
	case errors.As(err, &ended):
		if done.Code = ended.ExitCode(); done.Code < 0 {
			return done, fault.New(fault.Conflict, "%q was ended by %s", name, ended.ProcessState)
		}
		return done, nil
	case errors.Is(err, exec.ErrNotFound):
		return done, fault.New(fault.Conflict, "this machine has no program %q", name)
	}
	return done, fault.Wrap(fault.Conflict, err, "run %q", name)
}

// Failed is why a program did not end well, or nil.
func (d Done) Failed(name string) error {
	if d.Code == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "%q ended with %d: %s", name, d.Code, oneLine(d.Said))
}

// oneLine is text of several lines as one.
func oneLine(text string) string {
	if text == "" {
		return "it did not say why"
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}

// first keeps the first bytes that are written. Its buffer is not embedded: that
// could read by itself, and knows no end.
type first struct {
	kept bytes.Buffer
	most int
}

func (f *first) Write(b []byte) (int, error) {
	_, _ = f.kept.Write(b[:min(len(b), f.most-f.kept.Len())]) // a buffer takes everything
	return len(b), nil
}

// last keeps the last bytes that are written, and its buffer likewise.
type last struct {
	kept bytes.Buffer
	most int
}

func (l *last) Write(b []byte) (int, error) {
	_, _ = l.kept.Write(b) // a buffer takes everything
	if over := l.kept.Len() - l.most; over > 0 {
		l.kept.Next(over)
	}
	return len(b), nil
}

// tail is the last that was said, after a colon.
func (l *last) tail() string {
	text := strings.TrimSpace(l.kept.String())
	if text == "" {
		return ""
	}
	return fmt.Sprintf(": %s", oneLine(text[max(0, len(text)-200):]))
}
