package declaration_test

import (
	"testing"

	"pgregory.net/rapid"

	"noxmesh/declaration"
)

func TestASysctlHasOneName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, path, called string }{
		{"net.ipv4.ip_forward", "net/ipv4/ip_forward", "net.ipv4.ip_forward"},
		{"net/ipv4/ip_forward", "net/ipv4/ip_forward", "net.ipv4.ip_forward"},
		{"net.ipv4.conf.eth0/100.forwarding", "net/ipv4/conf/eth0.100/forwarding", "net.ipv4.conf.eth0/100.forwarding"},
		{"net/ipv4/conf/eth0.100/forwarding", "net/ipv4/conf/eth0.100/forwarding", "net.ipv4.conf.eth0/100.forwarding"},
		{"kernel", "kernel", "kernel"},
	} {
		if path, called := declaration.SysctlPath(c.name), declaration.SysctlName(c.name); path != c.path || called != c.called {
			t.Errorf("%s: %s, %s", c.name, path, called)
		}
	}
	if declaration.ReservedPath(declaration.SysctlFiles+"a.b.conf") == "" {
		t.Error("a module may declare the host's own file")
	}
}

// The one name leads to the same place as whatever name it was made from.
func TestTheOneNameOfASysctlStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{1,3}([./][a-z]{1,3}){1,4}`).Draw(t, "name")
		called := declaration.SysctlName(name)
		if declaration.SysctlPath(called) != declaration.SysctlPath(name) || declaration.SysctlName(called) != called {
			t.Errorf("%q is %q, which is at %q", name, called, declaration.SysctlPath(called))
		}
	})
}
