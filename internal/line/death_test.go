//go:build meshcrash

package line

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/internal/invariant"
	"noxmesh/status"
)

// death is one way of one program to die.
type death struct {
	mortal  string
	point   string // name@way#1:before or :after
	certain bool   // every telling comes to it
}

func (d death) name() string { return d.mortal + " " + d.point }

// verdicts are what was found while the program lay dead, by the death that it died.
type verdicts struct {
	mu   sync.Mutex // guards dead
	dead map[string][]invariant.Finding
}

// A program dies again and again in one story, and at most so often between two
// commits: a builder that loses a third lease of one request has ended it, and
// who waits for a controller that is never there gives up.
func most(mortal string) int64 {
	return map[string]int64{"builder": 2, "controller": 6, "host": 12}[mortal]
}

// crashed are the deaths that were died, in that order.
func crashed(t testing.TB, effects string) []string {
	t.Helper()
	text, err := os.ReadFile(effects)
	if os.IsNotExist(err) {
		return nil
	}
	must(t, err)
	var all []string
	for line := range strings.Lines(string(text)) {
		if point, ok := strings.CutPrefix(strings.TrimSpace(line), "crash "); ok {
			all = append(all, point)
		}
	}
	return all
}

// through are the deaths that it has died, or the failures that were told.
func (w *told) through() []string {
	if w.failing {
		w.state.Lock()
		defer w.state.Unlock()
		return slices.Clone(w.over)
	}
	return crashed(w.t, w.effects)
}

// left are those that it has before it.
func (w *told) left() []string {
	through := w.through()
	return slices.DeleteFunc(slices.Clone(w.ends), func(point string) bool { return slices.Contains(through, point) })
}

// next are the deaths that a program which begins now is told of.
func (w *told) next() []string {
	left := w.left()
	w.spare.Store(len(left) > 0 && w.before.Load() >= 0 && w.died.Load()-w.before.Load() >= most(w.mortal) && w.mortal != person)
	if w.spare.Load() {
		return nil
	}
	return left
}

// fell reports whether the mortal has died a death of this story, and looks at
// what there is while it lies dead.
func (w *told) fell() bool {
	died := crashed(w.t, w.effects)
	if w.failing || int64(len(died)) <= w.died.Load() {
		return false
	}
	w.died.Store(int64(len(died)))
	if w.mortal == person {
		return true
	}
	found := invariant.Always(w.see(w.mesh))
	w.found.mu.Lock()
	defer w.found.mu.Unlock()
	if w.found.dead == nil {
		w.found.dead = map[string][]invariant.Finding{}
	}
	point := died[len(died)-1]
	w.found.dead[point] = append(w.found.dead[point], found...)
	return true
}

// renew begins a round: what has had its share of deaths is killed, and told of more.
func (w *told) renew() {
	w.t.Helper()
	w.before.Store(w.died.Load())
	w.again()
	if w.spare.Load() && len(w.left()) > 0 {
		for _, p := range append(append([]*part{w.controller}, w.builders...), w.hosts...) {
			if w.is(p.name) {
				w.renewed.Store(true)
				p.kill()
			}
		}
		w.poll("the mortal was told of more", func() string {
			if w.renewed.Load() {
				return "it was not"
			}
			return ""
		})
	}
	if w.mortal == "builder" && !w.failing && len(w.builders) > 1 && w.builders[1].running() {
		w.builders[1].stop() // it comes when the other has died
	}
}

// anew is a tree as no commit before had it: who has built one does not build it again.
func (w *told) anew(tree files) files {
	w.rounds++
	tree["nudge"] = strconv.Itoa(w.rounds)
	return tree
}

// more reports whether more rounds may bring more deaths: the last ones did.
func (w *told) more() bool {
	now, was := w.died.Load(), w.earlier
	w.earlier = now
	return len(w.left()) > 0 && now > was
}

// isOut waits until a commit is out. The second builder comes when the one that
// is mortal has died, or is through with it.
func (w *told) isOut(commit string) {
	w.t.Helper()
	if w.failing {
		w.isOutAfterAll(commit)
		return
	}
	if w.mortal == "builder" {
		w.until("it is built, or the builder has died", w.asTold(func(s status.Status) string {
			if w.died.Load() > w.before.Load() {
				return ""
			}
			return isFit("site", commit)(s)
		}))
		if len(w.builders) > 1 {
			w.builders[1].start()
		} else {
			w.builderJoins("builder2")
		}
	}
	w.until("it is out", w.asTold(isOut("site", commit, 1)))
}

// asTold is the fact, and a person who does what the status says where so many
// leases were lost that a build was withdrawn. Two are what the deaths between two
// commits cost, and a third is soon lost by who is well, on a machine that has much
// else to do: twice in a story it is believed, and oftener it is a finding.
func (w *told) asTold(fact func(status.Status) string) func(status.Status) string {
	return func(s status.Status) string {
		against := fact(s)
		if !strings.Contains(against, "mesh module look site: the build was withdrawn") {
			return against
		}
		out, err := api.Do(w.t.Context(), w.client, api.ModuleLook(), api.LookIn{Module: "site", Again: true})
		if err != nil || out.Attempt == 0 {
			return against // it is not there just now, or has been asked already
		}
		w.t.Logf("the module is looked at: %s", against)
		if w.withdrawn++; w.withdrawn > 2 && !w.busy() {
			w.t.Errorf("a build was withdrawn for the third time, and the machine was not busy: %s", against)
		}
		return against
	}
}

