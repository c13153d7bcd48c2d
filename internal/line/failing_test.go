//go:build meshcrash

package line

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"noxmesh/internal/invariant"
)

// fault is an effect of the mortal that fails, from the beginning until somebody
// has been told of it.
type faulty struct {
	lifted atomic.Bool
	heard  sync.Mutex // guards said
	said   string     // by what ended at once: a join, a login
}

// failures are the errors, and what people read of them.
func failures() []struct{ name, words string } {
	return []struct{ name, words string }{
		{"ENOSPC", "no space left on device"}, {"EIO", "input/output error"}, {"EROFS", "read-only file system"},
	}
}

// silent are the effects whose failure nobody needs to hear of, and why.
func silent() map[string]string {
	return map[string]string{
		"keep.reserve.make":   "where there is no room to keep there was none to lose",
		"bus.answer.send":     "whoever asked asks again, and says that nobody answered",
		"bus.connection.open": "",
	}
}

// The whole line again: in each telling one effect of one program fails, as on a
// full disk, a broken one or one that was mounted read-only, until somebody has
// been told of it. Nothing is half-written meanwhile, and once the fault is over
// everything goes on by itself.
func TestEveryEffectMayFail(t *testing.T) {
	t.Parallel()
	dir := folder(t, crashing)
	var todo []telling
	for i, p := range survey(t, dir) {
		if p.mortal == person {
			continue
		}
		way, _ := strings.CutSuffix(p.point, "#1")
		todo = append(todo, telling{programs: dir, mortal: p.mortal, fail: way + ":" + failures()[i%len(failures())].name, certain: p.certain})
	}
	todo = slices.DeleteFunc(todo, func(s telling) bool { return !strings.Contains(s.name(), *only) })
	tell(t, todo, func(t *testing.T, s telling) { s.tell(t) })
}

func (w *told) faultFile() string { return w.path("fault") }

// begins lets the fault begin, and ends it when it has been reached and told.
func (w *told) begins() {
	if w.fail == "" {
		return
	}
	must(w.t, os.WriteFile(w.faultFile(), nil, 0o600))
	w.guards.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for !w.failedOnce() {
			select {
			case <-w.over:
				return
			case <-tick.C:
			}
		}
		w.lift()
	})
}

func (w *told) failedOnce() bool {
	text, err := os.ReadFile(w.effects)
	return err == nil && strings.Contains(string(text), "fail ")
}

// lift ends the fault when it has been told.
func (w *told) lift() {
	name, _, _ := strings.Cut(w.fail, "@")
	if _, may := silent()[name]; !may {
		over := time.NewTimer(*patience / 3)
		defer over.Stop()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for told := false; !told; {
			select {
			case <-tick.C:
				told = w.tells()
			case <-over.C:
				w.t.Errorf("%s: nobody says so", w.fail)
				told = true
			}
		}
	}
	mustHold(w.t, "while it fails", invariant.Always(w.see(w.mesh)))
	must(w.t, os.Remove(w.faultFile()))
	w.lifted.Store(true)
}

// tells reports whether somebody who looks can see what is wrong: in the status,
// in the program's log, or in what a command said.
func (w *told) tells() bool {
	_, name, _ := strings.Cut(w.fail, ":")
	words := ""
	for _, f := range failures() {
		if f.name == name {
			words = f.words
		}
	}
	if s, err := w.status(); err == nil {
		text, err := json.Marshal(s)
		if err == nil && strings.Contains(string(text), words) {
			return true
		}
	}
	w.heard.Lock()
	defer w.heard.Unlock()
	if strings.Contains(w.said, words) {
		return true
	}
	for _, part := range []string{"controller", "builder1", "node1"} {
		if w.is(part) {
			text, err := os.ReadFile(w.path(part + ".log"))
			return err == nil && strings.Contains(string(text), words)
		}
	}
	return false
}

// hears keeps what a command said before it ended.
func (w *told) hears(out string) {
	w.heard.Lock()
	defer w.heard.Unlock()
	w.said += out
}
