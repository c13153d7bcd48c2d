package resource

import (
	"context"
	"slices"
	"strings"
	"time"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

const (
	serviceLimit = 10 * time.Minute // for one job: systemd ends most after 90 seconds itself
	answerLimit  = 30 * time.Second // for a question
	servicesOnce = 8                // jobs side by side
)

// services is the units of systemd. The note of one is what the host has done to
// it, and of which start of it that is known what it was made from.
type services struct{}

// service is a unit on its way through a wave.
type service struct {
	*holding
	unit    system.Unit
	enabled string // in systemd's words
	inputs  string // what it is made from, as declared
	wrong   string // how it is not as declared; empty where it is
	fresh   bool   // it was started since this pass looked at it before, and so after all that it is made from
	idle    bool   // it is not started, or not stopped, as declared, or started before a change
	boot    bool   // it is enabled, and should not be, or the other way round

	patience time.Duration // for how long its process must stay to count
}

// look reads each unit, and watches for a moment those that were started a moment
// ago: what counts is that they stay.
func (services) look(ctx context.Context, p *pass, all []*holding) {
	units, err := p.manager(ctx)
	if err != nil {
		allFailed(all, err)
		return
	}
	services := make([]*service, 0, len(all))
	for _, h := range all {
		s := &service{holding: h, inputs: p.inputs(h)}
		if err := s.read(ctx, units); err != nil {
			h.failed(err)
			continue
		}
		s.patience = patienceFor(s.unit, readNote(h.hold.Note))
		if before, _ := h.found.memory.(*service); before != nil { // before it was changed
			s.patience = max(s.patience, before.patience)
			s.fresh = s.unit.Invocation != before.unit.Invocation
		}
		s.judge(p)
		services = append(services, s)
	}
	watch(services, ctx.Done(), func(s *service) { s.lookAgain(ctx, units) })
	for _, s := range services {
		if s.err == nil {
			s.say(p)
		}
	}
}

func (s *service) read(ctx context.Context, units *system.Units) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var err error
	if s.unit, err = units.Read(ctx, s.name()); err != nil {
		return err
	}
	s.enabled, err = units.Enabled(ctx, s.name())
	return err
}

// judge says how the unit is not as declared, by what was read of it.
func (s *service) judge(p *pass) {
	var wrong []string
	want := &s.want
	switch {
	case want.State == declaration.Stopped && !isStopped(s.unit), want.State == declaration.Running && !isRunning(s.unit):
		wrong = append(wrong, activity(s.unit))
	case want.State == declaration.Running && !s.fresh && p.outdated(s):
		wrong = append(wrong, "started before something that it is made from was changed")
	}
	s.idle = len(wrong) > 0
	if s.boot = want.AtBoot() != isEnabled(s.enabled, want.AtBoot()); s.boot {
		wrong = append(wrong, orNone(s.enabled))
	}
	if s.unit.Stale {
		wrong = append(wrong, "its file has changed since systemd read it")
	}
	s.wrong = strings.Join(wrong, ", ")
}

// isEnabled reports whether something starts a unit at boot. For one that should
// not be, until the next boot is too long already.
func isEnabled(state string, wanted bool) bool {
	return state == "enabled" || !wanted && state == "enabled-runtime"
}

func orNone(enabled string) string {
	switch enabled {
	case "":
		return "not there to be enabled"
	case "disabled":
		return "not enabled"
	}
	return enabled
}

// say is what the look has come to.
func (s *service) say(p *pass) {
	note := readNote(s.hold.Note)
	s.found = stand{
		there: s.enabled == "enabled" || isRunning(s.unit) || s.known && s.hold.Origin == keep.TakenOver, same: s.wrong == "", half: true,
		says: s.wrong, todo: advice(s.unit), memory: s,
	}
	if s.wrong != "" || s.want.State != declaration.Running {
		return
	}
	note.invocation, note.inputs, note.restarts = s.unit.Invocation, s.inputs, s.unit.Restarts
	s.hold.Note = note.String()
	p.soonAfter(s.unit)
}

// advice is what to do about a unit that does not run.
func advice(u system.Unit) string {
	switch {
	case u.Load == "not-found":
		return `put its file below "/etc/systemd/system", or install the package that brings it`
	case u.Load == "masked":
		return "systemctl unmask " + u.Name + " makes it one that can be started"
	case u.Load != "loaded":
		return "systemd-analyze verify " + u.Name + " says what is wrong with its file"
	case u.Kind == "oneshot" && !u.Remains && u.Active == "inactive":
		return `it ends when it is done: say RemainAfterExit=yes in its file, or have a timer start it and declare that`
	}
	return "journalctl -u " + u.Name + " says why"
}

// mean refuses what cannot come out as declared, and notes what the host is about
// to have done.
func (services) mean(_ *pass, all []*holding) {
	for _, h := range all {
		s, _ := h.found.memory.(*service)
		if why := s.cannot(); why != "" {
			h.refused(advice(s.unit), "%s", why)
			continue
		}
		if s.want.AtBoot() && s.enabled != "enabled" && !canBeEnabled(s.enabled) {
			h.refused(`say WantedBy=multi-user.target under [Install] in its file, or declare "enabled": false`, "nothing in its file says when it is to be started at boot (%s)", orNone(s.enabled))
			continue
		}
		note := readNote(h.hold.Note)
		note.started = note.started || s.want.State == declaration.Running && !isRunning(s.unit) && (!h.known || h.hold.Origin == keep.Made)
		note.enabled = note.enabled || s.want.AtBoot() && s.enabled != "enabled" && (!h.known || h.hold.Origin == keep.Made)
		h.hold.Note = note.String()
	}
}

