package host

import (
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/report"
)

// knob is a sysctl with this value.
func knob(id, name, value string) declaration.Resource {
	return declaration.Resource{ID: "m/" + id, Type: declaration.Sysctl, Traits: &declaration.Traits{Name: name, Value: value}}
}

// knobs is what the machine has of the sysctls that the cases are about, with the
// files that set them at boot.
func (r *real) knobs(t testing.TB) string {
	t.Helper()
	return r.sh(t, `cd /proc/sys/net/ipv4; cat ip_forward ip_local_port_range ip_default_ttl; cd /etc/sysctl.d; for f in $(ls -A); do [ -L $f ] || { echo "$f:"; grep -v '^#' $f; }; done; true`)
}

// rebooted has systemd set what it sets at boot.
func (r *real) rebooted(t testing.TB, lines string) {
	t.Helper()
	r.sh(t, "cd /proc/sys/net/ipv4; %s; /usr/lib/systemd/systemd-sysctl", lines)
}

func TestSysctlsOnAMachine(t *testing.T) {
	t.Parallel()
	r := boots(t)
	r.sh(t, "mount --bind /proc/sys/net /proc/sys/net; mount -o remount,bind,rw /proc/sys/net") // the rest is the kernel's that the tests run on
	r.sh(t, "cd /proc/sys/net/ipv4; echo 0 >ip_forward; echo 64 >ip_default_ttl; echo 32768 60999 >ip_local_port_range; rm -f /etc/sysctl.d/*.conf")
	before := r.knobs(t)
	r.turn(t, "set, at boot too, and put back", func(t *testing.T) {
		all := list(knob("forward", "net.ipv4.ip_forward", "1"), knob("ports", "net/ipv4/ip_local_port_range", "20000  60000"), knob("ttl", "net.ipv4.ip_default_ttl", "64"))
		r.says(t, all, "forward changed", "ports changed", "ttl changed")
		r.says(t, all, "forward ok", "ports ok", "ttl ok")
		if got := r.knobs(t); got != "1\n20000\t60000\n64\n99-mesh-host.net.ipv4.ip_default_ttl.conf:\nnet.ipv4.ip_default_ttl = 64\n"+
			"99-mesh-host.net.ipv4.ip_forward.conf:\nnet.ipv4.ip_forward = 1\n99-mesh-host.net.ipv4.ip_local_port_range.conf:\nnet.ipv4.ip_local_port_range = 20000 60000" {
			t.Error(got)
		}
		r.rebooted(t, "echo 0 >ip_forward; echo 7 >ip_default_ttl")
		r.says(t, all, "forward ok", "ports ok", "ttl ok")
		r.sh(t, "echo 0 >/proc/sys/net/ipv4/ip_forward; rm /etc/sysctl.d/*ttl.conf")
		if rep := r.says(t, all, "forward changed", "ports ok", "ttl changed"); !rep.Resources[0].Fixed || rep.Resources[0].Found != `it is "0"` || rep.Resources[2].Found != "nothing sets it at boot" {
			t.Errorf("%+v", rep.Resources)
		}
		all[0] = knob("forward", "net.ipv4.ip_forward", "0")
		r.says(t, all, "forward changed", "ports ok", "ttl ok")
		r.says(t, nil, "forward removed", "ports removed", "ttl removed")
		if got := r.knobs(t); got != before {
			t.Error(got)
		}
	})
	r.turn(t, "the table", r.sysctlTable)
	r.turn(t, "drift is only reported", func(t *testing.T) {
		one := knob("ttl", "net.ipv4.ip_default_ttl", "70")
		one.Drift = declaration.DriftReport
		r.says(t, list(one), "ttl changed")
		r.sh(t, "echo 71 >/proc/sys/net/ipv4/ip_default_ttl")
		r.says(t, list(one), `ttl differs [it is "71"]`)
		r.says(t, nil, `ttl removed [sysctl net.ipv4.ip_default_ttl is "71", which the host did not set, and stays so]`)
		r.sh(t, "echo 64 >/proc/sys/net/ipv4/ip_default_ttl")
	})
	r.turn(t, "killed anywhere", func(t *testing.T) {
		r.sweep(t, []string{"resource."}, r.knobs,
			list(knob("forward", "net.ipv4.ip_forward", "1"), knob("ttl", "net.ipv4.ip_default_ttl", "65")),
			list(knob("ttl", "net.ipv4.ip_default_ttl", "66")))
	})
}

