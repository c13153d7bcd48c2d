package host

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/report"
)

func service(id, unit, state string, restartOn ...string) declaration.Resource {
	return declaration.Resource{ID: "m/" + id, Type: declaration.Service, Traits: &declaration.Traits{Unit: unit, State: state, RestartOn: restartOn}}
}

func notAtBoot(r declaration.Resource) declaration.Resource {
	no := false
	r.Enabled = &no
	return r
}

// unit puts the file of a unit on the machine, by another hand than the host's.
func (r *real) unit(t testing.TB, name string, lines ...string) {
	t.Helper()
	text := "[Service]\n" + strings.Join(lines, "\n") + "\n[Install]\nWantedBy=multi-user.target\n"
	if strings.HasPrefix(lines[0], "[") {
		text = strings.Join(lines, "\n") + "\n"
	}
	r.sh(t, "cat >/etc/systemd/system/%s <<'END'\n%sEND", name, text)
}

// row is one line of the truth table: a unit, and what is said of it when it is
// declared to run, and when it is looked at once more.
type row struct {
	name  string
	lines []string // of its file; none: there is no file
	first string
	then  string
	stops bool // it is declared to be stopped
}

func rows() []row {
	const (
		why  = "; journalctl -u %s says why)"
		back = `failed (read back "service %s": it is not as declared: `
	)
	notSo := func(name, what string) string {
		return fmt.Sprintf(back, name) + what + fmt.Sprintf(why, name)
	}
	bad := func(name, what string) row { return row{name: name, first: notSo(name, what)} }
	with := func(r row, lines ...string) row { r.lines = lines; return r }
	good := func(name string, lines ...string) row {
		return row{name: name, lines: lines, first: "changed", then: "ok"}
	}
	return []row{
		good("simple.service", "ExecStart=sleep 600"),
		good("exec.service", "Type=exec", "ExecStart=sleep 600"),
		good("forking.service", "Type=forking", `ExecStart=sh -c "sleep 600 & exit 0"`),
		good("notify.service", "Type=notify", "NotifyAccess=all", `ExecStart=sh -c "systemd-notify --ready; exec sleep 600"`),
		good("remains.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=true"),
		good("template@one.service", "ExecStart=sleep 600"),
		good("tick.timer", "[Timer]", "OnCalendar=daily", "Unit=simple.service", "[Install]", "WantedBy=timers.target"),
		good("knock.socket", "[Socket]", "ListenStream=/run/knock", "[Install]", "WantedBy=sockets.target"),
		{name: "knock.service", lines: []string{"[Service]", "ExecStart=sleep 600"}, first: "ok", then: "ok", stops: true},
		{name: "nowhere.service", first: "ok", then: "ok", stops: true},
		with(bad("ends.service", "stopped: its main process ended with 0 at once"), "ExecStart=true"),
		with(bad("three.service", "failed: its main process ended with 3 at once"), `ExecStart=sh -c "exit 3"`),
		with(bad("signal.service", "failed: its main process was ended by signal 9 at once"), `ExecStart=sh -c "kill -9 $$$$"`),
		with(bad("hides.service", "active without a process: its main process ended with 0 at once"), "RemainAfterExit=yes", "ExecStart=true"),
		with(bad("silent.service", "failed: it took longer than its file allows"), "Type=notify", "TimeoutStartSec=1", "ExecStart=sleep 600"),
		with(bad("mute.service", "failed: it ended or went on without saying that it is ready, as Type=notify must"), "Type=notify", "ExecStart=true"),
		with(bad("fails.service", "failed: its main process ended with 1 at once"), "Type=oneshot", "RemainAfterExit=yes", "ExecStart=false"),
		with(bad("loop.service", "started again and again: its main process ended with 1 at once"), "Restart=always", "RestartSec=60", "ExecStart=false"),
		with(bad("often.service", "failed: it was started too often in a row"), "[Unit]", "StartLimitBurst=3", "[Service]", "Restart=always", "RestartSec=1ms", "ExecStart=true", "[Install]", "WantedBy=multi-user.target"),
		with(bad("unless.service", "stopped: a condition in its file is not met"), "[Unit]", "ConditionPathExists=/nowhere", "[Service]", "ExecStart=sleep 600", "[Install]", "WantedBy=multi-user.target"),
		{
			name: "once.service", lines: []string{"Type=oneshot", "ExecStart=true"},
			first: `failed (change "service once.service": its Type=oneshot without RemainAfterExit is never running; it ends when it is done: say RemainAfterExit=yes in its file, or have a timer start it and declare that)`,
		},
		{
			name:  "missing.service",
			first: `failed (change "service missing.service": systemd has no such unit; put its file below "/etc/systemd/system", or install the package that brings it)`,
		},
		{
			name:  "masked.service",
			first: `failed (change "service masked.service": it is masked: nothing can start it; systemctl unmask masked.service makes it one that can be started)`,
		},
		{
			name: "wrong.service", lines: []string{"ExecStart=relative/path"},
			first: `failed (change "service wrong.service": systemd cannot read its file: Unit wrong.service has a bad unit file setting.; systemd-analyze verify wrong.service says what is wrong with its file)`,
		},
		{
			name: "static.service", lines: []string{"[Service]", "ExecStart=sleep 600"},
			first: `failed (change "service static.service": nothing in its file says when it is to be started at boot (static); say WantedBy=multi-user.target under [Install] in its file, or declare "enabled": false)`,
		},
		{
			name:  "alias.service",
			first: `failed (change "service alias.service": it is another name of simple.service, which is the one to declare; journalctl -u simple.service says why)`,
		},
		{
			name: "needs.service", lines: []string{"[Unit]", "Requires=fails.service", "After=fails.service", "[Service]", "ExecStart=sleep 600", "[Install]", "WantedBy=multi-user.target"},
			first: `failed (change "service needs.service": something that it needs could not be started; systemctl list-dependencies needs.service shows what has failed)`,
		},
	}
}