func canBeEnabled(state string) bool {
	return slices.Contains([]string{"disabled", "enabled-runtime", "linked", "linked-runtime", "indirect"}, state)
}

// cannot is why nothing that is done to the unit brings it to what is declared.
func (s *service) cannot() string {
	u := s.unit
	switch {
	case u.Name != "" && u.Name != s.name():
		return "it is another name of " + u.Name + ", which is the one to declare"
	case s.want.State == declaration.Stopped && !s.want.AtBoot():
		return ""
	case u.Load == "not-found":
		return "systemd has no such unit"
	case u.Load == "masked":
		return "it is masked: nothing can start it"
	case u.Load != "loaded":
		return "systemd cannot read its file: " + u.LoadError
	case s.want.State == declaration.Running && u.Kind == "oneshot" && !u.Remains:
		return "its Type=oneshot without RemainAfterExit is never running"
	}
	return ""
}

func (services) change(ctx context.Context, p *pass, all []*holding) {
	units, err := p.manager(ctx)
	if err != nil {
		allFailed(all, err)
		return
	}
	stale := false
	each(ctx, serviceLimit, all, func(ctx context.Context, h *holding) error {
		s, _ := h.found.memory.(*service)
		stale = stale || s.unit.Stale || s.boot
		return s.atBoot(ctx, units)
	})
	if stale { // once for all of them
		if err := effect.Do("resource.units.reload", func() error { return units.Reload(ctx) }); err != nil {
			allFailed(all, err)
		}
	}
	bringAll(ctx, units, all)
}

func allFailed(all []*holding, err error) {
	for _, h := range all {
		h.failed(err)
	}
}

// bringAll has the units started or stopped, side by side.
func bringAll(ctx context.Context, units *system.Units, all []*holding) {
	together(ctx, serviceLimit, servicesOnce, all, func(ctx context.Context, h *holding) error {
		s, _ := h.found.memory.(*service)
		if !s.idle {
			return nil
		}
		return s.bring(ctx, units)
	})
}

// atBoot has the unit enabled, or not.
func (s *service) atBoot(ctx context.Context, units *system.Units) error {
	switch {
	case s.boot && s.want.AtBoot():
		return effect.Do("resource.unit.enable", func() error { return units.Enable(ctx, s.name()) })
	case s.boot:
		return effect.Do("resource.unit.disable", func() error { return units.Disable(ctx, s.name()) })
	}
	return nil
}

// bring has the unit started, or stopped.
func (s *service) bring(ctx context.Context, units *system.Units) error {
	name := s.name()
	if s.want.State == declaration.Stopped {
		return stop(ctx, units, s.unit, name)
	}
	if s.unit.Active == "failed" { // or what was started too often could not be started
		if err := effect.Do("resource.unit.reset", func() error { return units.Reset(ctx, name) }); err != nil {
			return err
		}
	}
	var result string
	var err error
	if isRunning(s.unit) {
		err = effect.Do("resource.unit.restart", func() error { result, err = units.Restart(ctx, name); return err })
	} else {
		err = effect.Do("resource.unit.start", func() error { result, err = units.Start(ctx, name); return err })
	}
	if err == nil && result == "dependency" {
		err = fault.New(fault.Conflict, "something that it needs could not be started").With("systemctl list-dependencies %s shows what has failed", name)
	}
	return err // whatever else became of it is read back
}

func stop(ctx context.Context, units *system.Units, u system.Unit, name string) error {
	if isStopped(u) {
		return nil
	}
	var result string
	err := effect.Do("resource.unit.stop", func() (err error) { result, err = units.Stop(ctx, name); return err })
	if err == nil && result != "done" {
		err = fault.New(fault.Conflict, "stop it: systemd says %q", result).With("journalctl -u %s says why", name)
	}
	return err
}

// leave undoes what the host has done: it stops what it has started, and disables
// what it has enabled. They are stopped side by side: which of them ends before which,
// systemd knows.
func (services) leave(ctx context.Context, p *pass, all []*holding) {
	units, err := p.manager(ctx)
	if err != nil {
		allFailed(all, err)
		return
	}
	together(ctx, serviceLimit, servicesOnce, all, func(ctx context.Context, h *holding) error {
		note := readNote(h.hold.Note)
		if !note.started && !note.enabled {
			h.stays = h.hold.Subject + " was as it is before, and stays so"
			return nil
		}
		s := &service{holding: h}
		if err := s.undo(ctx, units, note); err != nil {
			return err
		}
		if err := s.read(ctx, units); err != nil {
			return err
		}
		if note.started && !isStopped(s.unit) || note.enabled && s.enabled == "enabled" {
			return fault.New(fault.Conflict, "it is %s again", activity(s.unit))
		}
		return nil
	})
}

func (s *service) undo(ctx context.Context, units *system.Units, note serviceNote) error {
	if err := s.read(ctx, units); err != nil {
		return err
	}
	if note.enabled && isEnabled(s.enabled, false) {
		if err := effect.Do("resource.unit.release", func() error { return units.Disable(ctx, s.name()) }); err != nil {
			return err
		}
	}
	if !note.started {
		return nil
	}
	return stop(ctx, units, s.unit, s.name())
}
