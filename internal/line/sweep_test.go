//go:build meshcrash

package line

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// crashing are the programs, built so that they can be told where to die, and their
// clocks be set.
var crashing = sync.OnceValues(func() (string, error) {
	return build("crashing", "-tags=meshcrash,power,meshbugs", "mesh-controller", "mesh-builder", "mesh-host", "mesh")
})

var (
	sweepers = flag.Int("sweepers", 12, "how many meshes of the sweeps live at once: most of the time they wait")
	many     = flag.Int("deaths", 8, "how many deaths a program of the sweep has before it in one story; 1 for a story for each")
	only     = flag.String("point", "", "of the sweep: only those that hold this text; one that begins with controller, builder, host or mesh and a blank tells no other's stories")
)

// mortals are the programs of the line that die in turn.
func mortals() []string { return []string{"controller", "builder", "host", person} }

// The whole line, told again and again: in each telling one program dies before
// or after one of its effects, at the first time that it comes to it on that
// way, and is started again, and dies of the next. Whatever was begun is ended,
// and at no moment does anything stand against the invariants.
func TestEveryEffectMayBeTheLast(t *testing.T) {
	t.Parallel()
	dir := folder(t, crashing)
	points := places(t, dir)
	var all []death
	for _, p := range points {
		for _, when := range []string{":before", ":after"} {
			all = append(all, death{mortal: p.mortal, point: p.point + when, certain: p.certain})
		}
	}
	sweep(t, telling{programs: dir}, slices.DeleteFunc(all, func(d death) bool { return !strings.Contains(d.name(), *only) }))
}

// seats are the meshes that all sweeps of this run may have at once.
var seats = sync.OnceValue(func() chan struct{} { return make(chan struct{}, *sweepers) })

// tell tells stories side by side.
func tell(t *testing.T, todo []telling, how func(*testing.T, telling)) {
	t.Helper()
	next := make(chan telling)
	var group sync.WaitGroup
	for range *sweepers {
		group.Go(func() {
			for s := range next {
				seats() <- struct{}{}
				t.Run(s.name(), func(t *testing.T) { how(t, s) })
				<-seats()
			}
		})
	}
	for _, s := range todo {
		next <- s
	}
	close(next)
	group.Wait()
}

// place is one way to one effect of one program.
type place struct {
	mortal  string
	point   string // name@way#1
	calls   string
	certain bool // every telling comes to it
}

func (p place) name() string { name, _, _ := strings.Cut(p.point, "@"); return name }

// surveyed are the places that the stories of all the sweeps come to.
var surveyed struct {
	once   sync.Once
	places []place
}

// places surveys once for all sweeps of this run. Where that has failed it fails each.
func places(t *testing.T, dir string) []place {
	t.Helper()
	surveyed.once.Do(func() { surveyed.places = survey(t, dir) })
	if surveyed.places == nil {
		t.Fatal("the survey has failed")
	}
	return surveyed.places
}

// visits is what a program comes to in the story without a death, and how.
func visits(t *testing.T, dir, mortal string) map[string]string {
	t.Helper()
	ways := t.TempDir() + "/ways"
	telling{programs: dir, mortal: mortal, ways: ways}.tell(t)
	found := firsts(t, ways)
	if mortal == person { // mesh dev tells its children what it was told
		maps.DeleteFunc(found, func(_, way string) bool { return !persons(way) })
	}
	return found
}

// survey tells the story twice for each program, without a death, and lists what
// it comes to. It fails where an effect of the tree is in none of them.
func survey(t *testing.T, dir string) []place {
	t.Helper()
	const tellings = 2
	var mu sync.Mutex // guards times and calls
	times, calls := map[place]int{}, map[place]string{}
	look := func(t *testing.T, mortal string) {
		visited := visits(t, dir, mortal)
		mu.Lock()
		defer mu.Unlock()
		for point, way := range visited {
			p := place{mortal: mortal, point: point}
			times[p]++
			calls[p] = way
		}
	}
	var group sync.WaitGroup
	for _, mortal := range mortals() {
		if !strings.HasPrefix(*only, mortal+" ") && slices.ContainsFunc(mortals(), func(m string) bool { return strings.HasPrefix(*only, m+" ") }) {
			continue
		}
		for n := range tellings {
			group.Go(func() {
				t.Run(fmt.Sprintf("%s%d", mortal, n), func(t *testing.T) { look(t, mortal) })
			})
		}
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	var all []place
	for p, n := range times {
		p.calls, p.certain = calls[p], n == tellings
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b place) int { return strings.Compare(a.mortal+a.point, b.mortal+b.point) })
	reached := map[string]int{}
	for _, p := range all {
		reached[p.name()]++
		t.Logf("%s %s certain=%v %s", p.mortal, p.point, p.certain, p.calls)
	}
	t.Logf("%d places of %d names", len(all), len(reached))
	if *only == "" {
		everyName(t, reached)
	}
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// firsts is the first coming on each way, with the calls that led to it.
func firsts(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		point, calls, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasSuffix(point, "#1") {
			found[point] = calls
		}
	}
	return found
}
