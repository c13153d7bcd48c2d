package builder

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// testWorkshop is a workshop where the sandbox's user can reach it: t.TempDir
// is closed to others.
func testWorkshop(t *testing.T) *workshop {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "mesh-builder-test-") //nolint:usetesting // t.TempDir is closed to the sandbox's user
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeAll(dir); err != nil {
			t.Error(err)
		}
	})
	w, err := openWorkshop(filepath.Join(dir, "workshop"), dir, sandboxUsers(testUsers()))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// testUsers are more than a builder has, for tests side by side.
func testUsers() Users { return Users{64000, 65533} }

func testLimits() Limits { return Limits{}.orDefault() }

// testSandbox is a real one. As root it must work; an ordinary user may lack it.
func testSandbox(t *testing.T, w *workshop, limits Limits) *sandbox {
	t.Helper()
	s, err := probe(t.Context(), w, limits.orDefault())
	if err != nil && os.Geteuid() != 0 {
		t.Skipf("no sandbox as this user: %v", err)
	}
	if err != nil {
		t.Fatalf("no sandbox: %v", said(err))
	}
	return s
}

// inSandbox runs a script over an empty tree.
func inSandbox(t *testing.T, limits Limits, script string) (int, string) {
	t.Helper()
	w := testWorkshop(t)
	s := testSandbox(t, w, limits)
	b, err := w.fresh("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.handOver(); err != nil {
		t.Fatal(err)
	}
	log := &logbook{}
	code, err := s.run(t.Context(), command{argv: []string{"/bin/sh", "-c", script}, tree: b.tree(), as: b.as, limits: limits.orDefault(), most: time.Minute, out: log})
	var over *limit
	if err != nil && !errors.As(err, &over) {
		t.Fatal(err)
	}
	if over != nil && over.time {
		t.Errorf("what is left running was waited for: %s", over)
	} else if over != nil {
		log.Note("%s", over)
	}
	log.Close()
	return code, string(log.Text())
}

