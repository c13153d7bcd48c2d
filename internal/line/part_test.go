package line

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// part is one program of a mesh, as a value or as a process.
type part struct {
	t       testing.TB
	name    string
	run     func(context.Context) error // as a value
	program string                      // as a process; empty for a value
	args    []string
	env     []string
	inside  func(func() error) error // where a process is started
	log     *os.File
	began   time.Time
	silence int64 // the length of its log then

	mu    sync.Mutex // guards what follows
	cmd   *exec.Cmd
	stopp func()
	ended chan struct{} // closed when it has ended; nil while it has not begun
	err   error         // how
}

func (m *mesh) part(name string, run func(context.Context) error, program string, args ...string) *part {
	log, err := os.OpenFile(m.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { log.Close() })
	p := &part{t: m.t, name: name, run: run, args: args, log: log, inside: func(start func() error) error { return start() }}
	if m.opt.net != nil {
		p.inside = m.opt.net.Inside
	}
	if m.opt.programs != "" {
		p.program = filepath.Join(m.opt.programs, program)
	}
	return p
}

func (p *part) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// start runs it, on whatever state it has.
func (p *part) start() {
	p.t.Helper()
	if p.running() {
		p.t.Fatalf("%s runs already", p.name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began, p.err, p.ended, p.silence = time.Now(), nil, make(chan struct{}), p.length()
	wait := p.asValue
	if p.program != "" {
		wait = p.asProcess
	}
	run := wait()
	go func(ended chan struct{}) {
		err := run()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(ended)
	}(p.ended)
}

func (p *part) asValue() func() error {
	ctx, cancel := context.WithCancel(context.Background())
	p.stopp = cancel
	return func() error { return p.run(ctx) }
}

func (p *part) asProcess() func() error {
	cmd := exec.Command(p.program, p.args...)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.Env = append(os.Environ(), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.inside(cmd.Start); err != nil {
		return func() error { return err }
	}
	p.cmd = cmd
	p.stopp = func() { _ = cmd.Process.Signal(syscall.SIGTERM) } // it may have ended by itself
	return cmd.Wait
}

func (p *part) running() bool {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended == nil {
		return false
	}
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

// halt tells it to end, and waits; it may die of it.
func (p *part) halt() {
	p.t.Helper()
	p.mu.Lock()
	stop, ended := p.stopp, p.ended
	p.mu.Unlock()
	stop()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("%s was told to stop, and has not in 30 s", p.name)
	}
}

// stop ends it in order, and waits until it has ended.
func (p *part) stop() {
	p.t.Helper()
	p.halt()
	if p.err != nil && !errors.Is(p.err, context.Canceled) && !p.unborn() {
		p.t.Errorf("%s ended with: %v", p.name, p.err)
	}
}

// unborn reports whether a process was told to end before it could hear of it:
// it has said nothing yet, and the signal itself has ended it. For who runs
// programs that is an end in order, as it is for systemd.
func (p *part) unborn() bool {
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM && p.length() == p.silence
}

func (p *part) length() int64 {
	info, err := p.log.Stat()
	must(p.t, err)
	return info.Size()
}

// kill ends the process as a power cut would, without what it has started: that is its own to survive.
// Whoever guards it may have started it again before this returns.
func (p *part) kill() {
	p.t.Helper()
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	_ = cmd.Process.Kill() // it may have ended by itself
	<-ended
}

// restart is stop and start.
func (p *part) restart() {
	p.t.Helper()
	p.stop()
	p.start()
}
