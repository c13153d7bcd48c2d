package controller

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mesh "noxmesh"
	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/spoken"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/manifest"
)

const benchEdges = 10 // that each module has

// benchGraph is modules of which each asks for ten others of lower number, so
// that all of them lead to the first.
func benchGraph(modules int) [][]int {
	r := rand.New(rand.NewPCG(1, 2))
	edges := make([][]int, modules)
	for i := range edges {
		for len(edges[i]) < min(i, benchEdges) {
			if to := r.IntN(i); !slices.Contains(edges[i], to) {
				edges[i] = append(edges[i], to)
			}
		}
	}
	return edges
}

func benchModule(i int) string { return fmt.Sprintf("module-%06d", i) }

// benchSource is what is known of a module in Go, one package to a file.
func benchSource(i int, to []int) source.Source {
	name := benchModule(i)
	f := imports.Found{Owns: []imports.Own{{Name: "example.com/fleet/" + name, At: imports.Place{File: name + "/go.mod", Line: 1}}}}
	for k, one := range to {
		at := imports.Place{File: fmt.Sprintf("%s/file%d.go", name, k/3), Line: 3 + k}
		f.Imports = append(f.Imports, imports.Import{Name: "example.com/fleet/" + benchModule(one) + "/pkg", At: at})
	}
	f = f.Sorted(func(string) []string { return nil })
	commit := fmt.Sprintf("%040d", i)
	return source.Source{
		Module: name, Ref: "refs/heads/main", Commit: commit, Tree: commit, Head: commit, State: source.Read, Manifest: manifest.Source{Module: name},
		Code: imports.Reading{Key: imports.Key("linux/amd64", name, commit), Says: imports.Say(map[string]imports.Found{"go": f})},
	}
}

// benchRecord is a record with these modules, twenty to a repository.
func benchRecord(b *testing.B, edges [][]int) *Controller {
	b.Helper()
	d, err := db.Open(context.Background(), "sqlite:"+b.TempDir()+"/record.db")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	if _, err := d.Resume(context.Background(), "bench"); err != nil {
		b.Fatal(err)
	}
	c := bare(d)
	c.cfg.alone = true
	writeAll(b, c, func(tx *db.Tx) error {
		for i, to := range edges {
			m := mesh.Module{Name: benchModule(i), Repository: fmt.Sprintf("https://forge.example/fleet/%d.git", i/20), Ref: "refs/heads/main", Folder: benchModule(i)}
			if err := deliverystore.AddModule(tx, m, "me", time.UnixMilli(1)); err != nil {
				return err
			}
			if err := deliverystore.SaveSource(tx, benchSource(i, to)); err != nil {
				return err
			}
		}
		return nil
	})
	return c
}

// rebuildSet is the way from the record to the modules that are rebuilt where
// the first has moved, in order: as the controller goes at its start.
func rebuildSet(b *testing.B, c *Controller, modules int) []string {
	b.Helper()
	defer c.cfg.roomy()()
	v := view{code: graph.NewBuilds(spoken.Languages()), places: places{}}
	v.code.Expect(modules)
	err := c.db.Read(context.Background(), func(tx *db.Tx) error { return v.hearCodes(tx, func(deliverystore.Coded) {}) })
	if err != nil {
		b.Fatal(err)
	}
	return v.code.Rebuilt([]string{benchModule(0)})
}

// plans are the same modules for ninja and make, each with a source of its own,
// in a folder in which everything has been built.
type plans struct{ dir string }

func writePlans(b *testing.B, edges [][]int) plans {
	b.Helper()
	p := plans{b.TempDir()}
	var ninja, made strings.Builder
	ninja.WriteString("rule r\n command = touch $out\n")
	made.WriteString("all:")
	for i := range edges {
		fmt.Fprintf(&made, " out/%d", i)
	}
	made.WriteString("\n")
	for i, to := range edges {
		fmt.Fprintf(&ninja, "build out/%d: r in/%d", i, i)
		fmt.Fprintf(&made, "out/%d: in/%d", i, i)
		for _, one := range to {
			fmt.Fprintf(&ninja, " out/%d", one)
			fmt.Fprintf(&made, " out/%d", one)
		}
		ninja.WriteString("\n")
		made.WriteString("\n\t@touch $@\n")
	}
	p.write(b, "build.ninja", ninja.String())
	p.write(b, "Makefile", made.String())
	for _, folder := range []string{"in", "out"} {
		if err := os.Mkdir(filepath.Join(p.dir, folder), 0o700); err != nil {
			b.Fatal(err)
		}
		for i := range edges {
			p.write(b, filepath.Join(folder, fmt.Sprint(i)), "")
		}
	}
	p.write(b, ".ninja_log", p.log(b, len(edges)))
	return p
}

