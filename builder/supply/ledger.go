package supply

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"noxmesh/internal/fault"
)

// ledger is what has become of a build's questions.
type ledger struct {
	mu      sync.Mutex // guards what follows
	busy    map[string]*sync.Mutex
	mine    map[string]bool      // fetched for this build
	indexes map[string][]offered // of Python projects, as they were asked for
	wrong   error
	lacking []string // what it asked for and no lock file names
	fetched int
	kept    int
	bytes   int64
	said    int // fetched and kept when it was last said
	under   int // fetches that are under way
	since   time.Time
	waited  time.Duration
}

// waits counts the time in which anything is fetched.
func (l *ledger) waits() (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under++; l.under == 1 {
		l.since = time.Now()
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.under--; l.under == 0 {
			l.waited += time.Since(l.since)
		}
	}
}

// Waited is how long anything was fetched for this build.
func (x *Session) Waited() time.Duration {
	if x == nil {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.waited
}

// Wrong is why this build cannot go on: something that its lock files name was
// asked for and could not be given.
func (l *ledger) Wrong() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong
}

// ends ends the build. The first reason is the one.
func (l *ledger) ends(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong == nil {
		l.wrong = why
	}
}

// mostLacking is how many of the names are said that no lock file has.
const mostLacking = 20

// lacks notes what was asked for and is named nowhere.
func (l *ledger) lacks(what error) {
	line := worded(what)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lacking) < mostLacking && !slices.Contains(l.lacking, line) {
		l.lacking = append(l.lacking, line)
	}
}

// indexed is what an index was found to have of a project.
func (l *ledger) indexed(project string) (all []offered, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, known = l.indexes[project]
	return all, known
}

func (l *ledger) knows(project string, all []offered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.indexes == nil {
		l.indexes = map[string][]offered{}
	}
	l.indexes[project] = all
}

// worded is an error with what to do.
func worded(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + " (" + hint + ")"
	}
	return err.Error()
}

// alone waits until nobody else sees to the same thing.
func (l *ledger) alone(key string) (done func()) {
	l.mu.Lock()
	if l.busy == nil {
		l.busy, l.mine = map[string]*sync.Mutex{}, map[string]bool{}
	}
	if l.busy[key] == nil {
		l.busy[key] = &sync.Mutex{}
	}
	one := l.busy[key]
	l.mu.Unlock()
	one.Lock()
	return one.Unlock
}

// counts a file that is given.
func (l *ledger) count(key string, fetched bool, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !fetched {
		l.kept++
		return
	}
	l.fetched, l.bytes, l.mine[key] = l.fetched+1, l.bytes+size, true
}

func (l *ledger) isMine(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mine[key]
}

// Lacking is what a build has asked for that no lock file names, a line each, or "".
func (x *Session) Lacking() string {
	if x == nil {
		return ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	all := slices.Clone(x.lacking)
	if len(all) > 0 {
		for i, f := range x.order.Locks.Faults {
			if i == mostLacking {
				break
			}
			all = append(all, worded(f))
		}
	}
	return strings.Join(all, "\n")
}

// Says is what was given since it was last said, for the log, or "".
func (x *Session) Says() string {
	if x == nil {
		return ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fetched+x.kept == x.said {
		return ""
	}
	x.said = x.fetched + x.kept
	return fmt.Sprintf("dependencies: fetched %d, %d KiB; from here %d", x.fetched, x.bytes>>10, x.kept)
}

// Ended is Wrong, for a build that may have no server.
func (x *Session) Ended() error {
	if x == nil {
		return nil
	}
	return x.Wrong()
}
