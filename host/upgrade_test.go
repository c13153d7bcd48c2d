package host

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/bus/broker"
	booted "noxmesh/internal/machine"
	"noxmesh/link"
	"noxmesh/report"
)

// Two versions of the host that are good.
const (
	one = "1.0.0+test"
	two = "2.0.0+test"
)

// bad is versions of the host that are not, with what each is, and what is said of
// it. Each needs the service manager for something else.
func bad() []badVersion {
	return []badVersion{
		{version: "3.0.0", what: "cannot be executed", program: "\x7fELF and nothing after that", says: "it could not be started"},
		{version: "4.0.0", what: "exits at once", program: "#!/bin/sh\nexit 0\n", says: "it ended with 0"},
		{version: "5.0.0", what: "crashes", program: "#!/bin/sh\nkill -SEGV $$\n", says: "it was ended by SIGSEGV"},
		{version: "6.0.0", what: "hangs before it is ready", program: "#!/bin/sh\nexec sleep 3600\n", says: "it did not get so far in time", dropin: "[Service]\nTimeoutStartSec=4s"},
		{
			version: "7.0.0", what: "applies for ever", says: "it was ended by SIGKILL", dropin: "[Unit]\nJobRunningTimeoutSec=5s",
			program: "#!/usr/bin/perl\nuse IO::Socket::UNIX; $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Peer => $ENV{NOTIFY_SOCKET});\n" +
				"while (1) { $s->send('EXTEND_TIMEOUT_USEC=600000000'); select(undef, undef, undef, 0.2) }\n",
		},
		{version: "8.0.0", what: "refuses its state", program: "#!/bin/sh\necho 'the state file is damaged' >&2\nexit 1\n", says: "it ended with 1"},
	}
}

type badVersion struct{ version, what, program, says, dropin string }

// station is a machine with the package of the host, and the mesh that it is a node of.
type station struct {
	*real
	*controller
	conn       *bus.Conn
	generation int64
}

// TestTheHostIsUpgradedOnAMachine is the life of a host as a package: one machine,
// its steps one after another.
func TestTheHostIsUpgradedOnAMachine(t *testing.T) {
	t.Parallel()
	r := boots(t)
	s := &station{real: r, controller: newController(t)}
	r.turn(t, "installed", s.installed)
	s.joins(t)
	r.turn(t, "runs", s.firstRun)
	r.turn(t, "stands still", s.standsStill)
	r.turn(t, "upgraded", func(t *testing.T) { s.upgraded(t, two) })
	for _, b := range bad() {
		r.turn(t, b.what, func(t *testing.T) { s.rolledBack(t, b) })
	}
	r.turn(t, "without a link", s.withoutALink)
	r.turn(t, "killed while it is confirmed", s.killedWhileConfirmed)
	r.turn(t, "killed while it is installed", s.killedWhileInstalled)
	r.turn(t, "removed and purged", s.removed)
}

// release builds the program that makes packages of the host.
func releaser(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "release")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", out, "noxmesh/internal/release")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return out
}

