//go:build meshcrash && power

package line

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/builder"
	"noxmesh/host"
	"noxmesh/internal/invariant"
	"noxmesh/internal/observe"
	"noxmesh/internal/power"
)

// joiner is a program that joins, its state on a disk whose power is cut.
type joiner struct {
	mu     sync.Mutex        // guards what follows
	names  map[string]string // by disk
	tokens map[string]string
	watch  watch
}

// token is the one that the disk's owner was given.
func (j *joiner) token(t *testing.T, dir string, add func(name string) string) (name, token string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.tokens[dir] == "" {
		j.names[dir] = fmt.Sprintf("cut%d", len(j.names))
		j.tokens[dir] = add(j.names[dir])
		j.watch.givesToken(t, j.names[dir], j.tokens[dir])
	}
	return j.names[dir], j.tokens[dir]
}

// TestPowerIsCutWhileABuilderJoins: after a cut at any effect of a join, the same
// token is good: the builder has joined, or joins, and the controller hears of it.
func TestPowerIsCutWhileABuilderJoins(t *testing.T) {
	t.Parallel()
	m := begin(t, options{})
	j := &joiner{names: map[string]string{}, tokens: map[string]string{}}
	add := func(name string) string { return do(m, api.BuilderAdd(), api.BuilderIn{Builder: name}).Token }
	dir := folder(t, crashing)
	join := func(disk string) *exec.Cmd {
		_, token := j.token(t, disk, add)
		return exec.Command(filepath.Join(dir, "mesh-builder"), "join", "--state", filepath.Join(disk, "state"), token)
	}
	power.Writer{Run: join, Begin: power.Blank(t, "16M"), Least: 18}.EachCut(t, func(t *testing.T, disk string, said []string) {
		name, _ := j.token(t, disk, add)
		joinsAgain(t, join(disk), said)
		runs(t, m, func(ctx context.Context) error {
			return builder.Run(ctx, builder.Config{State: filepath.Join(disk, "state"), Version: "test"})
		}, func() bool {
			all := do(m, api.Builders(), api.Nothing{}).Builders
			return slices.ContainsFunc(all, func(b api.BuilderOut) bool { return b.Name == name && !b.LastSeen.IsZero() })
		})
		j.holds(t, m, disk)
	})
}

// TestPowerIsCutWhileANodeJoins: the same for a node.
func TestPowerIsCutWhileANodeJoins(t *testing.T) {
	t.Parallel()
	m := begin(t, options{})
	j := &joiner{names: map[string]string{}, tokens: map[string]string{}}
	add := func(name string) string { return do(m, api.NodeAdd(), api.NodeAddIn{Node: name}).Token }
	dir := folder(t, crashing)
	join := func(disk string) *exec.Cmd {
		_, token := j.token(t, disk, add)
		return exec.Command(filepath.Join(dir, "mesh-host"), "join", "--root", disk, token)
	}
	power.Writer{Run: join, Begin: power.Blank(t, "16M"), Least: 18}.EachCut(t, func(t *testing.T, disk string, said []string) {
		name, _ := j.token(t, disk, add)
		joinsAgain(t, join(disk), said)
		runs(t, m, func(ctx context.Context) error {
			c := host.Default()
			c.Root, c.Version = disk, "test"
			return host.Run(ctx, c)
		}, func() bool { return !nodeOf(m.now(), name).LastSeen.IsZero() })
		j.holds(t, m, disk)
	})
}

// holds fails the test where anything stands against the invariants, and where a
// token is still on the disk of whoever joined with it.
func (j *joiner) holds(t *testing.T, m *mesh, disk string) {
	t.Helper()
	j.watch.mu.Lock()
	secrets := j.watch.secrets(m)
	j.watch.mu.Unlock()
	hunt := observe.Seek(secrets)
	must(t, hunt.Folder(disk))
	mustHold(t, "after the cut", invariant.Always(invariant.Seen{Canaries: hunt.Found()}))
	mustHold(t, "after the cut", invariant.Always(j.watch.see(m)))
}

// joinsAgain types the same command again: it does its work, or says that it was done.
func joinsAgain(t *testing.T, cmd *exec.Cmd, said []string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	done := strings.Contains(string(out), "already") || strings.Contains(string(out), "this machine is node")
	if err != nil && !done {
		t.Fatalf("the same token again: %v: %s", err, out)
	}
	if len(said) > 0 && !done {
		t.Errorf("it had said %q, and has not joined", said)
	}
}

