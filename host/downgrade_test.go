package host

import (
	"fmt"
	"strings"
	"testing"

	"noxmesh/report"
)

// withoutALink cuts the cable when a version is declared, before it can be installed:
// the new one cannot reach anybody, and is confirmed all the same.
func (s *station) withoutALink(t *testing.T) {
	s.sh(t, `rm -f /root/pid; perl -e 'use Fcntl; open(F,"+>",$ARGV[0]); my $l=pack("s s l! l! l",F_WRLCK,0,0,0,0); fcntl(F,F_SETLK,$l) or die; open(P,">","/root/pid"); print P $$; close P; sleep 600' /var/lib/dpkg/lock-frontend >/dev/null 2>&1 & until [ -s /root/pid ]; do sleep 0.05; done`)
	tuple := s.tells(t, one)
	s.comes(t, "it is accepted", func() bool { return s.lastHello().Accepted == tuple })
	must(t, s.Cut(t.Context()))
	s.sh(t, "kill $(cat /root/pid)")
	s.comes(t, "the version is confirmed", func() bool {
		return strings.HasPrefix(s.sh(t, "readlink /usr/lib/nox-mesh-host/confirmed; systemctl is-active nox-mesh-host | cat"), "kept/"+one+"\nactive")
	})
	must(t, s.Heal(t.Context()))
	s.applied(t, one, tuple)
	if got := s.sh(t, "grep -c '^[12]' /var/lib/mesh-host/failures | cat"); got != "0" {
		t.Errorf("a link that was down was counted: %s", got)
	}
	s.sh(t, "rm /var/lib/mesh-host/failures")
	if got := s.stands(t); got != runsWell(one) {
		t.Error(got)
	}
}

// killedWhileConfirmed ends the host before and after each effect by which a version
// becomes the one that is gone back to.
func (s *station) killedWhileConfirmed(t *testing.T) {
	for _, effect := range []string{"version.program.keep", "version.program.confirm", "version.failures.forget", "version.program.drop"} {
		for _, when := range []string{"before", "after"} {
			s.sh(t, `systemctl stop nox-mesh-host; cd /usr/lib/nox-mesh-host; rm -rf kept confirmed; mkdir -p kept/0.9; echo >kept/0.9/mesh-host; chmod 755 kept/0.9/mesh-host; ln -s kept/0.9 confirmed
echo '%s signal killed HUP' >/var/lib/mesh-host/failures; echo 'MESH_CRASH=%s#1:%s' >/run/crash; systemctl start --no-block nox-mesh-host`, one, effect, when)
			s.comes(t, effect+" "+when+": it is confirmed", func() bool {
				return s.sh(t, "cat /run/crash 2>/dev/null; cd /usr/lib/nox-mesh-host; readlink confirmed runs; ls kept; cat /var/lib/mesh-host/failures; systemctl is-active nox-mesh-host | cat") ==
					lines("kept/"+one, "versions/"+one, one, "active")
			})
		}
	}
}

// killedWhileInstalled ends the script of the package after each step of it, as well
// as apt-get with it: the machine is put right by the host.
func (s *station) killedWhileInstalled(t *testing.T) {
	const script = "/var/lib/dpkg/info/nox-mesh-host.postinst"
	s.sh(t, "cp %s /root/postinst", script)
	n := 0
	for i, line := range strings.Split(s.sh(t, "cat %s", script), "\n") {
		line = strings.TrimSpace(line)
		if !strings.Contains(line, "systemctl") && !strings.Contains(line, "hook") || strings.HasPrefix(line, "#") || strings.HasSuffix(line, "in") || strings.HasSuffix(line, ";;") {
			continue // nothing is done in it
		}
		n++
		s.sh(t, `sed '%da [ -e /root/killed ] || { touch /root/killed; kill -9 $$; }' /root/postinst >/root/one.sh; rm -f /root/killed
cd /usr/lib/nox-mesh-host; rm -f runs; sh /root/one.sh configure %s; sh /root/one.sh configure %s`, i+1, one, one)
		s.comes(t, fmt.Sprintf("killed after line %d: it runs", i+1), func() bool {
			return s.sh(t, "systemctl list-jobs --no-legend nox-mesh-host.service") == "" && s.stands(t) == runsWell(one)
		})
	}
	if n < 6 {
		t.Errorf("the script was killed at %d places only", n)
	}
	// The host installs another version, and dpkg, apt-get and the host are killed over it.
	s.sh(t, `printf 'DPkg::Pre-Install-Pkgs { "rm /etc/apt/apt.conf.d/99kill; systemctl kill -s KILL --kill-who=main nox-mesh-host; kill -9 $PPID"; };\n' >/etc/apt/apt.conf.d/99kill`)
	tuple := s.tells(t, two)
	s.applied(t, two, tuple)
	if got := s.stands(t); got != runsWell(two) {
		t.Error(got)
	}
	if got := s.sh(t, "ls /etc/apt/apt.conf.d | grep 99kill | cat"); got != "" {
		t.Error("nothing was killed")
	}
	// What is installed and was not started is started by the host, wherever that is killed.
	for i, crash := range []string{"resource.host.restart#1:before", "resource.host.restart#1:after", ""} {
		to := []string{one, two}[i%2]
		s.sh(t, `echo MESH_CRASH=%s >/run/crash; systemctl restart nox-mesh-host
DEBIAN_FRONTEND=noninteractive unshare -m sh -c 'mount -t tmpfs none /run/systemd && apt-get -q -y install --allow-downgrades nox-mesh-host=%s'`, crash, to)
		s.applied(t, to, s.tells(t, to))
		if got := s.stands(t); got != runsWell(to) {
			t.Errorf("%q: %s", crash, got)
		}
		if got := s.sh(t, "cat /run/crash 2>/dev/null | cat"); got != "" {
			t.Errorf("it was not killed: %s", got)
		}
	}
}

// removed is the end of a host: what it made stays, and that is said.
func (s *station) removed(t *testing.T) {
	said := s.sh(t, "DEBIAN_FRONTEND=noninteractive apt-get -q -y remove nox-mesh-host 2>/dev/null")
	if !strings.Contains(said, "All that was declared stays on this machine as it is, and nobody keeps it any more.") {
		t.Error(said)
	}
	if got := s.sh(t, "cat /etc/declared; echo; ls /usr/lib/nox-mesh-host /usr/bin/mesh-host 2>&1 | grep -c 'No such file'; ls /var/lib/mesh-host/joined; systemctl is-active nox-mesh-host | cat"); got != "as declared\n2\n/var/lib/mesh-host/joined\ninactive" {
		t.Error(got)
	}
	// Installed again it goes on as the node that it was.
	before := s.lastReport().Sequence
	s.sh(t, "DEBIAN_FRONTEND=noninteractive apt-get -q -y install nox-mesh-host=%s", one)
	s.heard(t, "it goes on", func(r report.Report) bool {
		return r.Sequence > before && r.Host == one && r.Outcome == report.OutcomeApplied
	})
	said = s.sh(t, "DEBIAN_FRONTEND=noninteractive apt-get -q -y purge nox-mesh-host 2>/dev/null")
	if !strings.Contains(said, "The keys and the record of mesh-host are gone. All that was declared stays on this machine") {
		t.Error(said)
	}
	if got := s.sh(t, "cat /etc/declared; echo; ls /usr/lib/nox-mesh-host /var/lib/mesh-host /etc/systemd/system/multi-user.target.wants/nox-mesh-host.service 2>&1 | grep -c 'No such file'; systemctl --failed --no-legend | cat"); got != "as declared\n3" {
		t.Error(got)
	}
}
