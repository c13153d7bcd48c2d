package resource

import (
	"context"
	"slices"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// portals is a kind for tests: what the machine has of it is a map, and each call
// is written down.
type portals struct {
	there   map[string]string // by name: its shell
	calls   []string
	broken  map[string]error // by name: what change says
	killed  string           // the name in whose change the host is killed, after the effect
	useless bool             // change says that it did, and did not
}

// killed is how a change in a test ends the host.
type killed struct{}

func (k *portals) look(_ context.Context, _ *pass, all []*holding) {
	for _, h := range all {
		shell, there := k.there[h.name()]
		h.found = stand{there: there, same: shell == h.want.Shell, says: "shell " + shell}
		if !there {
			h.found.says = nothing
		}
	}
}

func (k *portals) mean(_ *pass, all []*holding) {
	for _, h := range all {
		if h.want.Shell == "/refused" {
			h.refused("ask for another", "nobody makes that")
		}
		h.hold.Note = h.want.Shell
	}
}

func (k *portals) change(_ context.Context, _ *pass, all []*holding) {
	k.calls = append(k.calls, "change "+names(all))
	for _, h := range all {
		if err := k.broken[h.name()]; err != nil {
			h.failed(err)
			continue
		}
		if !k.useless {
			k.there[h.name()] = h.want.Shell
		}
		if k.killed == h.name() {
			panic(killed{})
		}
	}
}

func (k *portals) leave(_ context.Context, _ *pass, all []*holding) {
	k.calls = append(k.calls, "leave "+names(all))
	for _, h := range all {
		switch {
		case k.broken[h.name()] != nil:
			h.failed(k.broken[h.name()])
		case h.hold.Origin == keep.TakenOver:
			h.stays = h.hold.Subject + " was there before, and stays"
		default:
			delete(k.there, h.name())
		}
	}
}

func names(all []*holding) string {
	var out []string
	for _, h := range all {
		out = append(out, h.name())
	}
	return strings.Join(out, " ")
}

func (m *machine) portals() *portals {
	k := &portals{there: map[string]string{}, broken: map[string]error{}}
	m.engine.kinds = []rankedKind{{of: "portal", kind: k}}
	return k
}

// again is another host process, with what the machine has.
func (m *machine) again(k *portals) {
	m.restart()
	m.engine.kinds = []rankedKind{{of: "portal", kind: k}}
}

func portal(id, shell string, after ...string) declaration.Resource {
	return declaration.Resource{ID: "m/" + id, Type: "portal", After: after, Traits: &declaration.Traits{Name: id, Shell: shell}}
}

func states(r Result) string {
	var out []string
	for _, res := range r.Resources {
		out = append(out, strings.TrimPrefix(res.ID, "m/")+" "+string(res.State))
	}
	return strings.Join(out, ", ")
}

func (m *machine) wantStates(want string, resources ...declaration.Resource) Result {
	m.t.Helper()
	r := m.apply(resources...)
	if got := states(r); got != want {
		m.t.Errorf("got  %s\nwant %s\n%+v", got, want, r.Resources)
	}
	return r
}

func TestWhatIsNoFileGoesThroughTheWaves(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	k := m.portals()
	first := []declaration.Resource{
		portal("a", "/1"), portal("b", "/1", "m/a"), m.depot.file("m/f", "/etc/f", "x"), portal("c", "/1", "m/f"),
	}
	r := m.wantStates("a changed, b changed, f changed, c changed", first...)
	if !r.Right || !r.Wrote || r.Outcome != report.OutcomeApplied {
		t.Errorf("%+v", r)
	}
	if got := strings.Join(k.calls, "; "); got != "change a; change b c" {
		t.Errorf("calls: %s", got)
	}
	k.calls = nil
	m.again(k)
	if r := m.wantStates("a ok, b ok, f ok, c ok", first...); r.Wrote || len(k.calls) > 0 {
		t.Errorf("a look changed something: %v", k.calls)
	}
	delete(k.there, "b")
	if r := m.wantStates("a ok, b changed, f ok, c ok", first...); !r.Resources[1].Fixed || r.Resources[1].Found != nothing {
		t.Errorf("drift is not said: %+v", r.Resources[1])
	}
	k.calls = nil
	m.wantStates("a ok, b removed, c removed, f removed", first[0])
	if got := strings.Join(k.calls, "; "); got != "leave c b" || len(k.there) != 1 {
		t.Errorf("calls: %s; there is %v", got, k.there)
	}
	if m.wantStates("a ok", first[0]); len(m.engine.record.Holds) != 1 || len(m.engine.record.Done) != 1 {
		t.Errorf("the record has %v", m.engine.record)
	}
}

func TestAFailureBlocksByNameAndOthersGoOn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	k := m.portals()
	k.broken["a"] = fault.New(fault.Conflict, "%q said no", "it")
	k.broken["w"] = fault.New(fault.Unavailable, "somebody has the lock")
	r := m.wantStates("a failed, b blocked, w waiting, v waiting, c changed, d failed",
		portal("a", "/1"), portal("b", "/1", "m/a"), portal("w", "/1"), portal("v", "/1", "m/w"), portal("c", "/1"), portal("d", "/refused"))
	for i, want := range []string{
		`change "portal a": "it" said no`, `"m/a" comes first, and is failed`, `change "portal w": somebody has the lock`,
		`"m/w" comes first, and is waiting`, "", `change "portal d": nobody makes that; ask for another`,
	} {
		if got := r.Resources[i].Error; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if r.Right || r.Outcome != report.OutcomeFailed {
		t.Errorf("%+v", r)
	}
	if _, there := m.engine.record.Done["m/a"]; there {
		t.Error("the record is ahead of the read-back")
	}
	clear(k.broken)
	k.useless = true
	r = m.wantStates("e failed, a removed, c removed, w removed", portal("e", "/1"))
	if got, want := r.Resources[0].Error, `read back "portal e": it is not as declared: nothing`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhatWasThereBeforeIsReleased(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	k := m.portals()
	k.there["old"], k.there["other"] = "/1", "/2"
	m.wantStates("old ok, other changed, new changed", portal("old", "/1"), portal("other", "/1"), portal("new", "/1"))
	r := m.wantStates("new removed, old removed, other removed")
	if len(k.there) != 2 || r.Resources[1].Found != "portal old was there before, and stays" {
		t.Errorf("there is %v: %+v", k.there, r.Resources)
	}
	m.wantStates("x changed", portal("x", "/1"))
	k.broken["x"] = fault.New(fault.Conflict, "it is in use").With("stop it")
	r = m.wantStates("x failed")
	if r.Outcome != report.OutcomeFailed || r.Resources[0].Error != `remove "portal x": it is in use; stop it` {
		t.Errorf("%+v", r)
	}
	clear(k.broken)
	m.again(k)
	m.wantStates("x removed")
}

func TestDriftIsOnlyReportedWhereItIsToBe(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	k := m.portals()
	report1 := func(r declaration.Resource) declaration.Resource {
		if r.Traits == nil {
			r.Traits = &declaration.Traits{}
		}
		r.Drift = declaration.DriftReport
		return r
	}
	all := []declaration.Resource{
		report1(portal("a", "/1")), report1(m.depot.file("m/f", "/etc/f", "x")), portal("b", "/1", "m/a"), m.depot.file("m/g", "/etc/g", "y"),
	}
	m.wantStates("a changed, f changed, b changed, g changed", all...)
	k.there["a"] = "/2"
	m.plant("/etc/f", "z")
	m.plant("/etc/g", "z")
	for range 2 {
		m.again(k)
		r := m.apply(all...)
		if !strings.HasPrefix(states(r), "a differs, f differs, b ok, g ") || r.Right || r.Outcome != report.OutcomeApplied {
			t.Errorf("%s: %+v", states(r), r)
		}
		if r.Resources[0].Found != "shell /2" || !strings.Contains(r.Resources[1].Found, "other content") || k.there["a"] != "/2" {
			t.Errorf("%+v", r.Resources)
		}
	}
	// Another declaration of it is no drift.
	all = slices.Clone(all)
	all[0], all[1] = report1(portal("a", "/3")), report1(m.depot.file("m/f", "/etc/f", "w"))
	m.wantStates("a changed, f changed, b ok, g ok", all...)
}

// What is left alone for now is said to differ, of whatever kind it is, and blocks
// nothing; where it is to be something else, it is made so.
func TestWhatIsSparedIsLeftAloneForNow(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	k := m.portals()
	all := []declaration.Resource{portal("a", "/1"), m.depot.file("m/f", "/etc/f", "x"), portal("b", "/1", "m/a")}
	r := m.wantStates("a changed, f changed, b changed", all...)
	spared := map[string]document.Digest{"m/a": r.Resources[0].Digest, "m/f": r.Resources[1].Digest}
	k.there["a"] = "/2"
	m.plant("/etc/f", "z")
	k.calls = nil
	m.engine.Spare(spared)
	for range 2 {
		r = m.apply(all...)
		if states(r) != "a differs, f differs, b ok" || r.Right || r.Outcome != report.OutcomeApplied || r.Resources[0].Found != "shell /2" || len(k.calls) > 0 {
			t.Errorf("%s: %+v, %v", states(r), r, k.calls)
		}
	}
	if m.engine.StrayedAnywhere() {
		t.Error("what is known to differ is heard of again")
	}
	other := slices.Clone(all)
	other[0] = portal("a", "/3")
	m.wantStates("a changed, f differs, b ok", other...)
	m.engine.Spare(nil)
	if r := m.wantStates("a ok, f changed, b ok", other...); !r.Resources[1].Fixed {
		t.Errorf("%+v", r.Resources[1])
	}
}

// A host that is killed over a change goes on with it, and what it made is its own.
func TestAKillOverAChangeIsNoDrift(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	k := m.portals()
	one := portal("a", "/1")
	one.Drift = declaration.DriftReport
	kill := func(resources ...declaration.Resource) {
		t.Helper()
		defer func() {
			if recover() != (killed{}) {
				t.Error("nobody was killed")
			}
			k.killed = ""
			m.again(k)
		}()
		k.killed = "a"
		m.apply(resources...)
	}
	kill(one)
	if h := m.engine.record.Holds["portal a"]; h.Phase != keep.Making || h.Origin != keep.Made || h.Note != "/1" {
		t.Errorf("the record has %+v", h)
	}
	m.wantStates("a ok", one)
	if h := m.engine.record.Holds["portal a"]; h.Phase != keep.Done || h.Origin != keep.Made {
		t.Errorf("the record has %+v", h)
	}
	one.Traits = &declaration.Traits{Name: "a", Shell: "/2", Drift: declaration.DriftReport}
	kill(one)
	k.there["a"] = "/half"
	m.wantStates("a changed", one)
	m.wantStates("a removed")
	if len(k.there) > 0 {
		t.Errorf("there is %v", k.there)
	}
	// What is there instead of what a killed host was making is somebody else's.
	kill(portal("a", "/1"))
	k.there["a"] = "/other"
	m.wantStates("a changed", portal("a", "/1"))
	m.wantStates("a removed")
	if !slices.Equal(k.calls[len(k.calls)-1:], []string{"leave a"}) || k.there["a"] != "/1" {
		t.Errorf("there is %v after %v", k.there, k.calls)
	}
}

func TestAHostThatDoesNotKnowATypeSaysSo(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.wantStates("a failed", portal("a", "/1"))
	if got := r.Resources[0].Error; got != `type "portal": this host has no such type` {
		t.Error(got)
	}
}