func TestServicesOnAMachine(t *testing.T) {
	t.Parallel()
	r := boots(t)
	r.turn(t, "truth", func(t *testing.T) { r.truth(t) })
	r.turn(t, "fails after a while", func(t *testing.T) { r.failsLater(t) })
	r.turn(t, "restarted", func(t *testing.T) { r.restarted(t) })
	r.turn(t, "drift", func(t *testing.T) { r.driftOfServices(t) })
	r.turn(t, "what was there stays", func(t *testing.T) { r.servicesThatWere(t) })
	r.turn(t, "side by side", func(t *testing.T) { r.servicesTogether(t) })
	r.turn(t, "killed anywhere", func(t *testing.T) { r.servicesKilled(t) })
}

// truth declares all of the table at once, looks again, and takes it all away.
func (r *real) truth(t *testing.T) {
	var all []declaration.Resource
	var first, then []string
	for _, row := range rows() {
		id := strings.NewReplacer(".", "-", "@", "-").Replace(row.name)
		state := declaration.Running
		if row.stops {
			state = declaration.Stopped
		}
		if len(row.lines) > 0 {
			r.unit(t, strings.Replace(row.name, "@one", "@", 1), row.lines...)
		}
		all = append(all, service(id, row.name, state))
		first = append(first, id+" "+row.first)
		if row.then != "" {
			then = append(then, id+" "+row.then)
		}
	}
	r.sh(t, "ln -s /dev/null /etc/systemd/system/masked.service; ln -s simple.service /etc/systemd/system/alias.service; systemctl daemon-reload")
	// A machine that is busy may be slow to end what ends at once: then it is looked at again.
	want := strings.Join(first, "\n") + "\n"
	rep, _ := r.apply(t, all)
	for range 3 {
		if timeless(rep) != want {
			rep, _ = r.apply(t, all)
		}
	}
	if got := strings.ReplaceAll(timeless(rep), " ok\n", " changed\n"); got != strings.ReplaceAll(want, " ok\n", " changed\n") {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	good := all[:len(then)]
	rep, _ = r.apply(t, good)
	for _, c := range []string{"apt", "keeps-group", "keeps-package", "keeps-service", "keeps-user", "systemd"} {
		if rep.Facts == nil || !slices.Contains(rep.Facts.Capabilities, c) {
			t.Errorf("the machine says of itself %+v, and not %q", rep.Facts, c)
		}
	}
	var got []string
	for _, res := range rep.Resources {
		if res.State != report.StateRemoved {
			got = append(got, strings.TrimPrefix(res.ID, "m/")+" "+string(res.State))
		}
	}
	if strings.Join(got, "\n") != strings.Join(then, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(then, "\n"))
	}
	r.apply(t, nil)
	if got := r.sh(t, "systemctl list-units --plain --no-legend --state=active,activating simple* exec* forking* notify* remains* template@* tick* knock* loop* | cat; cd /etc/systemd/system; ls multi-user.target.wants timers.target.wants sockets.target.wants 2>/dev/null | grep -E 'simple|knock|tick|template' | cat"); got != "" {
		t.Errorf("there is still\n%s", got)
	}
	r.sh(t, "cd /etc/systemd/system && rm -f *.service *.socket *.timer; systemctl daemon-reload; systemctl reset-failed")
}

