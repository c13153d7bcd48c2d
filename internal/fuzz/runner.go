package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A runner runs targets, one process at a time.
type runner struct {
	cpu    time.Duration
	work   string // where test programs are built
	cache  string // corpora and figures
	ledger ledger
	stands struct{ long, before, never int } // targets, by whether they have had long: as they are, as they were, or not yet
}

func newRunner(ctx context.Context, cpu time.Duration, state string) (*runner, error) {
	if state == "" {
		out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
		if err != nil {
			return nil, fmt.Errorf("ask go for its cache: %w", err)
		}
		state = filepath.Join(strings.TrimSpace(string(out)), "fuzz")
	}
	cache, err := filepath.Abs(state)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	l, err := openLedger("internal/fuzz/long.txt")
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "mesh-fuzz-")
	return &runner{cpu: cpu, work: work, cache: cache, ledger: l}, err
}

// target runs the target until it has had its time.
func (r *runner) target(ctx context.Context, t target) error {
	code, err := codeOf(ctx, t)
	if err != nil {
		return err
	}
	err = r.rest(ctx, t, code)
	switch {
	case r.ledger.of(t, code) >= long:
		r.stands.long++
	case r.ledger.had[t.String()].cpu > 0:
		r.stands.before++
	default:
		r.stands.never++
	}
	return err
}

// rest builds the test program, and gives the target what it has not had yet.
func (r *runner) rest(ctx context.Context, t target, code string) error {
	program := filepath.Join(r.work, "fuzz.test")
	note := filepath.Join(r.cache, strings.ReplaceAll(t.folder, "/", "_")+"_"+t.name+".cpu")
	had, err := recall(note, code)
	if err != nil {
		return err
	}
	if had = max(had, r.ledger.of(t, code)); had < r.cpu {
		build := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-buildvcs=false", "-fuzz", "^"+t.name+"$", "-o", program, "./"+t.folder)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	keep := func(spent time.Duration) error {
		fmt.Printf("%s  %s of %s of CPU\n", t, (had + spent).Round(time.Second), r.cpu)
		return os.WriteFile(note, fmt.Appendf(nil, "%s %s\n", code, had+spent), 0o644)
	}
	if had < r.cpu {
		spent, err := r.fuzz(ctx, t, program, r.cpu-had, keep)
		had += spent
		if err != nil {
			return err
		}
	}
	fmt.Printf("%s  clean after %s of CPU\n", t, had.Round(time.Second))
	return r.ledger.note(t, code, had)
}

// fuzz runs the target until it has had what is left of its CPU time, keeps each
// minute what it has had, and is what it has had at the end. It shows what the
// process has said only where it failed.
func (r *runner) fuzz(ctx context.Context, t target, program string, left time.Duration, keep func(time.Duration) error) (time.Duration, error) {
	var said strings.Builder
	enough, stop := context.WithCancel(ctx)
	defer stop()
	fuzz := exec.CommandContext(enough, program, "-test.run=^$", "-test.fuzz=^"+t.name+"$", "-test.timeout=0",
		"-test.fuzzminimizetime=10x", "-test.parallel=1", "-test.fuzzcachedir="+filepath.Join(r.cache, t.folder))
	fuzz.Dir, fuzz.Stdout, fuzz.Stderr = t.folder, &said, &said
	fuzz.Cancel = func() error { return fuzz.Process.Signal(syscall.SIGINT) } // it ends its worker, which a kill would leave
	fuzz.WaitDelay = time.Minute
	if err := fuzz.Start(); err != nil {
		return 0, err
	}
	watched := make(chan error, 1)
	go func() {
		watched <- watch(enough, fuzz.Process.Pid, left, keep)
		stop()
	}()
	err := fuzz.Wait()
	stop()
	spent := fuzz.ProcessState.UserTime() + fuzz.ProcessState.SystemTime()
	failed := errors.Join(<-watched, keep(spent))
	switch {
	case ctx.Err() != nil:
		return spent, ctx.Err()
	case err == nil:
		return spent, fmt.Errorf("it ended by itself:\n%s", said.String())
	case !errors.Is(err, context.Canceled): // which it is where it had enough and found nothing
		return spent, fmt.Errorf("%w\n%s", err, said.String())
	case failed != nil:
		return spent, failed
	}
	fmt.Printf("%s  %s\n", t, last(said.String()))
	return spent, nil
}

// watch comes back when the process and what it has started have had their time,
// or are gone. It keeps each minute what they have had.
func watch(ctx context.Context, pid int, most time.Duration, keep func(time.Duration) error) error {
	kept := time.Duration(0)
	for {
		spent := cpuOf(pid)
		if spent >= most {
			return nil
		}
		if spent >= kept+time.Minute {
			kept = spent
			if err := keep(spent); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// cpuOf is the CPU time that a process and those that it has started have had: see
// proc(5). It is nothing where there is none.
func cpuOf(pid int) time.Duration {
	const tick = time.Second / 100 // whatever the kernel counts in, it says these
	own := "/proc/" + strconv.Itoa(pid)
	text, err := os.ReadFile(own + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	all := time.Duration(0)
	for _, field := range fields[11:15] { // of itself, and of those of them that have ended
		n, _ := strconv.ParseInt(field, 10, 64) // the kernel writes numbers
		all += time.Duration(n) * tick
	}
	lists, _ := filepath.Glob(own + "/task/*/children") // none where it has just ended
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for word := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				all += cpuOf(child)
			}
		}
	}
	return all
}

// last is the last figure that the fuzzing process has said.
func last(said string) string {
	lines := strings.Split(said, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "fuzz: elapsed") {
			return strings.TrimPrefix(lines[i], "fuzz: ")
		}
	}
	return "it said nothing"
}

// listed is what a target's code is made of: the files of each package of this
// module that its package is made of, and the version of all that is not ours.
const listed = `{{$d := .Dir}}{{if .Standard}}{{else if .Module.Main}}{{range .GoFiles}}{{$d}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}
{{end}}{{else}}{{.Module}}
{{end}}`

// codeOf names the code that a target runs: what its package is made of and the
// file of the target, and none of the other tests beside it.
func codeOf(ctx context.Context, t target) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-deps", "-f", listed, "./"+t.folder).Output()
	if err != nil {
		return "", fmt.Errorf("ask go what %s is made of: %w", t.folder, err)
	}
	sum := sha256.New()
	for _, line := range append(strings.Fields(string(out)), runtime.Version(), t.file) {
		b, err := os.ReadFile(line)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err != nil { // no file: a module, its version, that of Go
			b = []byte(line)
		}
		content := sha256.Sum256(b)
		sum.Write(content[:])
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// recall is the CPU time that this code has had.
func recall(note, code string) (time.Duration, error) {
	b, err := os.ReadFile(note)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	of, had, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	if of != code {
		return 0, nil
	}
	spent, err := time.ParseDuration(had)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", note, err)
	}
	return spent, nil
}
