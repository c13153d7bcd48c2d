package resource

import (
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/report"
)

func loaded(active, sub string, change func(*system.Unit)) system.Unit {
	u := system.Unit{Load: "loaded", Active: active, Sub: sub, Kind: "simple", Result: "success", Condition: true}
	if change != nil {
		change(&u)
	}
	return u
}

func TestWhatIsCalledRunning(t *testing.T) {
	t.Parallel()
	oneshot := func(u *system.Unit) { u.Kind, u.Remains = "oneshot", true }
	for _, c := range []struct {
		unit             system.Unit
		running, stopped bool
		says             string
	}{
		{loaded("active", "running", nil), true, false, "running"},
		{loaded("reloading", "reload", nil), true, false, "reloading"},
		{loaded("active", "exited", oneshot), true, false, "active without a process: its main process ended at once"},
		{loaded("active", "exited", func(u *system.Unit) { oneshot(u); u.Result = "exit-code" }), false, false, "active without a process: its main process ended at once"},
		{loaded("active", "exited", func(u *system.Unit) { u.Remains, u.Ended = true, 1 }), false, false, "active without a process: its main process ended with 0 at once"},
		{loaded("active", "waiting", func(u *system.Unit) { u.Kind = "" }), true, false, "waiting"},
		{loaded("active", "elapsed", func(u *system.Unit) { u.Kind = "" }), false, false, "elapsed"},
		{loaded("activating", "auto-restart", func(u *system.Unit) { u.Ended, u.Status, u.Ran = 3, 6, 4*time.Second }), false, false, "started again and again: its main process was ended by signal 6 after 4 s"},
		{loaded("activating", "start", nil), false, false, "activating"},
		{loaded("failed", "failed", func(u *system.Unit) { u.Result = "watchdog" }), false, true, "failed: watchdog"},
		{loaded("inactive", "dead", nil), false, true, "stopped"},
		{loaded("inactive", "dead", func(u *system.Unit) { u.Load = "masked" }), false, true, "masked"},
		{loaded("active", "running", func(u *system.Unit) { u.Load = "masked" }), true, false, "running"},
		{system.Unit{Load: "not-found", Active: "inactive"}, false, true, "no such unit"},
	} {
		if isRunning(c.unit) != c.running || isStopped(c.unit) != c.stopped || activity(c.unit) != c.says {
			t.Errorf("%+v: running %v, stopped %v, %q", c.unit, isRunning(c.unit), isStopped(c.unit), activity(c.unit))
		}
	}
}

func TestHowLongAServiceIsWatched(t *testing.T) {
	t.Parallel()
	failed := func(ran time.Duration) system.Unit {
		return loaded("failed", "failed", func(u *system.Unit) { u.Ended, u.Ran = 1, ran })
	}
	known := serviceNote{invocation: "a", restarts: 2}
	for _, c := range []struct {
		unit system.Unit
		note serviceNote
		want time.Duration
	}{
		{loaded("inactive", "dead", nil), serviceNote{}, 2 * time.Second},
		{failed(0), known, 2 * time.Second},
		{failed(10 * time.Second), known, 15 * time.Second},
		{failed(time.Hour), known, time.Minute},
		{loaded("active", "running", func(u *system.Unit) { u.Restarts = 3 }), known, 10 * time.Second},
		{loaded("active", "running", func(u *system.Unit) { u.Restarts = 2 }), known, 2 * time.Second},
		{loaded("active", "running", func(u *system.Unit) { u.Restarts = 3 }), serviceNote{}, 2 * time.Second},
	} {
		if got := patienceFor(c.unit, c.note); got != c.want {
			t.Errorf("%+v %+v: %s, want %s", c.unit, c.note, got, c.want)
		}
	}
}

func TestTheNoteOfAService(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := serviceNote{started: rapid.Bool().Draw(t, "started"), enabled: rapid.Bool().Draw(t, "enabled")}
		if rapid.Bool().Draw(t, "known") {
			n.invocation, n.inputs, n.restarts = "a1", rapid.StringMatching(`[0-9a-f]*`).Draw(t, "inputs"), rapid.Int64Min(0).Draw(t, "restarts")
		}
		if got := readNote(n.String()); got != n {
			t.Fatalf("%+v was read as %+v", n, got)
		}
	})
}

