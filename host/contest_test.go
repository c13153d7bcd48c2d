package host

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rounds is how often each contender runs; what counts is its best.
const rounds = 15

// contender is one way to do the same thing. All of a contest take turns, so
// that what else happens on the machine meets them alike.
type contender struct {
	name    string
	prepare func(round int)
	run     func() (cost, error)
}

// cost is what one run took.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes; 0 where it is not known
}

func (u cost) best(v cost) cost {
	return cost{min(u.wall, v.wall), min(u.cpu, v.cpu), max(u.peak, v.peak)}
}

// contest runs the contenders and reports each beside the first, which is the
// limit: x-limit is the ratio of the best times, cpu-x-limit that of CPU times.
// One without run is skipped by its name.
func contest(b *testing.B, all ...contender) {
	b.Helper()
	best := make([]cost, len(all))
	for round := range rounds {
		for i, c := range all {
			if c.run == nil {
				continue
			}
			if c.prepare != nil {
				c.prepare(round)
			}
			u, err := c.run()
			if err != nil {
				b.Fatalf("%s: %s", c.name, err)
			}
			if round == 0 {
				best[i] = u
			}
			best[i] = best[i].best(u)
		}
	}
	for i, c := range all {
		b.Run(c.name, func(b *testing.B) {
			if c.run == nil {
				b.Skipf("%s is not installed", c.name)
			}
			b.ReportMetric(float64(best[i].wall.Nanoseconds()), "ns/op")
			b.ReportMetric(ratio(best[i].wall, best[0].wall), "x-limit")
			b.ReportMetric(ratio(best[i].cpu, best[0].cpu), "cpu-x-limit")
			if best[i].peak > 0 {
				b.ReportMetric(float64(best[i].peak)/(1<<20), "peak-MB")
			}
		})
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

// build makes a program as it is released.
func (s *scene) build(name, of string) string {
	out := filepath.Join(s.dir, "bin", name)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, of)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	said, err := cmd.CombinedOutput()
	if err != nil {
		s.b.Fatalf("%s: %s", err, said)
	}
	return out
}

// process is a contender that is a program, started for each run.
func (s *scene) process(name string, command ...string) contender {
	if _, err := exec.LookPath(command[0]); err != nil {
		return contender{name: name}
	}
	return contender{name: name, run: func() (cost, error) {
		cmd := exec.CommandContext(s.b.Context(), s.limiter, append([]string{"-time"}, command...)...)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			return cost{}, fmt.Errorf("%w: %s", err, said.String())
		}
		var u cost
		_, err = fmt.Sscan(string(out), &u.wall, &u.cpu, &u.peak)
		return u, err
	}}
}

// inside is a contender that runs in this process.
func inside(name string, f func() error) contender {
	return contender{name: name, run: func() (cost, error) {
		cpu, began := spent(), time.Now()
		err := f()
		return cost{wall: time.Since(began), cpu: spent() - cpu}, err
	}}
}

func spent() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// scene is what a machine should be, for every contender in its own words.
type scene struct {
	b      testing.TB
	dir    string
	source string // DIR/source/dNN/fNNN
	dirs   []string
	files  []string
	links  map[string]string

	limiter, host string // programs
}

func newScene(b testing.TB) *scene {
	b.Helper()
	s := &scene{b: b, dir: b.TempDir(), links: map[string]string{}}
	s.limiter, s.host = s.build("limit", "./testdata/limit"), s.build("mesh-host", "noxmesh/cmd/mesh-host")
	s.source = filepath.Join(s.dir, "source")
	for i := range 20 {
		s.dirs = append(s.dirs, fmt.Sprintf("srv/d%02d", i))
		must(b, os.MkdirAll(filepath.Join(s.source, s.dirs[i]), 0o755))
	}
	return s
}

// content is 1 KiB of text, another for each i.
func content(i int) string { return strings.Repeat(fmt.Sprintf("%07d\n", i), 128) }

// filled has n files of 1 KiB in its directories.
func (s *scene) filled(n int) *scene {
	for i := range n {
		f := fmt.Sprintf("%s/f%03d", s.dirs[i%len(s.dirs)], i)
		s.files = append(s.files, f)
		must(s.b, os.WriteFile(filepath.Join(s.source, f), []byte(content(i)), 0o644))
	}
	return s
}

// linked has n links in its directories.
func (s *scene) linked(n int) *scene {
	for i := range n {
		s.links[fmt.Sprintf("%s/l%03d", s.dirs[i%len(s.dirs)], i)] = fmt.Sprintf("../elsewhere/f%03d", i)
	}
	return s
}

// root is an empty machine of its own.
func (s *scene) root(name string) string {
	root := filepath.Join(s.dir, name)
	must(s.b, os.MkdirAll(root, 0o755))
	return root
}

// emptied is that machine, emptied.
func (s *scene) emptied(name string) string {
	must(s.b, os.RemoveAll(filepath.Join(s.dir, name)))
	return s.root(name)
}

// spoiled appends to one file of the machine.
func (s *scene) spoiled(name string, round int) {
	f, err := os.OpenFile(filepath.Join(s.dir, name, s.files[round*7%len(s.files)]), os.O_WRONLY|os.O_APPEND, 0)
	must(s.b, err)
	_, err = io.WriteString(f, "drift\n")
	must(s.b, err)
	must(s.b, f.Close())
}
