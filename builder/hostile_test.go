package builder

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"noxmesh/delivery/build"
)

// What a hostile module tries ends in a failure that names the limit, or in
// nothing; and whoever is built next on that builder is built as on a fresh one.
func TestHostileBuildsEndWithinTheirLimits(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	rig.config.Limits = Limits{Memory: 192 << 20, Processes: 48, Tree: 24 << 20, Files: 3000, Log: 4 << 20, FileSize: 8 << 20, Temporary: 8 << 20}
	honest := repo.request(repo.commit(site(map[string]string{"build.sh": strayBuild, "script": "#!/bin/sh\n", "link": "-> motd"})), "")
	fresh := newRig(t)
	fresh.config.Limits = rig.config.Limits
	want := fresh.build(honest)
	if want.Outcome != build.OutcomeBuilt {
		t.Fatalf("%s %s: %s", want.Outcome, want.Step, want.Why)
	}
	stop := rig.start()
	defer stop()
	marked := "4242." + strconv.Itoa(os.Getpid())                                                  // seconds: by them whatever is left is known
	broker := strings.Replace(strings.TrimPrefix(rig.registry.server.URL, "http://"), ":", "/", 1) // it listens on this machine as the broker does
	tracer := func(how, whom, options int) string {
		return fmt.Sprintf(`perl -e 'syscall(%d, %d, %d, 0, %d); exec "sleep", "%s"'`, unix.SYS_PTRACE, how, whom, options, marked)
	}
	for _, c := range []struct{ name, script, why string }{
		{"fork bomb", "bomb() { bomb | bomb & }; bomb; sleep 30", "process limit: "},
		{"memory", `perl -e 'my @a; push @a, "x" x 1000000 while 1'`, "memory limit: the build takes more than 192 MiB"},
		{"disk", "i=0; while :; do i=$((i+1)); head -c 4000000 /dev/zero >f$i; done", "disk limit: the build takes more than 24 MiB"},
		{"files", "i=0; while test $i -lt 9000; do i=$((i+1)); : >f$i; done; sleep 30", "disk limit: the build has more than 3000 files"},
		{"one file", "head -c 9000000 /dev/zero >f", "file limit: "},
		{"log", "yes", "log limit: the build says more than 4 MiB"},
		{"its parent", "kill -9 $PPID; kill -9 1; exit 3", "status 3"},
		{"itself and all", "kill -9 -1; kill -9 $$", "signal 9"},
		{"mount", "mount -t tmpfs none /tmp || exit 4", "status 4"},
		{"keys", "cat /proc/1/root" + rig.config.State + "/identity.json || cat " + rig.config.State + "/identity.json || exit 4", "status 4"},
		{"setuid", "cp /bin/bash s && chmod 6755 s && test $(./s -p -c 'id -u') != 1000 || exit 4", "status 4"},
		{"another user", "chown 0 . || perl -e '$< = $> = 0; exit !($< == 0)' || su -c true || exit 4", "status 4"},
		{"/proc/1/root", "ls -d /proc/1/root" + rig.config.State + " /proc/1/cwd" + rig.config.State + " /proc/[0-9]*/root/root/* || exit 4", "status 4"},
		{"broker", "(exec 3<>/dev/tcp/" + broker + ") || exit 4", "status 4"},
		{"metadata", "(exec 3<>/dev/tcp/169.254.169.254/80) || exit 4", "status 4"},
		{"daemon", "(setsid sh -c 'trap \"\" HUP TERM; sleep " + marked + "; echo x >>alive' >/dev/null 2>&1 <&- &) & wait; exit 4", "status 4"},
		{"daemon that holds the log", "setsid sh -c 'sleep " + marked + "' & disown -a; exit 4", "status 4"},
		{"daemon by two forks", `perl -MPOSIX -e 'fork and exit; POSIX::setsid(); fork and exit; $SIG{$_} = "IGNORE" for qw(HUP TERM INT); exec "sleep", "` + marked + `"'; exit 4`, "status 4"},
		{"tracer of the first", tracer(unix.PTRACE_ATTACH, 1, 0), "time limit: "},
		{"tracer that keeps it", tracer(unix.PTRACE_SEIZE, 1, unix.PTRACE_O_TRACEEXIT), "time limit: "},
		{"tracer of its child", `perl -e '$c = fork; exec "sleep", "` + marked + `" unless $c; exit !(syscall(` + strconv.Itoa(unix.SYS_PTRACE) + `, ` +
			strconv.Itoa(unix.PTRACE_SEIZE) + `, $c, 0, ` + strconv.Itoa(unix.PTRACE_O_TRACEEXIT) + `) == 0)' && exit 5; exit 4`, "status 4"},
		{"stopped parent", "kill -STOP $PPID 1; sleep " + marked, "time limit: "},
		{"outside", "echo x >/usr/x || echo x >/build/../x || echo x >/etc/passwd || exit 4", "status 4"},
	} {
		q := repo.request(repo.commit(site(map[string]string{"build.sh": "#!/bin/bash\n" + c.script + "\n"})), "")
		if strings.HasPrefix(c.why, "time limit") {
			q.Limit = 2
			q = identified(t, q)
		}
		rig.ask(q)
		a := rig.controller.wait(q)
		if a.Outcome != build.OutcomeFailed || a.Step != build.StepBuild || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: %s %s: %s", c.name, a.Outcome, a.Step, a.Why)
		}
		if a.LogSize > 2<<20 {
			t.Errorf("%s: a log of %d bytes is kept", c.name, a.LogSize)
		}
		if left := runningWith(t, marked); len(left) > 0 {
			t.Errorf("%s: %v are still there", c.name, left)
		}
	}
	rig.ask(honest)
	if a := rig.controller.wait(honest); a.Build != want.Build || a.Published != want.Published {
		t.Errorf("the next build is %s %s %s, and a fresh builder's is %s: %s", a.Outcome, a.Build.Short(), a.Published.Short(), want.Build.Short(), a.Why)
	}
}

