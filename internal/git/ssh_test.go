package git

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

// sshd is a real one on loopback, with keys of its own, run by whoever runs the test.
type sshd struct {
	port, hostKey, userKey string
}

func startSSHD(t *testing.T) sshd {
	t.Helper()
	binary, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		t.Fatal("this test needs a real ssh server: apt-get install openssh-server")
	}
	if os.Getuid() == 0 { // what its service unit makes at start
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	s := sshd{hostKey: newKey(t, dir, "host"), userKey: newKey(t, dir, "user")}
	public, err := os.ReadFile(s.userKey + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(dir, "authorized_keys")
	if err := os.WriteFile(keys, public, 0o600); err != nil {
		t.Fatal(err)
	}
	s.port = freePort(t)
	config := filepath.Join(dir, "config")
	text := fmt.Sprintf(`ListenAddress 127.0.0.1
Port %s
HostKey %s
AuthorizedKeysFile %s
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
LogLevel ERROR
`, s.port, s.hostKey, keys)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-D", "-e", "-f", config)
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", log.String())
		}
	})
	await(t, func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+s.port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return s
}

func newKey(t *testing.T, dir, name string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", p).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v %s", err, out)
	}
	return p
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func TestSSH(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	f := newForge(t)
	r := f.repo("it's a site", map[string]string{"module.json": `{"module":"site"}`})
	head := r.git("rev-parse", "HEAD")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	hostPublic, err := os.ReadFile(s.hostKey + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	known := filepath.Join(t.TempDir(), "known hosts'")
	if err := os.WriteFile(known, []byte("[127.0.0.1]:"+s.port+" "+string(hostPublic)), 0o600); err != nil {
		t.Fatal(err)
	}
	url := "ssh://" + me.Username + "@127.0.0.1:" + s.port + strings.ReplaceAll(r.dir, " ", "%20") + "/.git"
	with := func(ssh SSH) *Git { return newGit(t, func(c *Config) { c.SSH = ssh }) }

	g := with(SSH{KnownHosts: known, Key: s.userKey})
	found, err := g.Look(t.Context(), Place{URL: url}, Known{})
	if err != nil || found.Commit != head || string(found.Manifest) != `{"module":"site"}` {
		t.Fatalf("%+v %v", found, err)
	}
	if _, err := g.Checkout(t.Context(), Order{URL: url, Commit: head}, filepath.Join(t.TempDir(), "w")); err != nil {
		t.Fatal(err)
	}
	if _, err := g.LsRemote(t.Context(), url+"none", ""); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no repository: kind %v: %v", fault.KindOf(err), err)
	}
	other := filepath.Join(t.TempDir(), "known")
	wrong, err := os.ReadFile(s.userKey + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("[127.0.0.1]:"+s.port+" "+string(wrong)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]*Git{
		"an unknown host":          with(SSH{Key: s.userKey}),
		"a host with another key":  with(SSH{KnownHosts: other, Key: s.userKey}),
		"no key":                   with(SSH{KnownHosts: known}),
		"a key that is not let in": with(SSH{KnownHosts: known, Key: newKey(t, t.TempDir(), "stranger")}),
	} {
		if _, err := g.LsRemote(t.Context(), url, ""); fault.KindOf(err) != fault.Denied || fault.HintOf(err) == "" {
			t.Errorf("%s: kind %v: %v", name, fault.KindOf(err), err)
		}
	}
	if _, err := with(SSH{KnownHosts: known}).LsRemote(t.Context(), "ssh://x@127.0.0.1:1/r", ""); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("nobody there: %v", err)
	}
}
