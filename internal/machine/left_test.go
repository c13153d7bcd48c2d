package machine_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/machine"
)

// childVariable has this program be the process that is killed.
const childVariable = "MACHINE_TEST_CHILD"

// child raises a machine, says where it is, and waits to be killed.
func child(t *testing.T) {
	t.Helper()
	net, m := machine.Raise(t)
	m.MustBoot(t)
	if err := net.Command(t.Context(), "sleep", "3600").Start(); err != nil {
		t.Fatal(err)
	}
	m.Sh(t, "sleep 3600 >/dev/null 2>&1 &")
	os.Stdout.WriteString("\nup " + net.Name + " " + filepath.Dir(filepath.Dir(m.Root)) + "\n")
	select {}
}

// raised is a child, with the name of its net and its folder.
func raised(t *testing.T) (cmd *exec.Cmd, net, dir string) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) == 3 && words[0] == "up" {
			return cmd, words[1], words[2]
		}
	}
	t.Fatalf("the child has raised nothing: %v", cmd.Wait())
	return nil, "", ""
}

// raises is what whoever raises the next machine does first.
func raises(t *testing.T) {
	t.Helper()
	ground, swept, err := machine.NewGround()
	if err != nil {
		t.Fatal(err)
	}
	if swept != nil { // it may be of others
		t.Log(swept)
	}
	if err := ground.Close(); err != nil {
		t.Error(err)
	}
}

// traces is everything that carries this name on the machine that the tests run on.
func traces(t *testing.T, net, dir string) (all []string) {
	t.Helper()
	for _, pattern := range []string{"/run/netns/" + net + "*", "/sys/fs/cgroup/" + net + "*", "/sys/fs/cgroup/*/" + net + "*", dir} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(table), dir) {
		all = append(all, "mounts")
	}
	running, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range running {
		if words, err := os.ReadFile(name); err == nil && strings.Contains(string(words), dir) {
			all = append(all, strings.ReplaceAll(string(words), "\x00", " "))
		}
	}
	return all
}

// The machines of a process that was killed are taken away by whoever raises the next;
// those of one that lives are not.
func TestWhatAKilledTestHasLeftIsTakenAway(t *testing.T) {
	t.Parallel()
	if os.Getenv(childVariable) != "" {
		child(t)
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: machines are tested where .ci/run runs as root")
	}
	if err := machine.Able(); err != nil {
		t.Fatal(err)
	}
	const least = 6 // two namespaces, a control group, nspawn, what is mounted, and the folder
	cmd, net, dir := raised(t)
	raises(t)
	if got := traces(t, net, dir); len(got) < least {
		t.Errorf("of a process that lives something was taken away; there is %q", got)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	raises(t)
	if got := traces(t, net, dir); len(got) > 0 {
		t.Errorf("of a process that was killed there is left: %q", got)
	}
}