func (p plans) write(b *testing.B, name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// log is what ninja writes down of a build of everything.
func (p plans) log(b *testing.B, modules int) string {
	b.Helper()
	var log strings.Builder
	log.WriteString("# ninja log v5\n")
	for i := range modules {
		out := fmt.Sprintf("out/%d", i)
		info, err := os.Stat(filepath.Join(p.dir, out))
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprintf(&log, "1\t2\t%d\t%s\t%x\n", info.ModTime().UnixNano(), out, murmur("touch "+out))
	}
	return log.String()
}

// murmur is MurmurHash64A, by which ninja knows a command.
func murmur(text string) uint64 {
	const m, r = 0xc6a4a7935bd1e995, 47
	h := 0xdecafbaddecafbad ^ uint64(len(text))*m
	left := []byte(text)
	for ; len(left) >= 8; left = left[8:] {
		k := binary.LittleEndian.Uint64(left) * m
		h = (h ^ (k^k>>r)*m) * m
	}
	if len(left) > 0 {
		var last [8]byte
		copy(last[:], left)
		h = (h ^ binary.LittleEndian.Uint64(last[:])) * m
	}
	h = (h ^ h>>r) * m
	return h ^ h>>r
}

// move makes the source of the first module newer than everything, or as old as
// it was.
func (p plans) move(b *testing.B, anew bool) {
	b.Helper()
	at := time.Now().Add(-time.Hour)
	if anew {
		at = time.Now().Add(time.Hour)
	}
	if err := os.Chtimes(filepath.Join(p.dir, "in", "0"), at, at); err != nil {
		b.Fatal(err)
	}
}

// timed is the least that a way took, of several turns.
type timed struct{ wall, cpu time.Duration }

func (t *timed) least(wall, cpu time.Duration) {
	if t.wall == 0 || wall < t.wall {
		t.wall = wall
	}
	if t.cpu == 0 || cpu < t.cpu {
		t.cpu = cpu
	}
}

// plan runs another program once. It has to find so many commands to run.
func (t *timed) plan(b *testing.B, p plans, commands int, program ...string) {
	b.Helper()
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Dir = p.dir
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "touch") != commands {
		b.Fatalf("%q does not plan %d commands: %v: %.200s", program, commands, err, out)
	}
	t.least(time.Since(begun), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
}

// planner is another program that plans the same graph: the part of its time that
// we may take, where it finds nothing to do, and the modules of which that is said.
type planner struct {
	command []string
	part    float64
	of      int
}

// BenchmarkRebuild is the whole way from the record to the rebuild set of the
// whole fleet in order, and in turns with it what ninja and make need to plan the
// same graph: with nothing to do, which is the least that they ever need and what
// the goals are of, and with everything to do, as we have. The processor's time
// counts where others use the machine too.
func BenchmarkRebuild(b *testing.B) {
	planners := map[string]planner{
		"ninja": {[]string{"ninja", "-n"}, 0.5, 10_000},
		"make":  {[]string{"make", "-rn", "all"}, 1. / 3, 100_000},
	}
	for name, p := range planners {
		if _, err := exec.LookPath(p.command[0]); err != nil {
			b.Logf("NOT COMPARED WITH %s: it is not installed", name)
			delete(planners, name)
		}
	}
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("modules=%d", n), func(b *testing.B) { rebuildAll(b, n, planners) })
	}
}

