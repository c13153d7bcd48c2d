package builder

import (
	"strings"
	"testing"

	"noxmesh/delivery/build"
)

func TestABuildThatFillsTheDiskIsEnded(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	rig.config.Limits.Tree = 16 << 20
	q := repo.request(repo.commit(site(map[string]string{"build.sh": "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero >f$i; sleep 0.01; done\n"})), "")
	a := rig.build(q)
	if a.Outcome != build.OutcomeFailed || a.Step != build.StepBuild || !strings.Contains(a.Why, "16 MiB of the disk") {
		t.Errorf("%s %s: %s", a.Outcome, a.Step, a.Why)
	}
}

// A full disk is the builder's, whatever the command that met it said.
func TestAFullDiskIsNoVerdict(t *testing.T) {
	t.Parallel()
	repo, rig := newRepository(t), newRig(t)
	rig.config.Limits.Free = 1 << 60
	a := rig.build(repo.request(repo.commit(plain()), ""))
	if a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, "the disk is full") {
		t.Errorf("%s %s: %s", a.Outcome, a.Step, a.Why)
	}
	// It was given work all the same: it had said that it wants none.
	rig.controller.mu.Lock()
	defer rig.controller.mu.Unlock()
	if w := rig.controller.works[0]; !strings.Contains(w.Unwell, "the disk is full") || !strings.Contains(w.Unwell, "make room on ") {
		t.Errorf("it asked for work and said %q", w.Unwell)
	}
}