// sysctlTable is what is said of each sysctl: what is declared, and what the machine is like.
func (r *real) sysctlTable(t *testing.T) {
	before := r.knobs(t)
	const ttl = "net.ipv4.ip_default_ttl"
	for _, c := range []struct {
		name, before string
		all          []declaration.Resource
		says         []string
		left         []string // of nothing
	}{
		{
			name: "not there", all: list(knob("a", "net.nowhere.x", "1"), knob("ttl", ttl, "65")),
			says: []string{`a failed (look at "sysctl net.nowhere.x": the kernel has no sysctl of this name; where a module of the kernel brings it, modprobe it first, and name it in a file below /etc/modules-load.d)`, "ttl changed"},
			left: []string{"ttl removed"},
		},
		{
			name: "a folder", all: list(knob("a", "net.ipv4", "1")),
			says: []string{`a failed (look at "sysctl net.ipv4": it is a folder of sysctls; name one of them)`},
		},
		{
			name: "only written", all: list(knob("a", "net.ipv4.route.flush", "1")),
			says: []string{`a failed (look at "sysctl net.ipv4.route.flush": nobody can read it, and so nobody can tell what it is; take it out of the module)`},
		},
		{
			name: "only read", all: list(knob("a", "kernel.domainname", "mesh"), knob("b", "net.ipv4.tcp_available_congestion_control", "x")),
			says: []string{
				`a failed (change "sysctl kernel.domainname": nobody can set it here: read-only file system; what a container has of it is set on the machine that it runs on; what the kernel only tells is not declared)`,
				`b failed (change "sysctl net.ipv4.tcp_available_congestion_control": nobody can set it here: permission denied; what a container has of it is set on the machine that it runs on; what the kernel only tells is not declared)`,
			},
			left: []string{"a removed", "b removed"},
		},
		{
			name: "not taken", all: list(knob("ttl", ttl, "lots"), knob("ports", "net.ipv4.ip_local_port_range", "60000 20000")),
			says: []string{
				`ttl failed (change "sysctl net.ipv4.ip_default_ttl": the kernel does not take "lots": invalid argument)`,
				`ports failed (change "sysctl net.ipv4.ip_local_port_range": the kernel does not take "60000 20000": invalid argument)`,
			},
			left: []string{"ports removed", "ttl removed"},
		},
		{
			name: "made another", all: list(knob("ttl", ttl, "0x41")),
			says: []string{`ttl failed (read back "sysctl net.ipv4.ip_default_ttl": it is not as declared: it is "65"; the kernel has made that of it: declare it as the kernel writes it)`},
			left: []string{"ttl removed"},
		},
		{
			name: "set later by another", before: "echo ' net/ipv4/ip_default_ttl=  66 ' >/etc/sysctl.d/99-sysctl.conf", all: list(knob("ttl", ttl, "65")),
			says: []string{`ttl failed (change "sysctl net.ipv4.ip_default_ttl": /etc/sysctl.d/99-sysctl.conf sets it to "66" at boot; take it out there: what that file says comes after what the host says)`},
		},
		{
			name: "taken out later by another", before: "mkdir -p /run/sysctl.d; echo '-net.ipv4.ip_default_ttl' >/run/sysctl.d/zz.conf", all: list(knob("ttl", ttl, "65")),
			says: []string{`ttl failed (change "sysctl net.ipv4.ip_default_ttl": /run/sysctl.d/zz.conf takes it out of what is set at boot; take it out there: what that file says comes after what the host says)`},
		},
		{
			name: "set earlier by another", before: "echo 'net.ipv4.ip_default_ttl=66' >/etc/sysctl.d/50-x.conf; echo '# net.ipv4.ip_default_ttl=67' >/etc/sysctl.d/zz.conf", all: list(knob("ttl", ttl, "65")),
			says: []string{"ttl changed"}, left: []string{"ttl removed"},
		},
		{
			name: "as another has set it", before: "echo 'net.ipv4.ip_default_ttl=66' >/etc/sysctl.d/99-sysctl.conf; echo 66 >/proc/sys/net/ipv4/ip_default_ttl", all: list(knob("ttl", ttl, "66")),
			says: []string{"ttl ok"}, left: []string{"ttl removed [sysctl net.ipv4.ip_default_ttl was so before, and stays so]"},
		},
		{
			name: "no room for its file", before: "mount -t tmpfs -o size=4k tmpfs /etc/sysctl.d; head -c 4096 /dev/zero >/etc/sysctl.d/full", all: list(knob("ttl", ttl, "65")),
			says: []string{`ttl failed (change "sysctl net.ipv4.ip_default_ttl": write "/etc/sysctl.d/99-mesh-host.net.ipv4.ip_default_ttl.conf": write: no space left on device: less than 1 MiB free of less than 1 MiB on "/etc/sysctl.d"; make room there)`},
			left: []string{"ttl removed"},
		},
		{
			name: "its folder is shut", before: "mount -t tmpfs -o ro tmpfs /etc/sysctl.d", all: list(knob("ttl", ttl, "65")),
			says: []string{`ttl failed (change "sysctl net.ipv4.ip_default_ttl": write "/etc/sysctl.d/99-mesh-host.net.ipv4.ip_default_ttl.conf": read-only file system: "/etc/sysctl.d" is mounted read-only; dmesg may say why, then: mount -o remount,rw /etc/sysctl.d)`},
			left: []string{"ttl removed"},
		},
		{
			name: "an interface with a dot", before: "ip link add host0.7 type veth peer name host0.8", all: list(knob("if", "net.ipv4.conf.host0/7.forwarding", "1"), knob("path", "net/ipv4/conf/host0.7/arp_filter", "1")),
			says: []string{"if changed", "path changed"}, left: []string{"if removed", "path removed"},
		},
	} {
		r.turn(t, c.name, func(t *testing.T) {
			r.sh(t, "%s", orTrue(c.before))
			if rep := r.says(t, c.all, c.says...); rep.Outcome == report.OutcomeApplied {
				r.sh(t, "/usr/lib/systemd/systemd-sysctl")
				r.says(t, c.all, strings.Split(strings.ReplaceAll(strings.Join(c.says, "\n"), "changed", "ok"), "\n")...)
			}
			r.says(t, nil, c.left...)
			r.sh(t, "umount -q /etc/sysctl.d; rm -f /etc/sysctl.d/*.conf /run/sysctl.d/zz.conf; echo 64 >/proc/sys/net/ipv4/ip_default_ttl; ip link del host0.7 2>/dev/null || true")
			if got := r.knobs(t); got != before {
				t.Fatal(got)
			}
		})
	}
}
