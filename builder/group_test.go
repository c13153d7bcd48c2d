package builder

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// machine writes the files of a machine below a folder; a name that ends in / is a folder.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	oneMount    = "25 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 25 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	olderMounts = "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n32 25 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
	service     = "sys/fs/cgroup/system.slice/mesh-builder.service/"
)

func TestWhereGroupsAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files             map[string]string
		memory, processes string
		v2                bool
	}{
		"nothing is mounted":    {files: map[string]string{"proc/self/mountinfo": "25 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "proc/self/cgroup": ""}},
		"no list of own groups": {files: map[string]string{"proc/self/mountinfo": oneMount}},
		"delegated": {map[string]string{
			"proc/self/mountinfo": oneMount, "proc/self/cgroup": "0::/system.slice/mesh-builder.service\n",
			"sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n", service + "cgroup.subtree_control": "memory pids\n",
		}, service, service, true},
		"the one that was made by the builder before": {map[string]string{
			"proc/self/mountinfo": oneMount, "proc/self/cgroup": "0::/system.slice/mesh-builder.service/" + ownLeaf + "\n",
			"sys/fs/cgroup/cgroup.controllers": "memory pids\n", service + "cgroup.subtree_control": "cpu memory pids\n", service + ownLeaf + "/": "",
		}, service, service, true},
		"the topmost": {map[string]string{
			"proc/self/mountinfo": oneMount, "proc/self/cgroup": "0::/user.slice\n", "sys/fs/cgroup/user.slice/": "",
			"sys/fs/cgroup/cgroup.controllers": "memory pids\n", "sys/fs/cgroup/cgroup.subtree_control": "memory pids\n",
		}, "sys/fs/cgroup", "sys/fs/cgroup", true},
		"a container that does not see its own": {map[string]string{
			"proc/self/mountinfo": oneMount, "proc/self/cgroup": "0::/../elsewhere\n",
			"sys/fs/cgroup/cgroup.controllers": "memory pids\n", "sys/fs/cgroup/cgroup.subtree_control": "memory pids\n",
		}, "sys/fs/cgroup", "sys/fs/cgroup", true},
		"memory alone is no use": {files: map[string]string{
			"proc/self/mountinfo": oneMount, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "memory\n", "sys/fs/cgroup/cgroup.subtree_control": "memory\n",
		}},
		"not handed on": {files: map[string]string{
			"proc/self/mountinfo": oneMount, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "memory pids\n", "sys/fs/cgroup/cgroup.subtree_control": "\n",
		}},
		"the older ones": {map[string]string{
			"proc/self/mountinfo": olderMounts, "proc/self/cgroup": "5:memory:/docker/a\n6:pids:/docker/a\n",
			"sys/fs/cgroup/memory/docker/a/": "", "sys/fs/cgroup/pids/": "",
		}, "sys/fs/cgroup/memory/docker/a", "sys/fs/cgroup/pids", false},
		"the older one for memory only": {map[string]string{
			"proc/self/mountinfo": strings.SplitAfter(olderMounts, "\n")[0], "proc/self/cgroup": "5:memory:/\n", "sys/fs/cgroup/memory/": "",
		}, "sys/fs/cgroup/memory", "", false},
	} {
		root := machine(t, c.files)
		below := func(s string) string {
			if s == "" {
				return ""
			}
			return filepath.Join(root, s)
		}
		g, err := findGroups(root, "mesh-builder-0-")
		if err != nil || g.memory != below(c.memory) || g.processes != below(c.processes) || g.v2 != c.v2 {
			t.Errorf("%s: memory %q, processes %q, one hierarchy %v, %v", name, g.memory, g.processes, g.v2, err)
		}
		if says := g.lacks(); (says == "") != (c.memory != "" && c.processes != "") {
			t.Errorf("%s: it lacks %q", name, says)
		}
	}
}

// A builder that is alone in what was delegated to it goes into a leaf, and
// hands memory and processes on.
func TestABuilderMakesRoomInItsOwnGroup(t *testing.T) {
	t.Parallel()
	pid := strconv.Itoa(os.Getpid())
	root := machine(t, map[string]string{
		"proc/self/mountinfo": oneMount, "proc/self/cgroup": "0::/system.slice/mesh-builder.service\n",
		"sys/fs/cgroup/cgroup.controllers": "memory pids\n", service + "cgroup.subtree_control": "", service + "cgroup.procs": pid + "\n",
	})
	if _, err := findGroups(root, "mesh-builder-0-"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{ownLeaf + "/cgroup.procs": pid, "cgroup.subtree_control": "+memory +pids"} {
		if got, err := os.ReadFile(filepath.Join(root, service, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}

func TestGroupsOfAKilledBuilderAreRemoved(t *testing.T) {
	t.Parallel()
	root := machine(t, map[string]string{
		"proc/self/mountinfo": oneMount, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "memory pids\n",
		"sys/fs/cgroup/cgroup.subtree_control": "memory pids\n", "sys/fs/cgroup/mesh-builder-0-old/": "", "sys/fs/cgroup/mesh-builder-1-other/": "",
	})
	if _, err := findGroups(root, "mesh-builder-0-"); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(root, "sys/fs/cgroup/mesh-builder-*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "mesh-builder-1-other" {
		t.Errorf("there are %v, %v", left, err)
	}
}

// What a real tree of processes takes is seen, whoever begot whom.
func TestWhatProcessesTakeIsSeen(t *testing.T) {
	t.Parallel()
	script := `sleep 600 & perl -e 'my $x = "x" x 40_000_000; $| = 1; print "there\n"; sleep 600' & (sleep 600 & sleep 600; true) & wait`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		endBelow("/proc", strconv.Itoa(cmd.Process.Pid))
		_ = cmd.Process.Kill() // it may have ended with its children
		_ = cmd.Wait()
	}()
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	var u takes // at first, what one of them has from whoever began it
	for over := time.Now().Add(20 * time.Second); (u.processes < 6 || u.memory > 400_000_000) && time.Now().Before(over); u = takesOf("/proc", cmd.Process.Pid) {
		<-time.After(10 * time.Millisecond)
	}
	if u.processes != 6 || u.memory < 40_000_000 || u.memory > 400_000_000 {
		t.Errorf("%d processes and %d bytes", u.processes, u.memory)
	}
	if none := takesOf("/proc", 0); none != (takes{}) {
		t.Errorf("nobody takes %v", none)
	}
	if none := takesOf(t.TempDir(), 7); none != (takes{}) {
		t.Errorf("one that has ended takes %v", none)
	}
}

// Where the machine has no group to give, the limits are looked at, and kept all the same.
func TestLimitsAreKeptWithoutGroups(t *testing.T) {
	t.Parallel()
	w := testWorkshop(t)
	limits := Limits{Memory: 64 << 20, Processes: 40, Temporary: 128 << 20}.orDefault()
	s := testSandbox(t, w, limits)
	s.groups.memory, s.groups.processes = "", ""
	b, err := w.fresh("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.handOver(); err != nil {
		t.Fatal(err)
	}
	for script, says := range map[string]string{
		`perl -e 'my $x = "x" x 100_000_000; sleep 600'`: "memory limit: ", "head -c 100000000 /dev/zero >/tmp/x; sleep 600": "memory limit: ",
		`perl -e 'for (1..60) { my $p = fork; if (defined $p && !$p) { sleep 600; exit } } sleep 600'`: "process limit: ",
	} {
		_, err := s.run(t.Context(), command{argv: []string{"/bin/sh", "-c", script}, tree: b.tree(), as: b.as, limits: limits, most: time.Minute, out: &logbook{}})
		var over *limit
		if !errors.As(err, &over) || !strings.HasPrefix(over.Error(), says) {
			t.Errorf("%s: %v", script, err)
		}
	}
}
