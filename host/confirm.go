package host

import (
	"fmt"

	"noxmesh/internal/clock"
	"noxmesh/report"
)

// begin says how the version that runs stands here. One that its package has put
// there, and that has not completed a pass yet, is said to be confirming; any other
// is ready from the start.
func (r *runner) begin() {
	r.sys.OnStep(r.pulse.beat)
	v := r.cfg.Versions
	if v == nil || v.IsConfirmed() {
		r.pulse.confirm("version " + r.cfg.Version)
		r.settle()
		return
	}
	r.unconfirmed = true
	r.cfg.Log.Info("this version is new here", "version", v.Own(), "confirmed", v.Confirmed())
	r.pulse.say("version " + v.Own() + " is confirming: it has not completed one reconcile here")
	if err := r.confirming(); err != nil {
		r.cfg.Log.Warn("say that this version is confirming", "version", v.Own(), "why", err)
	}
}

// settle ends what the version that runs was killed in when it was confirmed.
func (r *runner) settle() {
	if r.cfg.Versions == nil {
		return
	}
	if err := r.cfg.Versions.Settle(); err != nil { // it is tried again by the next start, and by the next upgrade
		r.cfg.Log.Warn("let go of other versions of the host", "why", err)
	}
}

// confirming is the report of a version that has read nothing back yet.
func (r *runner) confirming() error {
	d, tuple := r.member.wanted()
	if tuple == none {
		return nil
	}
	now := clock.Now().UnixMilli()
	r.mu.Lock()
	rep, err := r.keepReport(report.Report{
		Format: report.Format, Mesh: d.Mesh, Node: d.Node, Boot: r.boot, Accepted: tuple, Applied: r.state.Applied,
		Host: r.cfg.Version, Cause: report.CauseStart, Began: now, Ended: now, Outcome: report.OutcomeConfirming,
		Trouble: r.state.Trouble, Modules: d.Body.Modules, Resources: []report.Resource{},
	})
	r.mu.Unlock()
	if rep.Sequence > 0 {
		r.toBeTold(rep)
	}
	return err
}

// completed is the end of a pass, with what came of it. The first one confirms the
// version that runs, whatever came of it: what is declared may be wrong, the link may
// be down, and no other version would know better.
func (r *runner) completed(status string) {
	if r.unconfirmed {
		if err := r.cfg.Versions.Confirm(); err != nil { // the next pass tries again
			r.cfg.Log.Warn("confirm this version", "why", err)
		} else {
			r.unconfirmed = false
			r.cfg.Log.Info("confirmed", "version", r.cfg.Version)
		}
	}
	r.pulse.confirm("version " + r.cfg.Version + ": " + status)
}

// summary is a report in a few words.
func summary(rep report.Report) string {
	wrong := 0
	for _, res := range rep.Resources {
		if res.Error != "" || res.State == report.StateDiffers {
			wrong++
		}
	}
	return fmt.Sprintf("%s %d/%d, %d of %d not as declared", rep.Outcome, rep.Accepted.Epoch, rep.Accepted.Generation, wrong, len(rep.Resources))
}
