package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"noxmesh/internal/git/gitserve"
	statusof "noxmesh/status"
)

type (
	status = statusof.Status
	module struct{ statusof.Module }
)

// story is one telling.
type story struct {
	bin, dir string
	sandbox  bool   // the builder can run commands
	sitePage string // the website's page, in its repository
	server   *http.Server
	address  string
	dev      *exec.Cmd
	ended    chan struct{} // closed when mesh dev has ended
	began    time.Time
}

// A step that takes longer than this will not come: the whole story takes well under a minute.
const stepLimit = 60 * time.Second

// begin makes the repositories, serves them over http and starts the mesh.
func (s *story) begin(ctx context.Context) error {
	s.began = time.Now()
	s.sandbox = s.canSandbox(ctx)
	if !s.sandbox {
		s.say("This machine has no bubblewrap that works, so that no builder runs commands here: the website is built without a step of its own.")
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if err := s.make(ctx); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.address = l.Addr().String()
	s.server = &http.Server{Handler: gitserve.Handler(filepath.Join(s.dir, "repositories")), ReadHeaderTimeout: 10 * time.Second}
	go s.server.Serve(l) //nolint:errcheck // it ends with the story
	fmt.Printf("$ mesh dev\n")
	s.dev = exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(s.bin, "mesh"), "dev", "--every", "1s", "--drift", "2s")
	s.dev.Dir, s.dev.Stderr = s.dir, os.Stderr
	s.dev.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ctrl-C is ours to pass on
	if err := s.dev.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() {
		_ = s.dev.Wait() // how it ended is in its own words
		close(s.ended)
	}()
	return s.untilStatus(ctx, "", "three nodes have said hello", func(st status) bool {
		said := 0
		for _, n := range st.Nodes {
			if !n.LastSeen.IsZero() {
				said++
			}
		}
		return said == 3
	})
}

// canSandbox asks the builder's own question: does bubblewrap work here?
func (s *story) canSandbox(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").Run() == nil
}

func (s *story) end() {
	_ = s.dev.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-s.ended:
	case <-time.After(20 * time.Second):
		_ = syscall.Kill(-s.dev.Process.Pid, syscall.SIGKILL)
		<-s.ended
	}
	_ = s.server.Close()
}

func (s *story) url(name string) string { return "http://" + s.address + "/" + name + ".git" }

func (s *story) say(text string) { fmt.Printf("\n── %s\n", text) }

// mesh types a command, shows it and what it says.
func (s *story) mesh(ctx context.Context, args ...string) error {
	fmt.Printf("$ mesh %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "mesh"), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, os.Stdout, os.Stdout
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("mesh %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// ask is mesh status -o json. It ends with 3 where something has failed, which is an answer too.
func (s *story) ask(ctx context.Context, about string) (status, error) {
	args := []string{"status", "-o", "json"}
	if about != "" {
		args = append(args, about)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "mesh"), args...)
	cmd.Dir = s.dir
	out, err := cmd.Output()
	var st status
	if e := json.Unmarshal(out, &st); e != nil {
		return st, errors.Join(err, e)
	}
	return st, nil
}

// until shows the module's line each time that it changes, until it is true.
func (s *story) until(ctx context.Context, name, what string, isTrue func(module) bool) error {
	last := ""
	return s.untilStatus(ctx, name, name+": "+what, func(st status) bool {
		if len(st.Modules) == 0 {
			return false
		}
		m := module{st.Modules[0]}
		if line := m.Line(); line != last {
			last = line
			fmt.Printf("  %5.1f s  %s %s\n", time.Since(s.began).Seconds(), name, line)
		}
		return isTrue(m)
	})
}

func (s *story) untilStatus(ctx context.Context, about, what string, isTrue func(status) bool) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		st, err := s.ask(ctx, about)
		if err == nil && isTrue(st) {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return fmt.Errorf("waited for %q, and mesh dev ended", what)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("waited for %q, and it did not become true in %s", what, stepLimit), err)
		}
	}
}

// logs is the end of each program's log, for whoever has to find out why.
func (s *story) logs() string {
	var b strings.Builder
	files, err := filepath.Glob(filepath.Join(s.dir, "mesh-dev", "log", "*.log"))
	if err != nil {
		return err.Error()
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&b, "%s:\n  %s\n", filepath.Base(f), strings.Join(lines[max(0, len(lines)-12):], "\n  "))
	}
	return b.String()
}