// runningWith is every process of this machine with this word in its command.
func runningWith(t *testing.T, word string) (all []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if line, err := os.ReadFile(p); err == nil && slices.Contains(strings.Split(string(line), "\x00"), word) {
			all = append(all, p)
		}
	}
	return all
}

// What a step leaves behind is gone before the next begins, however it detached itself.
func TestNoDaemonOutlivesItsStep(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	manifest := strings.Replace(siteManifest, `"run": [`, `"run": [["bash", "first.sh"], `, 1)
	q := repo.request(repo.commit(site(map[string]string{
		"module.json": manifest,
		"first.sh":    `perl -MPOSIX -e 'fork and exit; POSIX::setsid(); fork and exit; open(F, ">>alive"); $| = 1; while (1) { syswrite F, "x" }'; while ! test -s alive; do :; done` + "\n",
		"build.sh":    "was=$(stat -c %s alive); ls /proc | grep -c '^[0-9]' >/dev/null; sleep 0.2; test $was = $(stat -c %s alive) || exit 7\nmkdir dist; cp page.html dist/index.html\n",
	})), "")
	if a := rig.build(q); a.Outcome != build.OutcomeBuilt {
		t.Errorf("%s %s: %s\n%s", a.Outcome, a.Step, a.Why, rig.controller.logOf(q))
	}
}

// A tracer can keep the sandbox's first process from ending, killed or not:
// where no filter of system calls refuses it that, each process is ended.
func TestWhatHoldsASandboxIsEnded(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	script := fmt.Sprintf(`perl -e '$|=1; syscall(%d, %d, 1, 0, %d) == 0 and print "holds\n"; sleep 600'`, unix.SYS_PTRACE, unix.PTRACE_SEIZE, unix.PTRACE_O_TRACEEXIT)
	cmd := exec.CommandContext(t.Context(), "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "holds\n" {
		t.Fatalf("%q, %v", line, err)
	}
	first := childrenOf("/proc", strconv.Itoa(cmd.Process.Pid))
	if len(first) != 1 {
		t.Fatalf("first processes: %v", first)
	}
	pid, err := strconv.Atoi(first[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := waitGone(&pid); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
}

// A module asks for less time, and is held to it; one that asks for more than
// the builder gives is not failed for that.
func TestAModuleAsksForLimits(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	ask := func(text string) build.Request {
		return repo.request(repo.commit(map[string]string{"module.json": `{"module": "site", "build": ` + text + `}`}), "")
	}
	stop := rig.start()
	defer stop()
	for _, c := range []struct {
		q       build.Request
		outcome build.Outcome
		why     string
	}{
		{ask(`{"test": [["sleep", "60"]], "limits": {"time": "1s"}}`), build.OutcomeFailed, "time limit: the build takes longer than 1s"},
		{ask(`{"run": [["true"]], "limits": {"memory": "90000GiB"}}`), build.OutcomeEnvironment, "this builder gives a build at most"},
		{ask(`{"run": [["true"]], "network": true}`), build.OutcomeEnvironment, "this builder gives a build none"},
	} {
		rig.ask(c.q)
		if a := rig.controller.wait(c.q); a.Outcome != c.outcome || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: %s", a.Outcome, a.Why)
		}
	}
}