// installed makes the packages, lets apt install the first, and looks that nothing
// runs before the machine has joined a mesh.
func (s *station) installed(t *testing.T) {
	program, err := os.ReadFile(program(t))
	must(t, err)
	release, work := releaser(t), t.TempDir()
	depot := filepath.Join(s.Root, "srv/depot")
	must(t, os.MkdirAll(depot, 0o755))
	pack := func(version string, body []byte) {
		t.Helper()
		file := filepath.Join(work, "mesh-host")
		must(t, os.WriteFile(file, body, 0o755))
		if out, err := exec.CommandContext(t.Context(), release, "-program", file, "-version", version, "-to", depot).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, version := range []string{one, two} {
		pack(version, bytes.ReplaceAll(program, []byte(unversioned), []byte(version)))
	}
	for _, b := range bad() {
		pack(b.version, []byte(b.program))
	}
	said := s.sh(t, `cd /srv/depot && for f in *.deb; do dpkg-deb -f $f; printf 'Filename: ./%%s\nSize: %%s\nSHA256: %%s\n\n' $f $(stat -c %%s $f) $(sha256sum <$f | cut -d' ' -f1); done >Packages
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/* /usr/local/bin/mesh-host; echo 'deb [trusted=yes] file:/srv/depot ./' >/etc/apt/sources.list.d/depot.list
mkdir -p /etc/systemd/system/nox-mesh-host.service.d /run/kill; printf '[Service]\nRestartSec=0\nEnvironmentFile=-/run/crash\nExecStopPost=rm -f /run/crash\n' >/etc/systemd/system/nox-mesh-host.service.d/a.conf
apt-get -q update >/dev/null; DEBIAN_FRONTEND=noninteractive apt-get -q -y install nox-mesh-host=%s 2>/dev/null`, one)
	if !strings.Contains(said, "To let this machine into a mesh: mesh-host join TOKEN") {
		t.Errorf("apt said %s", said)
	}
	if got := s.sh(t, "mesh-host version; systemctl is-enabled nox-mesh-host; systemctl show -P ActiveState -P Result nox-mesh-host; systemd-analyze verify nox-mesh-host.service 2>&1"); got !=
		"mesh-host "+one+" linux/amd64, declarations of format 1\nenabled\nsuccess\ninactive" {
		t.Error(got)
	}
}

// joins makes the machine a node of a mesh whose broker is on the bridge.
func (s *station) joins(t *testing.T) {
	t.Helper()
	ca, err := identity.NewCA(time.Now())
	must(t, err)
	certificate, err := ca.Issue([]string{"10.77.0.1"}, time.Now(), time.Hour)
	must(t, err)
	keys, err := broker.NewKeys()
	must(t, err)
	carrier, err := broker.Start(broker.Config{Listen: "127.0.0.1:0", TLS: certificate, Keys: keys})
	must(t, err)
	t.Cleanup(func() { carrier.Close(context.WithoutCancel(t.Context())) })
	s.conn, err = carrier.InProcess(t.Context())
	must(t, err)
	t.Cleanup(s.conn.Close)
	for _, verb := range []link.Verb{link.VerbHello, link.VerbReport} {
		subject, err := link.Subject(verb, testNode)
		must(t, err)
		must(t, s.conn.Serve(subject, func(ctx context.Context, m bus.Message) ([]byte, error) {
			return s.Request(ctx, m.Subject, m.Data)
		}))
	}
	address := s.bridged(t, strings.TrimPrefix(carrier.URL(), "tls://"))
	n, err := open(configured(s.Root))
	must(t, err)
	k, err := keysFor(n.folder, "token")
	must(t, err)
	must(t, n.folder.SaveIdentity(keep.Identity{Sign: hex.EncodeToString(key(t, 3).Seed()), Nats: string(k.nats), Seal: k.seal.Reveal()}))
	public, err := k.nats.Public()
	must(t, err)
	jwt, err := keys.UserJWT(link.Nodes, testNode, public)
	must(t, err)
	must(t, n.folder.SaveJoined(keep.Joined{
		Mesh: testMesh, Node: testNode, Name: "n", Root: key(t, 1).Public(), Keys: keyDocument(t, 1, 2),
		CA: string(ca.PEM()), Broker: "tls://" + address, Registry: "https://" + address, JWT: jwt,
	}))
	must(t, n.close())
}

// bridged is where on the bridge an address of this machine is reached.
func (s *station) bridged(t *testing.T, to string) string {
	t.Helper()
	listener, err := s.net.Listen(t.Context(), booted.Gateway)
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); out.Close() }()
			go func() { _, _ = io.Copy(in, out); in.Close() }()
		}
	}()
	return listener.Addr().String()
}

// tells declares this version of the host, and a file.
func (s *station) tells(t *testing.T, version string) declaration.Tuple {
	t.Helper()
	s.generation++
	d := declared(s.controller, s.generation, "/etc/declared", "as declared")
	d.Body.Resources = append(d.Body.Resources, pkg("host", declaration.Traits{Name: declaration.HostPackage, Version: version}))
	e, err := document.Canonical(s.controller.declare(d))
	must(t, err)
	subject, err := link.Subject(link.VerbDecl, testNode)
	must(t, err)
	must(t, s.conn.Publish(t.Context(), subject, e))
	tuple, err := d.Tuple()
	must(t, err)
	return tuple
}