// runs runs a program until it was heard of.
func runs(t *testing.T, m *mesh, run func(context.Context) error, heard func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	over := time.After(*patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !heard() {
		select {
		case err := <-ended:
			t.Fatalf("it ended by itself: %v", err)
		case <-over:
			t.Fatal("nobody has heard of it")
		case <-tick.C:
		}
	}
	cancel()
	if err := <-ended; err != nil && ctx.Err() == nil {
		t.Error(err)
	}
}

// TestPowerIsCutInALogin: a login that was said to be kept is kept, and after any
// cut the command knows a whole one or none.
func TestPowerIsCutInALogin(t *testing.T) {
	t.Parallel()
	m := begin(t, options{})
	text := do(m, api.LoginAdd(), api.LoginAddIn{Name: "anna", Role: "operator"}).Login
	dir := folder(t, crashing)
	mesh := func(disk string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(dir, "mesh"), args...)
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(disk, "config"), "HOME="+disk)
		return cmd
	}
	login := func(disk string) *exec.Cmd { return mesh(disk, "login", text, "-o", "json") }
	power.Writer{Run: login, Begin: power.Blank(t, "16M"), Least: 10}.EachCut(t, func(t *testing.T, disk string, said []string) {
		kept, err := os.ReadFile(filepath.Join(disk, "config", "mesh", "login"))
		if err == nil && string(kept) != text+"\n" || err != nil && (!os.IsNotExist(err) || len(said) > 0) {
			t.Errorf("it had said %q, and kept is %q: %v", said, kept, err)
		}
		for _, cmd := range []*exec.Cmd{login(disk), mesh(disk, "module", "list")} {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v after the cut: %v: %s", cmd.Args[1:], err, out)
			}
		}
	})
}

// TestPowerIsCutInAMeshDev: after a cut while mesh dev chooses its ports it goes
// on with those that it has told its nodes, or with new ones before it has told
// anybody; and a node that it said is off is off.
func TestPowerIsCutInAMeshDev(t *testing.T) {
	t.Parallel()
	dir := folder(t, crashing)
	mesh := func(args ...string) *exec.Cmd { return exec.Command(filepath.Join(dir, "mesh"), args...) }
	blank := power.Blank(t, "16M")
	starts := func(t *testing.T, disk string, env ...string) {
		t.Helper()
		cmd := mesh("dev", "--dir", disk)
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); !killed(err) {
			t.Errorf("it did not come to %s: %v: %s", env[0], err, out)
		}
	}
	for _, c := range power.Cuts("disk.file.stage#1\ndisk.file.commit#1\ndisk.file.seal#1\ncli.dev.start#1") {
		if c.Point == power.End {
			continue // it does not end
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			disks := power.Disks{blank.Mount(t)}
			starts(t, disks[0].Dir, disks.Env(c)...)
			disks.Back(t)
			was, err := os.ReadFile(filepath.Join(disks[0].Dir, "ports.json"))
			if err != nil && (!os.IsNotExist(err) || strings.HasPrefix(c.Point, "cli.dev.start")) {
				t.Error(err)
			}
			starts(t, disks[0].Dir, "MESH_CRASH=cli.dev.start#1:before")
			now, err := os.ReadFile(filepath.Join(disks[0].Dir, "ports.json"))
			if err != nil || len(was) > 0 && string(was) != string(now) {
				t.Errorf("the ports were %q, and are %q: %v", was, now, err)
			}
		})
	}
	for _, what := range []string{"stop", "start"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := blank.Mount(t)
			must(t, os.MkdirAll(filepath.Join(d.Dir, "nodes", "node1"), 0o700))
			must(t, os.MkdirAll(filepath.Join(d.Dir, "off"), 0o700))
			off := filepath.Join(d.Dir, "off", "node1")
			if what == "start" {
				must(t, os.WriteFile(off, nil, 0o600))
			}
			must(t, exec.Command("sync", "-f", d.Dir).Run())
			if out, err := mesh("dev", what, "node1", "--dir", d.Dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			disks := power.Disks{d}
			disks.Fail(power.Lost)
			disks.Back(t)
			if _, err := os.Lstat(off); (err == nil) != (what == "stop") {
				t.Errorf("after mesh dev %s and a power cut: %v", what, err)
			}
		})
	}
}
