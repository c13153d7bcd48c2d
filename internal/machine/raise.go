package machine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Raise is a bridge and one machine on it, "node", which is not on yet. Both are
// taken away when the test ends, however it does. Where none can be raised, that is
// said by name.
func Raise(t testing.TB) (*Net, *Machine) {
	t.Helper()
	return raise(t, ground(t), func(ctx context.Context) (string, error) { return Base(ctx, Cache) })
}

// RaiseOn is Raise, with all that the machine writes below this folder, in which nothing else is.
func RaiseOn(t testing.TB, folder string) (*Net, *Machine) {
	t.Helper()
	return raise(t, folder, func(ctx context.Context) (string, error) { return Base(ctx, Cache) })
}

// RaiseWith is Raise, of a machine that has more packages of Debian's.
func RaiseWith(t testing.TB, names ...string) (*Net, *Machine) {
	t.Helper()
	return raise(t, ground(t), func(ctx context.Context) (string, error) { return With(ctx, Cache, names...) })
}

// ground is a folder for the machines of a test, which is taken away after them.
func ground(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: machines are tested where .ci/run runs as root")
	}
	must(t, Able())
	ground, swept, err := NewGround()
	must(t, err)
	if swept != nil { // it was not this test
		t.Log(swept)
	}
	t.Cleanup(func() { must(t, ground.Close()) })
	return ground.Dir
}

func raise(t testing.TB, folder string, start func(context.Context) (string, error)) (*Net, *Machine) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // what was raised is taken away even when the test was stopped
	base, err := start(ctx)
	must(t, err)
	net, err := NewNet(ctx, base, folder)
	must(t, err)
	t.Cleanup(func() { must(t, net.Close(ctx)) })
	m, err := net.Add(ctx, "node")
	must(t, err)
	t.Cleanup(func() { must(t, m.Remove(ctx)) })
	return net, m
}

// MustBoot is Boot, of a machine on which no unit may fail.
func (m *Machine) MustBoot(t testing.TB) {
	t.Helper()
	if state, err := m.Boot(context.WithoutCancel(t.Context())); err != nil || state != "running" {
		t.Fatalf("%q, %v", state, err)
	}
}

// Sh runs a line of shell on the machine, and gives what it wrote. Who counts looks in it is
// not cut short on a machine that is busy.
func (m *Machine) Sh(t testing.TB, format string, args ...any) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := m.Exec(ctx, "sh", "-c", fmt.Sprintf(format, args...))
	must(t, err)
	return strings.TrimSpace(out)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
