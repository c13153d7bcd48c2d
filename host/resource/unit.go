package resource

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/system"
	"noxmesh/report"
)

const (
	settleLeast = 2 * time.Second        // a process must stay for so long before it is said to run
	settleMost  = time.Minute            // and one that has ended after a while for longer than that, but no longer than this
	watchEvery  = 100 * time.Millisecond // how often it is looked at meanwhile
	lookAgain   = 30 * time.Second       // what was started since then is looked at once more
	slack       = 20 * time.Millisecond  // by which the clock of files may be behind
)

// isRunning reports whether a unit is what people call running: its process is
// there, or its socket, its timer; a oneshot that remains has done what it had to.
func isRunning(u system.Unit) bool {
	if u.Load != "loaded" && u.Load != "masked" || u.Active != "active" && u.Active != "reloading" {
		return false
	}
	switch u.Sub {
	case "exited":
		return u.Kind == "oneshot" && u.Remains && u.Result == "success"
	case "elapsed": // a timer that will not start anything any more
		return false
	}
	return true
}

func isStopped(u system.Unit) bool {
	return u.Active == "inactive" || u.Active == "failed" || u.Active == ""
}

// activity is what a unit does, for people.
func activity(u system.Unit) string {
	switch {
	case u.Load == "not-found" && isStopped(u):
		return "no such unit"
	case u.Load == "masked" && isStopped(u):
		return "masked"
	case u.Sub == "auto-restart":
		return "started again and again: " + end(u)
	case u.Active == "failed":
		return "failed: " + failure(u)
	case u.Active == "deactivating" && u.Ended != 0:
		return "ending: " + end(u)
	case u.Active == "active" && u.Sub == "exited":
		return "active without a process: " + end(u)
	case u.Active == "inactive" && !u.Condition:
		return "stopped: a condition in its file is not met"
	case u.Active == "inactive" && u.Ended != 0:
		return "stopped: " + end(u)
	case u.Active == "inactive":
		return "stopped"
	case u.Active == "active":
		return u.Sub
	}
	return u.Active
}

// failure is why a unit has failed.
func failure(u system.Unit) string {
	switch u.Result {
	case "timeout":
		return "it took longer than its file allows"
	case "protocol":
		return "it ended or went on without saying that it is ready, as Type=" + u.Kind + " must"
	case "start-limit-hit":
		return "it was started too often in a row"
	case "exit-code", "signal", "core-dump":
		return end(u)
	}
	return u.Result
}

// end is how the main process of a unit has ended.
func end(u system.Unit) string {
	how := "its main process ended"
	switch u.Ended {
	case 1:
		how += " with " + strconv.FormatInt(u.Status, 10)
	case 2, 3:
		how = "its main process was ended by signal " + strconv.FormatInt(u.Status, 10)
	}
	if seconds := int(u.Ran / time.Second); seconds > 0 {
		return fmt.Sprintf("%s after %d s", how, seconds)
	}
	return how + " at once"
}

// watch looks at what was started a moment ago until it has stayed for a while.
// All are watched in one time.
func watch(all []*service, end <-chan struct{}, again func(*service)) {
	began := time.Now()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		left := false
		for _, s := range all {
			left = left || s.err == nil && s.young(time.Since(began))
		}
		if !left {
			return
		}
		select {
		case <-end:
			return
		case <-tick.C:
		}
		for _, s := range all {
			if s.err == nil && s.young(time.Since(began)) {
				again(s)
			}
		}
	}
}

// young reports whether a unit that runs is still to be watched.
func (s *service) young(watched time.Duration) bool {
	if s.wrong != "" || s.want.State != declaration.Running || !isWatched(s.unit) {
		return false
	}
	note := readNote(s.hold.Note)
	if s.known && note.invocation == s.unit.Invocation && note.restarts == s.unit.Restarts {
		return false // it was watched when it was new
	}
	return s.unit.Age+watched < s.patience
}

// isWatched reports whether a unit has a process that might end: a service, and no
// oneshot, which has.
func isWatched(u system.Unit) bool { return u.Kind != "" && u.Kind != "oneshot" }