// timeless is the sketch of a report without how long anything took.
func timeless(rep report.Report) string {
	return regexp.MustCompile(` after \d+ s`).ReplaceAllString(sketch(rep), " at once")
}

// failsLater is a service that outlives the first look, and is then watched for
// longer: the next one ends after what had been enough.
func (r *real) failsLater(t *testing.T) {
	r.unit(t, "later.service", `ExecStart=sh -c "if [ -e /run/later ]; then sleep 3; else while [ ! -e /run/later ]; do sleep 0.1; done; fi; exit 7"`)
	all := list(service("later", "later.service", declaration.Running))
	r.says(t, all, "later changed")
	r.sh(t, "sleep 6; touch /run/later; for i in $(seq 300); do systemctl is-failed -q later && exit; sleep 0.1; done; exit 1")
	rep, _ := r.apply(t, all)
	if got, want := timeless(rep), `later failed (read back "service later.service": it is not as declared: failed: its main process ended with 7 at once; journalctl -u later.service says why)`+"\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if found := rep.Resources[0].Found; !regexp.MustCompile(`^failed: its main process ended with 7 after \d+ s$`).MatchString(found) {
		t.Error(found)
	}
	r.says(t, nil, "later removed")
	r.sh(t, "rm /etc/systemd/system/later.service; systemctl daemon-reload; systemctl reset-failed")
}

// reads is a service that says with which configuration it was started.
func reads(conf, unit string) []declaration.Resource {
	return list(
		textFile("conf", "/etc/app.conf", conf),
		textFile("unit", "/etc/systemd/system/app.service", "[Service]\nExecStartPre=cp /etc/app.conf /run/app.seen\nExecStart=sleep 600\n#"+unit+"\n[Install]\nWantedBy=multi-user.target\n"),
		service("run", "app.service", declaration.Running, "m/conf", "m/unit"),
	)
}