// What a hostile command tries, and what must come of it: the script ends with
// status 0 only where it got what it wanted.
func TestSandboxHoldsWhatACommandTries(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"network":                     `perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr=>"1.1.1.1:80",Timeout=>2)'`,
		"metadata address":            `perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr=>"169.254.169.254:80",Timeout=>2)'`,
		"another interface":           `test "$(grep -c : /proc/net/dev)" -gt 1`,
		"root of process 1":           `ls /proc/1/root/var || ls /proc/1/root/root`,
		"kernel keys":                 `perl -e 'exit(syscall(` + strconv.Itoa(unix.SYS_ADD_KEY) + `, my $t="user", my $n="x", my $v="y", 1, -3) < 0)'`,
		"io_uring":                    `perl -e 'exit(syscall(` + strconv.Itoa(unix.SYS_IO_URING_SETUP) + `, 1, my $p="\0"x200) < 0)'`,
		"mount":                       `mount -t tmpfs none /tmp`,
		"bind mount":                  `mount --bind /tmp /usr`,
		"new user space":              `unshare -U true`,
		"become root":                 `su -c true || sudo -n true || setpriv --reuid 0 true`,
		"write to the system":         `touch /usr/x || touch /etc/x || touch /x || touch /dev/x`,
		"read secrets":                `cat /etc/shadow || ls /root/* || ls /var/* || ls /home/*/*`,
		"system's processes":          `test "$(ls /proc | grep -c '^[0-9]')" -gt 8`,
		"device":                      `mknod disk b 8 0 && cat disk`,
		"broker over abstract socket": `grep -q @ /proc/net/unix`,
		"kernel settings":             `echo 1 >/proc/sys/kernel/panic`,
		"capability":                  `grep -E '^Cap(Prm|Eff|Bnd|Amb).*[1-9a-f]' /proc/self/status`,
		"terminal":                    `: </dev/tty`,
		"other file descriptor":       `for fd in /proc/self/fd/*; do case "$fd" in */0|*/1|*/2|*/3) ;; *) exit 0;; esac; done; exit 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, log := inSandbox(t, Limits{}, script)
			if code == 0 {
				t.Errorf("it got what it wanted:\n%s", log)
			}
		})
	}
}

// The environment of the builder must not come in, whatever is in it.
func TestSandboxSaysNothingOfItsSurroundings(t *testing.T) {
	t.Setenv("MESH_TEST_SECRET", "do-not-tell")
	code, log := inSandbox(t, Limits{}, `env | sort; umask; id -u; id -g; hostname; pwd; date -d @$SOURCE_DATE_EPOCH +%Y; touch x && stat -c %a x; ls -A /proc/self/fd | wc -l`)
	want := `HOME=/home/build
LANG=C.UTF-8
LC_ALL=C.UTF-8
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin
PWD=/build
SOURCE_DATE_EPOCH=315532800
TZ=UTC
USER=build
0022
1000
1000
build
/build
1980
644
4
`
	if code != 0 || log != want {
		t.Errorf("status %d, said:\n%s\nwant:\n%s", code, log, want)
	}
}

// A Java of the system's has links into /etc to what it does not start without;
// nothing else of /etc comes in with that.
func TestJavaFindsItsSettings(t *testing.T) {
	t.Parallel()
	etc := t.TempDir()
	for _, name := range []string{
		"java-17-openjdk/jvm-amd64.cfg", "java-17-openjdk/net.properties", "java-17-openjdk/security/java.security", "java-17-openjdk/jfr/default.jfc",
		"java-17-openjdk/management/jmxremote.password", "java-17-openjdk/key", "shadow", "maven/settings.xml",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(etc, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(etc, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := javaFiles(etc)
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], etc+"/java-17-openjdk/")
	}
	slices.Sort(got)
	if want := []string{"jfr", "jvm-amd64.cfg", "net.properties", "security"}; !slices.Equal(got, want) {
		t.Errorf("of Java's settings come in %q, want %q", got, want)
	}
	if _, err := exec.LookPath("java"); err != nil {
		return
	}
	if code, log := inSandbox(t, Limits{}, "java -version && ls /etc | grep java && ! ls /etc/java*/management"); code != 0 {
		t.Errorf("no Java starts: status %d, said:\n%s", code, log)
	}
}

func TestSandboxLimits(t *testing.T) {
	t.Parallel()
	small := Limits{Processes: 64, FileSize: 1 << 20, OpenFiles: 32, Temporary: 1 << 20}
	for name, c := range map[string]struct{ script, says string }{
		"fork bomb":    {`for i in $(seq 200); do sleep 600 & done 2>&1; echo survived`, "rocess limit"},
		"file size":    {`head -c 2000000 /dev/zero >big; echo "size $(stat -c %s big)"`, "size 1048576"},
		"open files":   {`for i in 3 4 5 6 7 8 9; do eval "exec $i</dev/null"; done; ulimit -n`, "32"},
		"disk in /tmp": {`head -c 600000 /dev/zero >/tmp/a; head -c 600000 /dev/zero >/tmp/b; true`, "No space left"},
		"disk in HOME": {`(head -c 600000 /dev/zero >$HOME/a; head -c 600000 /dev/zero >$HOME/b; true)`, "No space left"},
		"cannot raise": {`ulimit -f unlimited; ulimit -f`, "2048"},
		"no core":      {`ulimit -c`, "0"},
		"killed first": {`cat /proc/self/oom_score_adj`, "1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, log := inSandbox(t, small, c.script)
			if !strings.Contains(log, c.says) {
				t.Errorf("said:\n%s\nwant in it: %q", log, c.says)
			}
		})
	}
}

// What is left running ends with the command, before run returns, whether or
// not it holds the output open.
func TestSandboxLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	w := testWorkshop(t)
	s := testSandbox(t, w, Limits{}.orDefault())
	b, err := w.fresh("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.handOver(); err != nil {
		t.Fatal(err)
	}
	script := `for how in "" ">/dev/null 2>&1 <&-"; do eval "setsid sh -c 'while :; do echo x >>alive; done' $how &"; done; while ! test -s alive; do :; done; echo begun`
	code, err := s.run(t.Context(), command{argv: []string{"sh", "-c", script}, tree: b.tree(), as: b.as, limits: testLimits(), most: time.Minute, out: &logbook{}})
	if err != nil || code != 0 {
		t.Fatalf("status %d, %v", code, err) // where they were waited for, the time is over
	}
	before, err := os.Stat(filepath.Join(b.tree(), "alive"))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // long enough for a loop that still runs to be seen
	after, err := os.Stat(filepath.Join(b.tree(), "alive"))
	if err != nil {
		t.Fatal(err)
	}
	if before.Size() != after.Size() {
		t.Error("something of the sandbox still writes to the tree")
	}
}

func TestSandboxEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := testWorkshop(t)
	s := testSandbox(t, w, Limits{}.orDefault())
	b, err := w.fresh("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.handOver(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	log := &notifier{wrote: make(chan struct{})}
	go func() {
		<-log.wrote
		cancel(&stopped{"enough"})
	}()
	_, err = s.run(ctx, command{argv: []string{"sh", "-c", "echo up; sleep 600"}, tree: b.tree(), as: b.as, limits: testLimits(), most: time.Minute, out: log})
	if err == nil || err.Error() != "enough" { // where it goes on, the time is over
		t.Errorf("ended with %v", err)
	}
}

type notifier struct{ wrote chan struct{} }

func (n *notifier) Write(p []byte) (int, error) {
	select {
	case <-n.wrote:
	default:
		close(n.wrote)
	}
	return len(p), nil
}

// A sandbox that cannot be made is never the command's failure.
func TestSandboxThatIsNotThereIsNoExitStatus(t *testing.T) {
	t.Parallel()
	w := testWorkshop(t)
	s := testSandbox(t, w, Limits{}.orDefault())
	_, err := s.run(t.Context(), command{argv: []string{"true"}, tree: filepath.Join(w.dir, "nowhere"), limits: testLimits(), most: time.Minute, out: &logbook{}})
	if err == nil || !surroundings(err) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a tree that is not there: %v", err)
	}
	s.program = filepath.Join(w.dir, "bwrap")
	_, err = s.run(t.Context(), command{argv: []string{"true"}, tree: w.dir, limits: testLimits(), most: time.Minute, out: &logbook{}})
	if err == nil || !surroundings(err) {
		t.Errorf("a bwrap that is gone: %v", err)
	}
}

// A disk that refused the first try of a sandbox is no machine without one.
func TestASandboxIsTriedAgainWhereADiskRefused(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	rig := newRig(t)
	b, closeAll, err := open(t.Context(), rig.config)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	b.caller.link = rig.controller
	for _, refused := range []bool{false, true} {
		b.sandbox, b.why, b.refused = nil, "the disk", refused
		if _, err := b.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		if tried := b.sandbox != nil && b.why == ""; tried != refused {
			t.Errorf("refused by a disk: %v, and tried again: %v (%s)", refused, tried, b.why)
		}
	}
}
