//go:build meshcrash

package line

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"noxmesh/internal/invariant"
)

var errorsOf = flag.Int("errors", 1, "of the failing effects: how many of the three errors each place has, in turn where it is fewer")

// failures are the errors, and what people read of them.
func failures() map[string]string {
	return map[string]string{"ENOSPC": "no space left on device", "EIO": "input/output error", "EROFS": "read-only file system"}
}

// The whole line again: in each telling some effects of one program fail, each as
// on a full disk, a broken one, and one that was mounted read-only, until somebody
// has been told what could not be done and why. Nothing is half-written meanwhile,
// and once it is over everything goes on by itself.
func TestEveryEffectMayFail(t *testing.T) {
	t.Parallel()
	dir := folder(t, crashing)
	points := places(t, dir)
	var all []death
	names := slices.Sorted(maps.Keys(failures()))
	for i, p := range points {
		way, _ := strings.CutSuffix(p.point, "#1")
		for n := range min(*errorsOf, len(names)) {
			all = append(all, death{mortal: p.mortal, point: way + ":" + names[(i+n)%len(names)], certain: p.certain})
		}
	}
	sweep(t, telling{programs: dir, failing: true, calls: callsOf(points)}, slices.DeleteFunc(all, func(d death) bool { return !strings.Contains(d.name(), *only) }))
}

// callsOf is what led to each place, by name and way.
func callsOf(all []place) map[string]string {
	calls := map[string]string{}
	for _, p := range all {
		way, _ := strings.CutSuffix(p.point, "#1")
		calls[way] = p.calls
	}
	return calls
}

// faulty is the failures of one story. Each says at which place it is, so that of
// several at once it is known which of them was told.
type faulty struct {
	state   sync.Mutex            // guards what follows
	begun   map[string]*beginning // by failure
	over    []string              // failures that were told, in that order
	latest  time.Time             // when the last of them was
	resting bool                  // none begins: this round has had its share
	said    string                // by what ended at once: a join, a login
}

// beginning is a failure under way.
type beginning struct {
	reached time.Time // zero where the program has not come to it
	log     int64     // what was said before it began
	said    int
	looks   int // for who says so, since it was reached
}

// every is the time between two looks at the failures, where the machine has it.
const every = 50 * time.Millisecond

// share is how many failures a round has: a loop waits twice as long each time.
func share(mortal string) int64 {
	return map[string]int64{"controller": 3}[mortal]
}

func (w *told) faults() string { return w.path("faults") }

// begins lets failures begin and end, for as long as anything is started.
func (w *told) begins() {
	if !w.failing {
		return
	}
	w.begun = map[string]*beginning{}
	must(w.t, os.MkdirAll(w.faults(), 0o700))
	w.fails()
	w.guards.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-w.ended:
				return
			case <-tick.C:
				w.fails()
			}
		}
	})
}

// fails looks which failures the program has come to, ends those that were told,
// and lets others begin.
func (w *told) fails() {
	w.state.Lock()
	defer w.state.Unlock()
	w.reach()
	for failure, b := range w.begun {
		if b.reached.IsZero() {
			continue
		}
		why := w.tells(failure, b)
		if b.looks++; why != "" && b.looks < int(*patience/every) {
			continue
		}
		var found []invariant.Finding
		if why != "" {
			found = append(found, invariant.Finding{Invariant: "I8", Where: failure, What: why})
		}
		w.finish(failure, append(found, invariant.Always(w.see(w.mesh))...))
	}
	if w.rests() {
		w.withdraw()
		return
	}
	for _, failure := range w.ends {
		if w.begun[failure] != nil || slices.Contains(w.over, failure) {
			continue
		}
		w.begun[failure] = &beginning{log: w.logLength(), said: len(w.said)}
		must(w.t, os.WriteFile(filepath.Join(w.faults(), failure), nil, 0o600))
	}
}

// rests reports whether no failure is to begin in this round any more.
func (w *told) rests() bool {
	had := w.died.Load() - w.before.Load()
	if most := share(w.mortal); most > 0 && w.before.Load() >= 0 && (had >= most || had > 0 && time.Since(w.latest) > 2*time.Second) {
		w.resting = true
	}
	return w.resting
}

// withdraw ends what has begun and was not come to.
func (w *told) withdraw() {
	for failure, b := range w.begun {
		must(w.t, os.RemoveAll(filepath.Join(w.faults(), failure)))
		if w.reach(); b.reached.IsZero() {
			delete(w.begun, failure)
		}
	}
}

