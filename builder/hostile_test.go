package builder

import (
	"strings"
	"testing"

	"noxmesh/delivery/build"
)

// What a hostile module tries ends in a failure that names the limit, or in
// nothing; and whoever is built next on that builder is built as on a fresh one.
func TestHostileBuildsEndWithinTheirLimits(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	rig.config.Limits = Limits{Memory: 64 << 20, Processes: 48, Tree: 24 << 20, Files: 3000, Log: 4 << 20, FileSize: 8 << 20, Temporary: 8 << 20}
	honest := repo.request(repo.commit(site(map[string]string{"build.sh": strayBuild, "script": "#!/bin/sh\n", "link": "-> motd"})), "")
	fresh := newRig(t)
	fresh.config.Limits = rig.config.Limits
	want := fresh.build(honest)
	if want.Outcome != build.OutcomeBuilt {
		t.Fatalf("%s %s: %s", want.Outcome, want.Step, want.Why)
	}
	stop := rig.start()
	defer stop()
	for _, c := range []struct{ name, script, why string }{
		{"fork bomb", "bomb() { bomb | bomb & }; bomb; sleep 30", "process limit: "},
		{"memory", `perl -e 'my @a; push @a, "x" x 1000000 while 1'`, "memory limit: the build takes more than 64 MiB"},
		{"disk", "i=0; while :; do i=$((i+1)); head -c 4000000 /dev/zero >f$i; done", "disk limit: the build takes more than 24 MiB"},
		{"files", "i=0; while test $i -lt 9000; do i=$((i+1)); : >f$i; done; sleep 30", "disk limit: the build has more than 3000 files"},
		{"one file", "head -c 9000000 /dev/zero >f", "file limit: "},
		{"log", "yes", "log limit: the build says more than 4 MiB"},
		{"its parent", "kill -9 $PPID; kill -9 1; exit 3", "status 3"},
		{"itself and all", "kill -9 -1; kill -9 $$", "signal 9"},
		{"mount", "mount -t tmpfs none /tmp || exit 4", "status 4"},
		{"keys", "cat /proc/1/root" + rig.config.State + "/identity.json || cat " + rig.config.State + "/identity.json || exit 4", "status 4"},
		{"outside", "echo x >/usr/x || echo x >/build/../x || echo x >/etc/passwd || exit 4", "status 4"},
	} {
		q := repo.request(repo.commit(site(map[string]string{"build.sh": "#!/bin/bash\n" + c.script + "\n"})), "")
		rig.ask(q)
		a := rig.controller.wait(q)
		if a.Outcome != build.OutcomeFailed || a.Step != build.StepBuild || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: %s %s: %s", c.name, a.Outcome, a.Step, a.Why)
		}
		if a.LogSize > 2<<20 {
			t.Errorf("%s: a log of %d bytes is kept", c.name, a.LogSize)
		}
	}
	rig.ask(honest)
	if a := rig.controller.wait(honest); a.Build != want.Build || a.Published != want.Published {
		t.Errorf("the next build is %s %s %s, and a fresh builder's is %s: %s", a.Outcome, a.Build.Short(), a.Published.Short(), want.Build.Short(), a.Why)
	}
}

// A module asks for less time, and is held to it; one that asks for more than
// the builder gives is not failed for that.
func TestAModuleAsksForLimits(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	ask := func(text string) build.Request {
		return repo.request(repo.commit(map[string]string{"module.json": `{"module": "site", "build": ` + text + `}`}), "")
	}
	stop := rig.start()
	defer stop()
	for _, c := range []struct {
		q       build.Request
		outcome build.Outcome
		why     string
	}{
		{ask(`{"test": [["sleep", "60"]], "limits": {"time": "1s"}}`), build.OutcomeFailed, "time limit: the build takes longer than 1s"},
		{ask(`{"run": [["true"]], "limits": {"memory": "90000GiB"}}`), build.OutcomeEnvironment, "this builder gives a build at most"},
		{ask(`{"run": [["true"]], "network": true}`), build.OutcomeEnvironment, "this builder gives a build none"},
	} {
		rig.ask(c.q)
		if a := rig.controller.wait(c.q); a.Outcome != c.outcome || !strings.Contains(a.Why, c.why) {
			t.Errorf("%s: %s", a.Outcome, a.Why)
		}
	}
}