// isOutAfterAll waits until a commit is out on the way of which things fail, and
// there is nobody else to do them. A build that could not be is tried again by
// itself, in a minute: there is a commit before. What was told since the round began
// counts, for a build fails as soon as its commit is seen, which may be long before
// anybody waits for it.
func (w *told) isOutAfterAll(commit string) {
	w.t.Helper()
	for told := w.before.Load(); ; told = w.died.Load() {
		out := false
		w.until("it is out, or somebody was told why not", w.asTold(func(s status.Status) string {
			against := isOut("site", commit, 1)(s)
			out = against == ""
			if w.mortal != "host" && w.died.Load() > told && w.waiting() == "" {
				return ""
			}
			return against
		}))
		if out {
			return
		}
		commit = w.forge.commit("site", files{"nudge": "again" + commit})
		w.head("site", commit)
	}
}

// sweep tells stories until every death was died. The first have many deaths in
// them; what they did not come to is told with fewer beside it, and at last alone.
func sweep(t *testing.T, s telling, all []death) {
	t.Helper()
	died := map[death]bool{}
	for i, size := range []int{*many, 4, 1} {
		left := slices.DeleteFunc(slices.Clone(all), func(d death) bool { return died[d] })
		var todo []telling
		for _, mortal := range mortals() {
			of := slices.DeleteFunc(slices.Clone(left), func(d death) bool { return d.mortal != mortal })
			s.mortal = mortal
			todo = append(todo, deal(s, of, size)...)
		}
		t.Logf("%d: %d deaths in %d stories", i+1, len(left), len(todo))
		var mu sync.Mutex // guards died
		tell(t, todo, func(t *testing.T, s telling) {
			had := s.judged(t)
			mu.Lock()
			defer mu.Unlock()
			for _, point := range had {
				died[death{mortal: s.mortal, point: point, certain: slices.Contains(all, death{s.mortal, point, true})}] = true
			}
		})
		if t.Failed() {
			return
		}
	}
	some := map[string]bool{}
	for d := range died {
		some[kindOf(d)] = true
	}
	missed := map[string][]death{}
	for _, d := range all {
		if !died[d] && d.certain && (!s.failing || !some[kindOf(d)]) {
			missed[d.mortal] = append(missed[d.mortal], d)
		} else if !died[d] {
			t.Logf("%s: no story has come to it, and not every one does", d.name())
		}
	}
	for mortal, deaths := range missed {
		s.mortal = mortal
		for _, d := range s.stillThere(t, deaths) {
			t.Errorf("%s: no story has come to it", d.name())
		}
	}
	t.Logf("%d of %d deaths were died", len(died), len(all))
}

// stillThere is which of the deaths that no story came to one without a death still
// comes to, each time. The others are at places that are come to where something takes
// long, as it may have done in every telling of the survey.
func (s telling) stillThere(t *testing.T, deaths []death) []death {
	t.Helper()
	for range 2 {
		visited := visits(t, s.programs, s.mortal)
		deaths = slices.DeleteFunc(deaths, func(d death) bool {
			way := strings.TrimSuffix(d.point[:strings.LastIndex(d.point, ":")], "#1")
			return visited[way] == "" && visited[way+"#1"] == ""
		})
	}
	return deaths
}

// kindOf is which effect of a program fails with which error, on any way.
func kindOf(d death) string {
	name, rest, _ := strings.Cut(d.point, "@")
	_, errno, _ := strings.Cut(rest, ":")
	return d.mortal + " " + name + " " + errno
}

// deal deals deaths to stories as cards are dealt, so that what is neighbourly is apart.
func deal(s telling, of []death, size int) []telling {
	all := make([]telling, (len(of)+size-1)/size)
	for i, d := range of {
		to := &all[i%len(all)]
		s.ends = append(to.ends, d.point)
		*to = s
	}
	return all
}

// judged tells the story, and gives each death that was died in it its own
// verdict. It returns those.
func (s telling) judged(t *testing.T) []string {
	t.Helper()
	w := s.begin(filepath.Join(t.TempDir(), "effects"))
	well := t.Run("story", func(t *testing.T) { w.tell(t) })
	died := w.through()
	for _, point := range slices.Compact(slices.Sorted(slices.Values(died))) {
		t.Run(point, func(t *testing.T) {
			mustHold(t, "while the "+s.mortal+" lay dead, or it failed", w.found.dead[point])
			if !well {
				t.Errorf("the story in which it died has failed; these died in it: %v", died)
			}
		})
	}
	if twice := len(died) - len(slices.Compact(slices.Sorted(slices.Values(died)))); twice > 0 && s.mortal != person && !s.failing {
		t.Errorf("it has died twice of what it was to die of once: %v", died)
	}
	return died
}

// busy reports whether the machine has so much else to do that a lease may be
// lost by who is well: somewhere the answer to the status took a hundred times as
// long as it takes.
func (m *mesh) busy() bool { return time.Duration(m.slowest.Load()) > 250*time.Millisecond }
