package system

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"noxmesh/internal/fault"
)

func TestRun(t *testing.T) {
	t.Parallel()
	r, err := Open("/")
	must(t, err)
	defer func() { must(t, r.Close()) }()
	done, err := r.Run(t.Context(), Command{Name: "sh", Args: []string{"-c", "cat; echo why >&2; echo and >&2; echo $MORE$SHOULD_NOT; exit 3"}, Stdin: "in\n", Env: []string{"MORE=more"}})
	must(t, err)
	if done.Code != 3 || done.Out != "in\nmore\n" || done.Failed("sh").Error() != `"sh" ended with 3: why; and` {
		t.Errorf("%+v %v", done, done.Failed("sh"))
	}
	if _, err := r.Run(t.Context(), Command{Name: "no-such-program"}); err == nil || err.Error() != `this machine has no program "no-such-program"` {
		t.Error(err)
	}
	done, err = r.Run(t.Context(), Command{Name: "sh", Args: []string{"-c", "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero | tr '\\0' x >&2; echo end >&2"}})
	must(t, err)
	if len(done.Out) != outMost || len(done.Said) > saidMost || !strings.HasSuffix(done.Said, "xend") || done.Failed("sh") != nil {
		t.Errorf("%d and %d bytes", len(done.Out), len(done.Said))
	}
	dir, folder := machine(t)
	if _, err := folder.Run(t.Context(), Command{Name: "true"}); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
}

// What takes too long is ended with all that it has started.
func TestRunEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	r, err := Open("/")
	must(t, err)
	defer func() { must(t, r.Close()) }()
	pids := t.TempDir() + "/pids"
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // it is up to what it started to say that it runs
		for text := ""; !strings.HasSuffix(text, "\n"); time.Sleep(10 * time.Millisecond) {
			b, _ := os.ReadFile(pids) // not there yet
			text = string(b)
		}
		cancel()
	}()
	_, err = r.Run(ctx, Command{Name: "sh", Args: []string{"-c", `sleep 600 & echo "what it said" >&2; echo $! >"$1.new"; mv "$1.new" "$1"; wait`, "sh", pids}})
	if err == nil || !strings.Contains(err.Error(), `and was ended with all that it had started: what it said`) {
		t.Error(err)
	}
	text, err := os.ReadFile(pids)
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	deadline := time.Now().Add(time.Minute)
	for syscall.Kill(pid, 0) == nil { // until somebody has taken note of its end
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("what it had started still runs")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	r, err := Open("/")
	must(t, err)
	defer func() { must(t, r.Close()) }()
	some, all, err := r.Processes(int64(os.Getuid()), 1)
	if err != nil || len(some) != 1 || all < 1 || some[0].PID < 1 || some[0].Name == "" {
		t.Errorf("%+v, %d, %v", some, all, err)
	}
	if some, all, err := r.Processes(4294967000, 1); err != nil || all != 0 || len(some) != 0 {
		t.Errorf("%+v, %d, %v", some, all, err)
	}
}

func TestWhoHasLockedAFile(t *testing.T) {
	t.Parallel()
	dir, folder := machine(t)
	for _, name := range []string{"none/lock", "lock"} {
		if by, err := folder.LockedBy("/" + name); by != "" || err != nil {
			t.Errorf("%s: %q, %v", name, by, err)
		}
	}
	file := dir + "/lock"
	must(t, os.WriteFile(file, nil, 0o600))
	if by, err := folder.LockedBy("/lock"); by != "" || err != nil {
		t.Errorf("%q, %v", by, err)
	}
	cmd := exec.CommandContext(t.Context(), "perl", "-e", `use Fcntl; open(F,"+>",$ARGV[0]); my $l=pack("s s l! l! l",F_WRLCK,0,0,0,0); fcntl(F,F_SETLK,$l) or die; $|=1; print "x"; <STDIN>`, file)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	if by, err := folder.LockedBy("/lock"); by != "perl (pid "+strconv.Itoa(cmd.Process.Pid)+")" || err != nil {
		t.Errorf("%q, %v", by, err)
	}
	must(t, in.Close())
	must(t, cmd.Wait())
	if by, err := folder.LockedBy("/lock"); by != "" || err != nil {
		t.Errorf("%q, %v", by, err)
	}
}

func TestApart(t *testing.T) {
	t.Parallel()
	r, err := Open("/")
	must(t, err)
	defer func() { must(t, r.Close()) }()
	done, err := r.Apart(t.Context(), Command{Name: "sh", Args: []string{"-c", "echo one; echo two >&2; echo three; cat; exit 2"}})
	must(t, err)
	if done.Code != 2 || done.Out != "one\ntwo\nthree\n" || done.Said != "one\ntwo\nthree" {
		t.Errorf("%+v", done)
	}
	if _, err := r.Apart(t.Context(), Command{Name: "no-such-program"}); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Apart(ctx, Command{Name: "sleep", Args: []string{"600"}}); err == nil || !strings.HasPrefix(err.Error(), `"sleep" had not ended after`) {
		t.Error(err)
	}
}

// A program that must come to its end does, whatever becomes of who waits for it.
func TestApartGoesOn(t *testing.T) {
	t.Parallel()
	r, err := Open("/")
	must(t, err)
	defer func() { must(t, r.Close()) }()
	dir := t.TempDir()
	there := func(name string) bool { _, err := os.Stat(dir + "/" + name); return err == nil }
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !there("begun") {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err = r.Apart(ctx, Command{Name: "sh", Args: []string{"-c", "cd $0; touch begun; until [ -e go ]; do sleep 0.01; done; echo on; touch ended", dir}})
	if fault.KindOf(err) != fault.Unavailable || err.Error() != `wait for "sh", which goes on: context canceled` {
		t.Error(err)
	}
	must(t, os.WriteFile(dir+"/go", nil, 0o600))
	for !there("ended") {
		time.Sleep(time.Millisecond)
	}
}
