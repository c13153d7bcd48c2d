//go:build meshcrash

package line

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/identity"
	"noxmesh/internal/invariant"
	"noxmesh/status"
)

// person is the mortal of the stories of the mesh command: mesh dev, and a login.
const person = "mesh"

// persons reports whether a person's command comes to an effect by these calls,
// or a program that mesh dev lets join: then mesh dev ends, and goes on from there
// when it is started again. What else mesh dev starts is a mortal of its own.
func persons(calls string) bool {
	return slices.ContainsFunc(strings.Split(calls, "<"), func(call string) bool {
		return strings.HasPrefix(call, "cli.") || call == "builder.Join" || call == "host.Join"
	})
}

// dev is a mesh dev, as a person has it.
func (w *told) dev(t *testing.T) {
	dir, err := os.MkdirTemp("", "mesh-dev-") //nolint:usetesting // the path of a socket is short
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	w.mesh = &mesh{t: t, dir: dir, ip: address(), forge: newForge(t, nil)}
	w.opt.poll = 100 * time.Millisecond
	w.client = api.OverSocket(w.path("controller", "controller.sock"))
	t.Cleanup(w.end)
	t.Cleanup(w.settle)
	w.controller = w.part("dev", nil, "")
	w.controller.program, w.controller.args = filepath.Join(w.programs, "mesh"), []string{"dev", "--dir", dir, "--hosts", "1", "--every", "300ms", "--drift", "1s"}
	w.begins()
	w.beginDev()
	w.until("everybody has been heard of", func(s status.Status) string {
		if n := nodeOf(s, "node1"); n.State != "idle" || n.LastSeen.IsZero() {
			return "node1 has not"
		}
		return ""
	})
	tree := site("site", "first")
	address, commit := w.forge.repository("site", tree)
	w.head("site", commit)
	insist(w.mesh, api.ModuleAdd(), api.ModuleAddIn{Module: "site", Repository: address})
	insist(w.mesh, api.Assign(), api.AssignIn{Module: "site", Node: "node1"})
	insist(w.mesh, api.ModulePolicy(), api.PolicyIn{Module: "site", Policy: "auto"})
	w.until("the first is out", isOut("site", commit, 1))
	mustHold(t, "at the end", invariant.AtEnd(w.see(w.mesh)))
	if got := do(w.mesh, api.Builders(), api.Nothing{}).Builders; len(got) != 1 {
		t.Errorf("there are %d builders: %+v", len(got), got)
	}
	w.login()
	w.settle()
	w.interrupt(t)
}

// beginDev starts mesh dev, and starts it again when it or what it let join has died.
func (w *told) beginDev() {
	p := w.controller
	p.env = w.env()
	p.start()
	w.guards.Go(func() {
		for {
			p.mu.Lock()
			ended := p.ended
			p.mu.Unlock()
			select {
			case <-w.ended:
				return
			case <-ended:
			}
			switch {
			case w.failing:
				time.Sleep(100 * time.Millisecond) // as long as a person takes, at least
			case !w.fell():
				w.t.Errorf("mesh dev ended by itself: %v", p.err)
				return
			}
			p.env = w.env()
			p.start()
		}
	})
}

// login keeps a login, also where the command is killed on the way.
func (w *told) login() {
	w.t.Helper()
	text := do(w.mesh, api.LoginAdd(), api.LoginAddIn{Name: "anna", Role: "operator"}).Login
	config := w.path("config")
	login, err := identity.ParseLogin(text)
	must(w.t, err)
	w.gives("anna's login", login.Secret.Reveal(), filepath.Join(config, "mesh", "login"))
	run := func(env []string, args ...string) (string, error) {
		cmd := exec.CommandContext(w.t.Context(), filepath.Join(w.programs, "mesh"), args...)
		cmd.Env = append(append(os.Environ(), "XDG_CONFIG_HOME="+config, "HOME="+w.dir), env...)
		cmd.Dir = w.t.TempDir()
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	w.poll("the login is kept", func() string {
		out, err := run(w.env(), "login", text)
		if err == nil {
			return ""
		}
		if !w.failing && (!killed(err) || !w.fell()) {
			w.t.Fatalf("mesh login: %v: %s", err, out)
		}
		w.hears(out)
		return "it ended: " + err.Error() + ": " + out
	})
	if out, err := run(nil, "status"); err != nil || !strings.Contains(out, "site") {
		w.t.Errorf("mesh status with the login that was kept: %v: %s", err, out)
	}
	mustHold(w.t, "after the login", invariant.Always(w.see(w.mesh)))
	left, err := filepath.Glob(filepath.Join(config, "*", "*.new*"))
	must(w.t, err)
	mustHold(w.t, "after the login", invariant.AtEnd(invariant.Seen{Left: left}))
}

// interrupt ends mesh dev as ctrl-C does, and all that it has started.
func (w *told) interrupt(t *testing.T) {
	t.Helper()
	p := w.controller
	must(t, p.cmd.Process.Signal(syscall.SIGINT))
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		t.Fatal("mesh dev was interrupted, and has not ended in 30 s")
	}
	if p.err != nil {
		t.Errorf("mesh dev ended with: %v", p.err)
	}
	pids, err := filepath.Glob(w.path("log", "*.pid"))
	must(t, err)
	mustHold(t, "when all has ended", invariant.AtEnd(invariant.Seen{Left: pids}))
}