func (r *real) restarted(t *testing.T) {
	pid := func() string {
		t.Helper()
		return r.sh(t, "systemctl show -P MainPID app.service; cat /run/app.seen")
	}
	r.says(t, reads("one", ""), "conf changed", "unit changed", "run changed")
	first := pid()
	r.says(t, reads("one", ""), "conf ok", "unit ok", "run ok")
	if now := pid(); now != first || !strings.HasSuffix(now, "one") {
		t.Errorf("%q, then %q", first, now)
	}
	// A kill between the change and the restart does not lose it.
	if _, killed := r.apply(t, reads("two", ""), "MESH_CRASH=resource.unit.restart#1:before"); !killed || pid() != first {
		t.Errorf("killed %v: %q, then %q", killed, first, pid())
	}
	rep := r.says(t, reads("two", ""), "conf ok", "unit ok", "run changed")
	if now := pid(); now == first || !strings.HasSuffix(now, "two") || rep.Resources[2].Found != "started before something that it is made from was changed" {
		t.Errorf("%q, then %q: %+v", first, now, rep.Resources[2])
	}
	// Its own file counts, and systemd has read it.
	r.says(t, reads("two", "x"), "conf ok", "unit changed", "run changed")
	if got := r.sh(t, "systemctl show -P NeedDaemonReload app.service"); got != "no" {
		t.Errorf("systemd has not read the file: %s", got)
	}
	// Somebody else's start of what is there is as good as the host's, and known from then on.
	r.sh(t, "sleep 0.1; systemctl restart app.service; sleep 0.1")
	second := pid()
	for range 2 {
		r.says(t, reads("two", "x"), "conf ok", "unit ok", "run ok")
	}
	if now := pid(); now != second {
		t.Errorf("%q, then %q", second, now)
	}
	// What has drifted and is put back is no reason, unless the process was started meanwhile.
	r.sh(t, "echo drift >/etc/app.conf")
	r.says(t, reads("two", "x"), "conf changed", "unit ok", "run ok")
	if now := pid(); now != second {
		t.Errorf("%q, then %q", second, now)
	}
	r.sh(t, "echo drift >/etc/app.conf; systemctl restart app.service; sleep 0.1")
	r.says(t, reads("two", "x"), "conf changed", "unit ok", "run changed")
	if now := pid(); !strings.HasSuffix(now, "two") {
		t.Errorf("it runs from %q", now)
	}
	r.says(t, nil, "conf removed", "run removed", "unit removed")
	if got := r.sh(t, "systemctl show -P ActiveState app.service; ls /etc/systemd/system/multi-user.target.wants | grep app | cat"); got != "inactive" {
		t.Error(got)
	}
}

func (r *real) driftOfServices(t *testing.T) {
	r.unit(t, "drifts.service", "ExecStart=sleep 600")
	all := list(service("run", "drifts.service", declaration.Running))
	r.says(t, all, "run changed")
	r.sh(t, "systemctl stop drifts.service; systemctl disable -q drifts.service")
	rep := r.says(t, all, "run changed")
	if res := rep.Resources[0]; !strings.HasPrefix(res.Found, "stopped") || !strings.HasSuffix(res.Found, ", not enabled") || !res.Fixed {
		t.Errorf("%+v", res)
	}
	report := service("run", "drifts.service", declaration.Running)
	report.Drift = declaration.DriftReport
	r.says(t, list(report), "run ok")
	r.sh(t, "systemctl disable -q drifts.service")
	r.says(t, list(report), "run differs [not enabled]")
	r.says(t, list(service("run", "drifts.service", declaration.Stopped)), "run changed")
	r.says(t, list(service("run", "drifts.service", declaration.Stopped)), "run ok")
	r.says(t, nil, "run removed")
	r.sh(t, "rm /etc/systemd/system/drifts.service; systemctl daemon-reload")
}

func (r *real) servicesThatWere(t *testing.T) {
	r.unit(t, "was.service", "ExecStart=sleep 600")
	r.unit(t, "half.service", "ExecStart=sleep 600")
	r.sh(t, "systemctl daemon-reload; systemctl enable -q --now was.service; systemctl start half.service; sleep 0.1")
	all := list(service("was", "was.service", declaration.Running), notAtBoot(service("half", "half.service", declaration.Running)))
	r.says(t, all, "was ok", "half ok")
	r.says(t, nil, "half removed [service half.service was as it is before, and stays so]", "was removed [service was.service was as it is before, and stays so]")
	if got := r.sh(t, "systemctl is-active was half; systemctl is-enabled was half | cat"); got != "active\nactive\nenabled\ndisabled" {
		t.Error(got)
	}
	// Of what ran, the host takes back no more than that it is started at boot.
	all[1] = service("half", "half.service", declaration.Running)
	r.says(t, all, "was ok", "half changed")
	r.says(t, nil, "half removed", "was removed [service was.service was as it is before, and stays so]")
	if got := r.sh(t, "systemctl is-active was half; systemctl is-enabled was half | cat"); got != "active\nactive\nenabled\ndisabled" {
		t.Error(got)
	}
	r.sh(t, "systemctl disable -q --now was.service half.service; rm /etc/systemd/system/was.service /etc/systemd/system/half.service; systemctl daemon-reload")
}