// lookAgain reads a unit that is being watched once more.
func (s *service) lookAgain(ctx context.Context, units *system.Units) {
	before := s.unit
	if err := s.read(ctx, units); err != nil {
		s.failed(err)
		return
	}
	now := s.unit
	switch {
	case !isRunning(now):
		s.wrong = activity(now)
	case now.PID != before.PID || now.Invocation != before.Invocation || now.Restarts != before.Restarts:
		s.wrong = "started again and again: another main process than a moment ago"
	default:
		s.unit.Age = before.Age // the time that it is watched counts from there
	}
}

// patienceFor is for how long a process must stay that comes after one which ended.
func patienceFor(u system.Unit, note serviceNote) time.Duration {
	if (u.Active == "failed" || u.Sub == "auto-restart" || u.Active == "inactive" && u.Ended != 0) && u.Ran > 0 {
		return min(max(u.Ran*3/2, settleLeast), settleMost)
	}
	if u.Restarts > note.restarts && note.invocation != "" {
		return 5 * settleLeast // it has been started again by itself since it was last looked at
	}
	return settleLeast
}

// inputs is what a service is made from, as it is declared, in one word.
func (p *pass) inputs(h *holding) string {
	if len(h.want.RestartOn) == 0 {
		return ""
	}
	var b strings.Builder
	for _, id := range h.want.RestartOn {
		if it := p.byID(id); it != nil {
			fmt.Fprintf(&b, "%s %s\n", id, p.digestOf(it))
		}
	}
	return document.Sum([]byte(b.String())).Hex()[:32]
}

// outdated reports whether the process that runs was started before something that
// it is made from was changed. Of a start that the record knows, it knows what that
// was; of any other, when the files were last changed tells.
func (p *pass) outdated(s *service) bool {
	if s.inputs == "" {
		return false
	}
	note := readNote(s.hold.Note)
	if s.known && note.invocation == s.unit.Invocation {
		return note.inputs != s.inputs
	}
	for _, id := range s.want.RestartOn {
		it := p.byID(id)
		if it == nil {
			continue
		}
		if !it.res.Type.IsFile() {
			if it.state == report.StateChanged || note.inputs != "" && note.inputs != s.inputs {
				return true
			}
			continue
		}
		if p.newer(it, s.unit.Began) {
			return true
		}
	}
	return false
}

// newer reports whether something of an item was changed after a time, or may have been.
func (p *pass) newer(it *item, than time.Time) bool {
	for of := range it.paths {
		pl, err := at(p.sys, of)
		if err != nil {
			return true
		}
		changed, err := pl.dir.Changed(pl.name)
		if err != nil || time.Unix(0, changed).Add(slack).After(than) {
			return true
		}
	}
	return false
}

// serviceNote is what the record knows of a service beside that it is there.
type serviceNote struct {
	started, enabled bool   // by the host
	invocation       string // the start of which it is known
	inputs           string // what it was made from
	restarts         int64  // how often systemd had started it again by itself
}

func (n serviceNote) String() string {
	var words []string
	if n.started {
		words = append(words, "STARTED")
	}
	if n.enabled {
		words = append(words, "ENABLED")
	}
	if n.invocation != "" {
		words = append(words, "of="+n.invocation, "from="+n.inputs, "again="+strconv.FormatInt(n.restarts, 10))
	}
	return strings.Join(words, " ")
}

// readNote takes what String wrote; what it does not know means nothing.
func readNote(text string) serviceNote {
	var n serviceNote
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "STARTED":
			n.started = true
		case "ENABLED":
			n.enabled = true
		case "of":
			n.invocation = value
		case "from":
			n.inputs = value
		case "again":
			n.restarts, _ = strconv.ParseInt(value, 10, 64) // 0 where it is no number
		}
	}
	return n
}

// soonAfter has the machine looked at once more before long where a process is
// young: what ends after some seconds is then not said to run for minutes.
func (p *pass) soonAfter(u system.Unit) {
	if isWatched(u) && u.Age < lookAgain {
		p.soon = lookAgain
	}
}

// manager is the service manager, which is asked once in a pass.
func (p *pass) manager(ctx context.Context) (*system.Units, error) {
	if p.units == nil && p.unitsErr == nil {
		p.units, p.unitsErr = p.sys.Units(ctx)
	}
	return p.units, p.unitsErr
}