// heard waits for a report that is so, and is all that came.
func (s *station) heard(t *testing.T, what string, is func(report.Report) bool) report.Report {
	t.Helper()
	var found report.Report
	s.comes(t, what, func() bool {
		s.controller.mu.Lock()
		defer s.controller.mu.Unlock()
		for _, r := range s.reports {
			if is(r) {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

// comes waits for something to come true.
func (s *station) comes(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came: %s\n%s", what, s.sh(t, "systemctl status -n 60 --no-pager nox-mesh-host nox-mesh-host-overdue | cat; cat /var/lib/mesh-host/failures; cd /usr/lib/nox-mesh-host; ls -l . kept; mesh-host status"))
		}
	}
}

// applied waits until the node has applied this with that version of the host.
func (s *station) applied(t *testing.T, version string, tuple declaration.Tuple) report.Report {
	t.Helper()
	return s.heard(t, version+" applied", func(r report.Report) bool {
		return r.Host == version && r.Outcome == report.OutcomeApplied && r.Applied == tuple
	})
}

// stands is which versions there are, and how often each has failed.
func (s *station) stands(t *testing.T) string {
	t.Helper()
	return s.sh(t, "cd /usr/lib/nox-mesh-host; readlink installed confirmed runs; ls kept versions; cut -d' ' -f1 /var/lib/mesh-host/failures 2>/dev/null | uniq -c | tr -s ' '; systemctl is-active nox-mesh-host | cat")
}

func lines(all ...string) string { return strings.Join(all, "\n") }

// runsWell is what stands where this version is installed, runs and is confirmed.
func runsWell(version string, failures ...string) string {
	all := append([]string{"versions/" + version, "kept/" + version, "versions/" + version, "kept:", version, "", "versions:", version}, failures...)
	return lines(append(all, "active")...)
}

func (s *station) firstRun(t *testing.T) {
	s.sh(t, "systemctl start nox-mesh-host")
	tuple := s.tells(t, one)
	s.applied(t, one, tuple)
	if got := s.stands(t); got != runsWell(one) {
		t.Error(got)
	}
	if got := s.sh(t, "systemctl show -P StatusText nox-mesh-host; cat /etc/declared"); got != "version "+one+": applied 1/1, 0 of 2 not as declared\nas declared" {
		t.Error(got)
	}
}

// standsStill is a host that does nothing any more: it is ended and started again,
// and since it is confirmed, that is all.
func (s *station) standsStill(t *testing.T) {
	s.sh(t, `d=/etc/systemd/system/nox-mesh-host.service.d/b.conf; printf '[Service]\nWatchdogSec=5s\n' >$d; systemctl daemon-reload; systemctl restart nox-mesh-host; systemctl kill -s STOP --kill-who=main nox-mesh-host
for i in $(seq 1200); do [ "$(systemctl show -P NRestarts nox-mesh-host)" -gt 0 ] && break; sleep 0.1; done
systemctl show -P NRestarts nox-mesh-host | grep -qv '^0$' || exit 1; rm $d; systemctl daemon-reload; systemctl restart nox-mesh-host`)
	if got := s.stands(t); got != runsWell(one) {
		t.Error(got)
	}
}

// upgraded is the way to a good version, by what is declared alone.
func (s *station) upgraded(t *testing.T, version string) {
	_, before := s.counts()
	tuple := s.tells(t, version)
	s.applied(t, version, tuple)
	s.controller.mu.Lock()
	for _, r := range s.reports[before:] {
		if r.Host == version && r.Outcome != report.OutcomeConfirming {
			break
		}
		if r.Host != version && r.Outcome == report.OutcomeFailed {
			t.Errorf("on the way there it had failed: %s", sketch(r))
		}
	}
	s.controller.mu.Unlock()
	if got := s.stands(t); got != runsWell(version) {
		t.Error(got)
	}
	if got := s.sh(t, "dpkg-query -W -f '${Status} ${Version}' nox-mesh-host; mesh-host version"); !strings.HasPrefix(got, "install ok installed "+version+"mesh-host "+version) {
		t.Error(got)
	}
}

// rolledBack declares a bad version: the machine goes back from it once, and says so.
func (s *station) rolledBack(t *testing.T, b badVersion) {
	before := s.sh(t, "cat /var/lib/mesh-host/failures 2>/dev/null | cat")
	s.sh(t, "printf '%s\n' >/etc/systemd/system/nox-mesh-host.service.d/b.conf; systemctl daemon-reload", strings.ReplaceAll(b.dropin, "\n", `\n`))
	tuple := s.tells(t, b.version)
	says := fmt.Sprintf(`look at "package nox-mesh-host": version %s was rolled back here: it failed three times before it had completed one reconcile, at last because %s; version %s runs;`, b.version, b.says, two)
	r := s.heard(t, says, func(r report.Report) bool {
		return r.Accepted == tuple && strings.HasPrefix(errorOf(r, "m/host"), says)
	})
	if r.Host != two || r.Outcome != report.OutcomeFailed || r.Applied == tuple || len(report.AppliedModules(r)) != 0 {
		t.Errorf("the report says %s %s", r.Host, sketch(r))
	}
	s.sh(t, "rm /etc/systemd/system/nox-mesh-host.service.d/b.conf; systemctl daemon-reload")
	if got := s.sh(t, "mesh-host status | grep ^version"); got != fmt.Sprintf("version   %s; %s is installed, and was rolled back: %s", two, b.version, b.says) {
		t.Error(got)
	}
	// Whoever starts it, or declares the same again, changes nothing.
	s.sh(t, "systemctl restart nox-mesh-host; systemctl kill -s KILL --kill-who=main nox-mesh-host")
	again := s.tells(t, b.version)
	s.heard(t, says+" (again)", func(r report.Report) bool {
		return r.Accepted == again && strings.HasPrefix(errorOf(r, "m/host"), says)
	})
	failed := strings.TrimPrefix(s.sh(t, "cat /var/lib/mesh-host/failures"), before)
	if got := strings.Count(failed, b.version+" "); got != 3 || len(strings.Split(strings.TrimSpace(failed), "\n")) != 3 {
		t.Errorf("counted is %q", failed)
	}
	if got := s.sh(t, "cd /usr/lib/nox-mesh-host; readlink installed confirmed runs; systemctl is-active nox-mesh-host; mesh-host version; cat /etc/declared"); got !=
		lines("versions/"+b.version, "kept/"+two, "kept/"+two, "active", "mesh-host "+two+" linux/amd64, declarations of format 1", "as declared") {
		t.Error(got)
	}
}

// errorOf is what is said of one resource.
func errorOf(r report.Report, id string) string {
	for _, res := range r.Resources {
		if res.ID == id {
			return res.Error
		}
	}
	return ""
}