// servicesTogether is services of which each waits for all the others, when it starts and
// when it ends: one after another they would come to nothing.
func (r *real) servicesTogether(t *testing.T) {
	const n = 6
	r.sh(t, `cat >/usr/local/bin/meets <<'END'
#!/bin/sh
touch "/run/$1.$2"
until [ "$(ls /run/$1.* | wc -l)" -ge %d ]; do sleep 0.05; done
END
chmod +x /usr/local/bin/meets`, n)
	r.unit(t, "meets@.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=meets here %i", "ExecStop=meets gone %i", "TimeoutStopSec=60")
	var all []declaration.Resource
	var changed, removed []string
	for i := range n {
		id := fmt.Sprint("s", i)
		all = append(all, service(id, fmt.Sprintf("meets@%d.service", i), declaration.Running))
		changed, removed = append(changed, id+" changed"), append(removed, id+" removed")
	}
	r.says(t, all, changed...)
	r.says(t, nil, removed...)
	if got := r.sh(t, "ls /run/here.* /run/gone.* | wc -l; for i in $(seq 0 %d); do systemctl show -P Result meets@$i.service; done | sort -u", n-1); got != fmt.Sprint(2*n, "\nsuccess") {
		t.Errorf("they did not meet: %s", got)
	}
	r.sh(t, "rm /run/here.* /run/gone.* /usr/local/bin/meets /etc/systemd/system/meets@.service; systemctl daemon-reload; systemctl reset-failed")
}

// servicesKilled is about a oneshot that remains: nothing is watched, and all else is the same.
func (r *real) servicesKilled(t *testing.T) {
	app := func(conf, more, state string) []declaration.Resource {
		run := service("run", "app.service", state, "m/conf", "m/unit")
		if state == declaration.Stopped {
			run = service("run", "app.service", state)
			run.After = []string{"m/unit"}
		}
		return list(
			textFile("conf", "/etc/app.conf", conf),
			textFile("unit", "/etc/systemd/system/app.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=sh -c 'cat /etc/app.conf >>/run/app.seen'\n#"+more+"\n[Install]\nWantedBy=multi-user.target\n"),
			run,
		)
	}
	facts := func(t testing.TB) string {
		return r.sh(t, "systemctl is-active app.service; systemctl is-enabled app.service 2>&1; systemctl show -P NeedDaemonReload -P LoadState app.service; cat /etc/app.conf 2>/dev/null; [ -e /etc/systemd/system/app.service ] || rm -f /run/app.seen; tail -c3 /run/app.seen 2>/dev/null | cat")
	}
	r.sweep(t, []string{"resource.unit"}, facts, app("one", "", declaration.Running), app("two", "x", declaration.Running))
	r.sweep(t, []string{"resource.unit.stop", "resource.unit.disable"}, facts, app("one", "", declaration.Running), app("one", "", declaration.Stopped))
	t.Run("what had failed", func(t *testing.T) {
		r.unit(t, "app.service", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=test -e /run/app.may")
		all := list(service("run", "app.service", declaration.Running))
		for _, point := range []string{"resource.unit.reset#1:before", "resource.unit.reset#1:after"} {
			r.sh(t, "systemctl start app.service 2>/dev/null; touch /run/app.may")
			if _, killed := r.apply(t, all, "MESH_CRASH="+point); !killed {
				t.Errorf("%s: it was not killed", point)
			}
			r.says(t, all, "run changed")
			r.says(t, nil, "run removed")
			r.sh(t, "rm /run/app.may; systemctl stop app.service")
		}
		r.sh(t, "rm /etc/systemd/system/app.service; systemctl daemon-reload; systemctl reset-failed")
	})
}