func rebuildAll(b *testing.B, n int, planners map[string]planner) {
	b.Helper()
	edges := benchGraph(n)
	c, p := benchRecord(b, edges), writePlans(b, edges)
	turns := max(5, min(20, 200_000/n))
	var ours timed
	nothing, everything := map[string]*timed{}, map[string]*timed{}
	for name := range planners {
		nothing[name], everything[name] = &timed{}, &timed{}
	}
	peak := 0.0
	for b.Loop() {
		for turn := range turns {
			debug.FreeOSMemory()
			peakFromNow(b)
			begun, cpu := time.Now(), used()
			if got := rebuildSet(b, c, n); len(got) != n {
				b.Fatalf("%d modules", len(got))
			}
			ours.least(time.Since(begun), used()-cpu)
			peak = max(peak, peakSoFar(b))
			p.move(b, false)
			for name, is := range planners {
				nothing[name].plan(b, p, 0, is.command...)
			}
			if turn < 2 {
				p.move(b, true)
				for name, is := range planners {
					everything[name].plan(b, p, n, is.command...)
				}
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours.wall.Seconds()*1000, "ms")
	b.ReportMetric(ours.cpu.Seconds()*1000, "cpu-ms")
	b.ReportMetric(peak, "peak-MB")
	goal(b, n == 10_000, "MB at the most", peak, 100)
	for name, is := range planners {
		least, most := nothing[name], everything[name]
		b.ReportMetric(least.wall.Seconds()*1000, name+"-nothing-ms")
		b.ReportMetric(least.cpu.Seconds()*1000, name+"-nothing-cpu-ms")
		b.ReportMetric(most.wall.Seconds()*1000, name+"-everything-ms")
		b.ReportMetric(most.cpu.Seconds()*1000, name+"-everything-cpu-ms")
		of := ours.wall.Seconds() / least.wall.Seconds()
		b.ReportMetric(of, "of-"+name)
		b.ReportMetric(ours.cpu.Seconds()/least.cpu.Seconds(), "cpu-of-"+name)
		goal(b, n == is.of, "of the time of "+name, of, is.part)
	}
}

// goal says where a goal is not met.
func goal(b *testing.B, is bool, what string, got, most float64) {
	b.Helper()
	if is && got > most {
		b.Logf("GOAL NOT MET: %.2f %s, and not %.2f", got, what, most)
	}
}

// peakFromNow makes peakSoFar the most memory that this process has had since.
func peakFromNow(b *testing.B) {
	b.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
}

func peakSoFar(b *testing.B) (mb float64) {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kb, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb / 1000
}

// BenchmarkRebuildOne is the way from a change of one module in the record to
// what is rebuilt for it, by the controller's book: of a module that nobody asks
// for, of one that about a hundredth of the fleet leads to, and of one that owns
// another name each time.
func BenchmarkRebuildOne(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		edges := benchGraph(n)
		c := benchRecord(b, edges)
		b.Run(fmt.Sprintf("modules=%d/reaches=1", n), func(b *testing.B) { rebuildOne(b, c, edges, n-1) })
		some := middle(edges, 100)
		b.Run(fmt.Sprintf("modules=%d/reaches=100", n), func(b *testing.B) { rebuildOne(b, c, edges, some) })
	}
}

// middle is the first module that no more than so many lead to.
func middle(edges [][]int, most int) int {
	code := graph.NewBuilds(spoken.Languages())
	for i, to := range edges {
		s := benchSource(i, to)
		code.Set(graph.Code{Module: s.Module, Folder: s.Module, Says: s.Code.Says})
	}
	at := len(edges) - 1
	for len(code.Rebuilt([]string{benchModule(at - 1)})) <= most {
		at--
	}
	return at
}

func rebuildOne(b *testing.B, c *Controller, edges [][]int, module int) {
	b.Helper()
	s := benchSource(module, edges[module])
	var cpu time.Duration
	reached := 0
	turn := func() {
		s.Code.Key += "'"
		writeAll(b, c, func(tx *db.Tx) error { return deliverystore.SaveSource(tx, s) })
		begun := used()
		err := c.with(context.Background(), func(v *view) error {
			reached = len(v.code.Rebuilt([]string{s.Module}))
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		cpu += used() - begun
	}
	turn()
	cpu = 0
	turns := 0
	for b.Loop() {
		turn()
		turns++
	}
	b.ReportMetric(float64(reached), "modules")
	b.ReportMetric(cpu.Seconds()*1000/float64(turns), "cpu-ms")
}
