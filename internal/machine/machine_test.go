package machine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/machine"
)

// A machine boots, is one of its own, reaches its neighbour until its cable is
// cut, keeps its disk over a power cut, and leaves nothing behind.
func TestMachine(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root: machines are tested where .ci/run runs as root")
	}
	if err := machine.Able(); err != nil {
		t.Fatal(err)
	}
	one, two := raise(t)
	ctx := t.Context()

	if name := on(t, one, "hostname"); name != "one" {
		t.Errorf("the hostname is %q", name)
	}
	if on(t, one, "cat", "/etc/machine-id") == on(t, two, "cat", "/etc/machine-id") {
		t.Error("two machines have one machine id")
	}
	if said := reach(ctx, one, two); !strings.Contains(said, "refused") {
		t.Errorf("the neighbour does not answer: %q", said)
	}
	if err := two.Cut(ctx); err != nil {
		t.Error(err)
	}
	if said := reach(ctx, one, two); strings.Contains(said, "refused") {
		t.Errorf("the neighbour answers over a cut cable: %q", said)
	}
	if err := two.Heal(ctx); err != nil {
		t.Error(err)
	}

	before := on(t, one, "cat", "/proc/sys/kernel/random/boot_id")
	on(t, one, "sh", "-c", "echo kept >/root/file")
	if err := one.PowerCut(ctx); err != nil {
		t.Fatal(err)
	}
	boot(t, one)
	if kept := on(t, one, "cat", "/root/file"); kept != "kept" {
		t.Errorf("after a power cut the file holds %q", kept)
	}
	if on(t, one, "cat", "/proc/sys/kernel/random/boot_id") == before {
		t.Error("it has booted again under the same boot id")
	}
}

// raise boots two machines and takes them away when the test ends.
func raise(t *testing.T) (one, two *machine.Machine) {
	t.Helper()
	ctx := t.Context()
	base, err := machine.Base(ctx, machine.Cache)
	if err != nil {
		t.Fatal(err)
	}
	ground, _, err := machine.NewGround()
	if err != nil {
		t.Fatal(err)
	}
	net, err := machine.NewNet(ctx, base, ground.Dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx = context.WithoutCancel(ctx) // what was raised is taken away even when the test was stopped
	t.Cleanup(func() { gone(t, net, ground) })
	for _, m := range []struct {
		name string
		to   **machine.Machine
	}{{"one", &one}, {"two", &two}} {
		made, err := net.Add(ctx, m.name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := made.Remove(ctx); err != nil {
				t.Error(err)
			}
		})
		boot(t, made)
		*m.to = made
	}
	return one, two
}

// gone closes the net and looks for what is left of it.
func gone(t *testing.T, net *machine.Net, ground *machine.Ground) {
	t.Helper()
	if err := net.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob("/run/netns/" + net.Name + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("namespaces are left: %q, %v", left, err)
	}
	groups, err := filepath.Glob("/sys/fs/cgroup/*/" + net.Name + "*")
	if err != nil || len(groups) > 0 {
		t.Errorf("control groups are left: %q, %v", groups, err)
	}
	if err := ground.Close(); err != nil { // fails when there is anything in it
		t.Error(err)
	}
}

func boot(t *testing.T, m *machine.Machine) {
	t.Helper()
	if state, err := m.Boot(t.Context()); err != nil || state != "running" {
		t.Fatalf("machine %q: %q, %v", m.Name, state, err)
	}
}

func on(t *testing.T, m *machine.Machine, name string, args ...string) string {
	t.Helper()
	out, err := m.Exec(t.Context(), name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// reach is what one machine is told when it knocks on another where nothing
// listens: "refused" when the other is there.
func reach(ctx context.Context, from, to *machine.Machine) string {
	out, _ := from.Command(ctx, "timeout", "2", "bash", "-c", "echo >/dev/tcp/"+to.Address+"/7").CombinedOutput() // it fails either way
	return string(out)
}