// reach notes what the program has come to.
func (w *told) reach() {
	text, err := os.ReadFile(w.effects)
	if err != nil {
		return // it has come to nothing at all
	}
	for line := range strings.Lines(string(text)) {
		failure, ok := strings.CutPrefix(strings.TrimSpace(line), "fail ")
		if b := w.begun[failure]; ok && b != nil && b.reached.IsZero() {
			b.reached = time.Now()
		}
	}
}

// finish ends a failure that was told, or of which nobody has said anything.
func (w *told) finish(failure string, found []invariant.Finding) {
	w.found.mu.Lock()
	defer w.found.mu.Unlock()
	if w.found.dead == nil {
		w.found.dead = map[string][]invariant.Finding{}
	}
	w.found.dead[failure] = found
	must(w.t, os.RemoveAll(filepath.Join(w.faults(), failure)))
	delete(w.begun, failure)
	w.over, w.latest = append(w.over, failure), time.Now()
	w.died.Add(1)
}

// rest waits until no failure is under way; none begins until the next round.
func (w *told) rest() {
	w.t.Helper()
	w.state.Lock()
	w.resting = true
	w.state.Unlock()
	w.poll("every failure was told", func() string {
		w.state.Lock()
		defer w.state.Unlock()
		return strings.Join(slices.Sorted(maps.Keys(w.begun)), ", ")
	})
}

// again lets failures begin again.
func (w *told) again() {
	if !w.failing {
		return
	}
	w.state.Lock()
	defer w.state.Unlock()
	w.resting = false
}

// waiting are the failures that the program has come to, and of which nobody has
// been told yet.
func (w *told) waiting() string {
	w.state.Lock()
	defer w.state.Unlock()
	w.reach()
	var all []string
	for failure, b := range w.begun {
		if !b.reached.IsZero() {
			all = append(all, failure)
		}
	}
	return strings.Join(all, ", ")
}

// tells is what stands against that somebody who looks can see what could not be
// done and why: in the status, in the program's log, or in what a command said.
func (w *told) tells(failure string, b *beginning) string {
	point, errno, _ := strings.Cut(failure, ":")
	name, _, _ := strings.Cut(point, "@")
	if silent(name, w.calls[point]) != "" {
		return ""
	}
	words, near := failures()[errno], ""
	for _, m := range w.messages(b) {
		if !strings.Contains(m.text, point+": ") {
			continue
		}
		if near += "\n  " + m.where + " " + m.text; m.says(point, words) {
			w.t.Logf("%s %s is told by %s: %s", w.mortal, failure, m.where, m.text)
			return ""
		}
	}
	if near != "" {
		return "nobody says what could not be done: " + near
	}
	return "nobody says so"
}

// messages is what people could have read since a failure began: lines of the
// program's log, what commands have said, and the troubles of the status, each
// with what it is about.
func (w *told) messages(b *beginning) (all []message) {
	text, err := os.ReadFile(w.logFile())
	if err == nil {
		text = text[min(b.log, int64(len(text))):]
	}
	for where, said := range map[string]string{"a command": w.said[b.said:], "the log": string(text)} {
		for line := range strings.Lines(said) {
			all = append(all, message{where, strings.TrimSpace(line)})
		}
	}
	if s, err := w.status(); err == nil {
		var tree any
		text, err := json.Marshal(s)
		must(w.t, err)
		must(w.t, json.Unmarshal(text, &tree))
		for _, leaf := range leaves(tree, "") {
			all = append(all, message{"the status", leaf})
		}
	}
	return all
}

// leaves are the objects of a document, each with the words that stand in it and
// above it.
func leaves(tree any, above string) (all []string) {
	switch v := tree.(type) {
	case []any:
		for _, one := range v {
			all = append(all, leaves(one, above)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if text, ok := v[key].(string); ok {
				above += fmt.Sprintf(" %s=%s", key, text)
			}
		}
		all = append(all, above)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, leaves(v[key], above+" "+key)...)
		}
	}
	return all
}

// logFile is what the mortal writes to.
func (w *told) logFile() string {
	return w.path(map[string]string{"controller": "controller.log", "builder": "builder1.log", "host": "node1.log", person: "dev.log"}[w.mortal])
}

func (w *told) logLength() int64 {
	info, err := os.Stat(w.logFile())
	if err != nil {
		return 0
	}
	return info.Size()
}

// hears keeps what a command said before it ended.
func (w *told) hears(out string) {
	w.state.Lock()
	defer w.state.Unlock()
	w.said += out
}