// When a process is older than what it is made from, whoever started it.
func TestWhatAProcessWasStartedBefore(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.plant("/etc/f", "x")
	info, err := os.Stat(m.at("/etc/f"))
	must(t, err)
	changed := info.ModTime()
	file := &item{res: &declaration.Resource{ID: "m/f", Type: declaration.File, Path: "/etc/f"}, state: report.StateOK, works: []*work{{want: keep.Thing{Path: "/etc/f"}}}}
	user := &item{res: &declaration.Resource{ID: "m/u", Type: declaration.User}, n: 1, state: report.StateOK}
	p := &pass{Engine: m.engine, items: []*item{file, user}}
	p.ids = keep.NewNames(2, func(n int) string { return p.items[n].res.ID })
	p.ids.Add(0)
	p.ids.Add(1)
	m.engine.digests = []document.Digest{"1", "1"}
	of := func(began time.Time, invocation, note string, on ...string) bool {
		h := &holding{known: note != "", want: declaration.Traits{State: declaration.Running, RestartOn: on}, hold: keep.Hold{Note: note}}
		return p.outdated(&service{holding: h, unit: system.Unit{Invocation: invocation, Began: began}, inputs: p.inputs(h)})
	}
	before, after := changed.Add(-time.Second), changed.Add(time.Second)
	now := func(on ...string) string {
		return serviceNote{invocation: "a", inputs: p.inputs(&holding{want: declaration.Traits{RestartOn: on}})}.String()
	}
	both, one := now("m/f", "m/u"), now("m/f")
	for name, c := range map[string]struct {
		began            time.Time
		invocation, note string
		on               []string
		want             bool
	}{
		"made from nothing":                    {before, "a", "", nil, false},
		"known, and from the same":             {before, "a", one, []string{"m/f"}, false},
		"known, and from others":               {after, "a", "of=a from=other again=0", []string{"m/f"}, true},
		"not known, and before the file":       {before, "b", one, []string{"m/f"}, true},
		"not known, and after it":              {after, "b", one, []string{"m/f"}, false},
		"just after it, by a clock of files":   {changed.Add(time.Millisecond), "b", one, []string{"m/f"}, true},
		"never known, and after it":            {after, "b", "", []string{"m/f"}, false},
		"what is no file is as it was":         {after, "b", both, []string{"m/f", "m/u"}, false},
		"what is no file is another":           {after, "b", "of=a from=other again=0", []string{"m/u"}, true},
		"what is no file, and nobody ever did": {after, "b", "", []string{"m/u"}, false},
	} {
		if got := of(c.began, c.invocation, c.note, c.on...); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	// What the host has started itself in this pass it started after all of that,
	// however quick it was.
	h := &holding{want: declaration.Traits{State: declaration.Running, RestartOn: []string{"m/f"}}}
	for _, fresh := range []bool{false, true} {
		runs := system.Unit{Name: "a.service", Load: "loaded", Kind: "simple", Active: "active", Sub: "running", PID: 7, Invocation: "b", Began: changed.Add(time.Millisecond)}
		s := &service{holding: h, unit: runs, inputs: p.inputs(h), fresh: fresh, enabled: "enabled"}
		if s.judge(p); s.idle == fresh {
			t.Errorf("started since the look before %t: to be started again %t (%s)", fresh, s.idle, s.wrong)
		}
	}
	user.state = report.StateChanged
	if !of(after, "b", "", "m/u") {
		t.Error("what has changed in this pass was taken for old")
	}
}

// What was started a moment ago is looked at once more before long, and not for ever.
func TestWhatIsYoungIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := &pass{Engine: m.engine}
	for age, want := range map[time.Duration]time.Duration{time.Minute: 0, 3 * time.Second: lookAgain} {
		p.Engine.soon = 0
		p.soonAfter(loaded("active", "running", func(u *system.Unit) { u.Age = age }))
		if p.Soon() != want {
			t.Errorf("of an age of %s: %s", age, p.Soon())
		}
	}
	p.soonAfter(loaded("active", "exited", func(u *system.Unit) { u.Kind, u.Age = "oneshot", 0 }))
	m.apply()
	if m.engine.Soon() != 0 {
		t.Error("a pass in which nothing is young asks for another")
	}
}
