package builder

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/document"
)

// strayBuild writes whatever it can find of its surroundings into the artifact.
const strayBuild = `mkdir dist
{ umask; id; hostname; pwd; env | sort; date +%Z; locale 2>/dev/null; ls -lan --time-style=+%s module.json motd script link; ls /build /home /tmp; echo /proc/[0-9]*; ulimit -a; cat /etc/passwd /etc/hosts; } >dist/seen 2>&1
printf 'x\n' >dist/B; printf 'x\n' >dist/a; printf 'x\n' >'dist/ä'
mkdir dist/empty; chmod 700 dist/a; chmod 600 dist/B; touch -d @1 dist/B
`

// other is the other builder of TestTwoBuildersMakeOneDigest, in a process of
// its own: what it takes and what it answers.
type other struct {
	Request build.Request
	User    uint32
	Answer  build.Answer
}

const otherVariable = "MESH_TEST_OTHER_BUILDER"

// Two builds of one commit, by two builders: other folders, umask, user, time
// zone, locale, environment, and files left open.
func TestTwoBuildersMakeOneDigest(t *testing.T) {
	if path := os.Getenv(otherVariable); path != "" {
		otherBuilder(t, path)
		return
	}
	t.Parallel()
	needsSandbox(t)
	repo := newRepository(t)
	q := repo.request(repo.commit(site(map[string]string{"build.sh": strayBuild, "test.sh": "rm -r dist\n", "script": "#!/bin/sh\n", "link": "-> motd"})), "")
	first := newRig(t).build(q)
	if first.Outcome != build.OutcomeBuilt || first.Tests != build.TestsPassed {
		t.Fatalf("%s %s: %s", first.Outcome, first.Step, first.Why)
	}
	users := []uint32{uint32(os.Geteuid())}
	if os.Geteuid() == 0 {
		users = append(users, 65534)
	}
	for _, user := range users {
		second := elsewhere(t, other{Request: q, User: user})
		if second.Outcome != build.OutcomeBuilt {
			t.Fatalf("as user %d: %s %s: %s", user, second.Outcome, second.Step, second.Why)
		}
		if second.Build != first.Build || second.Content != first.Content || second.Published != first.Published {
			t.Errorf("as user %d: build %s, content %s, published %s; was %s, %s, %s", user,
				second.Build.Short(), second.Content.Short(), second.Published.Short(), first.Build.Short(), first.Content.Short(), first.Published.Short())
		}
	}
}

// elsewhere builds in another process, under as much else as can differ.
func elsewhere(t *testing.T, o other) build.Answer {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "mesh-other-") //nolint:usetesting // t.TempDir is closed to the sandbox's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = removeAll(dir) })
	path := filepath.Join(dir, "order.json")
	body, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, body, 0o666); err != nil {
		t.Fatal(err)
	}
	// The test program lies where only its own user gets.
	program := filepath.Join(dir, "test")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// By a process of its own: a file that is open for writing in this one, in
	// a fork that is under way, could not be run.
	if out, err := exec.CommandContext(t.Context(), "cp", self, program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, mode := range map[string]os.FileMode{path: 0o666, program: 0o755, dir: 0o777} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `umask 077; exec 7</dev/null; exec "$0" -test.run '^TestTwoBuildersMakeOneDigest$' -test.count=1`, program)
	cmd.Dir = dir
	cmd.Env = []string{
		otherVariable + "=" + path, "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir,
		"TZ=Pacific/Chatham", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "SOURCE_DATE_EPOCH=77", "CC=evil",
	}
	if os.Geteuid() == 0 && o.User != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: o.User, Gid: o.User}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the other builder, as user %d: %v\n%s", o.User, err, out)
	}
	if body, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatal(err)
	}
	return o.Answer
}

func otherBuilder(t *testing.T, path string) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var o other
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatal(err)
	}
	o.Answer = newRig(t).build(o.Request)
	if body, err = json.Marshal(o); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What tests change in the tree, and what a build changes of the files that
// resources name, comes into nothing that is published.
func TestWhatRunsLaterChangesNothingThatIsPublished(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	good := repo.request(repo.commit(site(nil)), "")
	bad := repo.request(repo.commit(site(map[string]string{"test.sh": "echo worse >dist/index.html; echo x >dist/more; echo worse >motd; rm module.json; exit 0\n"})), "")
	a, b := rig.build(good), rig.build(bad)
	if a.Outcome != build.OutcomeBuilt || a.Content != b.Content {
		t.Errorf("content %s, and with tests that write %s (%s)", a.Content.Short(), b.Content.Short(), b.Why)
	}
	build2 := site(nil)["build.sh"] + "echo worse >motd\n"
	c := rig.build(repo.request(repo.commit(site(map[string]string{"build.sh": build2})), ""))
	if a.Content != c.Content {
		t.Errorf("content %s, and with a build that writes to from %s (%s)", a.Content.Short(), c.Content.Short(), c.Why)
	}
	if a.Build == b.Build {
		t.Error("two commits are one build")
	}
}

// TM4: a build that tries everything, and the next one is byte-equal.
func TestAHostileBuildLeavesNothingToTheNext(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	files := site(map[string]string{"build.sh": strayBuild, "script": "#!/bin/sh\n", "link": "-> motd"})
	commit := repo.commit(files)
	first := rig.build(repo.request(commit, ""))
	hostile := repo.commit(site(map[string]string{"build.sh": `
touch /tmp/left /home/build/left /dev/shm/left /build/../left
echo evil >>/etc/passwd; echo evil >/usr/local/bin/sh
mkdir -p "$HOME/.config/git"; echo '[core]' >"$HOME/.config/git/config"
setsid sh -c 'while :; do touch /build/alive /tmp/alive; done' >/dev/null 2>&1 &
mkdir -m 0 locked; mkdir dist; touch dist/x; chmod u+s dist/x
ls /proc/1/root /proc/*/environ >>dist/x; cat /proc/*/environ >>dist/x; env >>dist/x
kill -9 -1
`}))
	h := repo.request(hostile, "")
	rig.build(h)
	again := repo.request(commit, "")
	again.Attempt = 2
	again = identified(t, again)
	second := rig.build(again)
	if first.Outcome != build.OutcomeBuilt || first.Build != second.Build || first.Published != second.Published {
		t.Errorf("%s before, %s after (%s %s)", first.Build, second.Build, second.Outcome, second.Why)
	}
	for _, name := range []string{"/tmp/left", "/dev/shm/left", "/left"} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%q was left on this machine", name)
		}
	}
}

// TB4: nothing of the builder's own is anywhere in what a build can see.
func TestABuildSeesNoKeyAndNoAddressOfTheMesh(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	q := repo.request(repo.commit(site(map[string]string{"build.sh": `mkdir dist
{ env; cat /proc/*/environ /proc/*/cmdline /proc/mounts /proc/self/mountinfo /proc/net/*; ls -laR / 2>/dev/null --ignore=usr --ignore=proc --ignore=sys; } | tr '\0' '\n' >dist/index.html 2>/dev/null
cat dist/index.html
true
`, "test.sh": "true\n"})), "")
	a := rig.build(q)
	if a.Outcome != build.OutcomeBuilt {
		t.Fatalf("%s %s: %s", a.Outcome, a.Step, a.Why)
	}
	s := state{rig.config.State}
	me, _, err := s.member()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(s.path(ownFile))
	if err != nil {
		t.Fatal(err)
	}
	log := rig.controller.logOf(q)
	if !strings.Contains(log, "SOURCE_DATE_EPOCH") {
		t.Fatalf("it looked at nothing:\n%s", log)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for what, secret := range map[string]string{
		"its key": strings.Split(string(own), `"`)[9], "the registry's secret": testSecret, "its id": me.Builder, "the mesh": me.Mesh,
		"the registry": strings.TrimPrefix(rig.registry.server.URL, "http://"), "joined.json": joinedFile, "the machine's name": " " + host,
	} {
		_, seen, _ := strings.Cut(log, "$ sh build.sh")
		seen, _, _ = strings.Cut(seen, "== pack")
		if secret == "" || strings.Contains(seen, secret) {
			t.Errorf("a build saw %s (%q)", what, secret)
		}
	}
}

// One builder after the other from the same state, as after an upgrade.
func TestTheDigestOfNothingButFiles(t *testing.T) {
	t.Parallel()
	repo := newRepository(t)
	q := repo.request(repo.commit(plain()), "")
	a, b := newRig(t).build(q), newRig(t).build(q)
	if a.Build == "" || a.Build != b.Build || a.Published != b.Published {
		t.Errorf("%s and %s", a.Build, b.Build)
	}
	if want := document.Sum([]byte("welcome\n")); a.Manifest.Resources[0].Digest != want {
		t.Errorf("the file is %s, want %s", a.Manifest.Resources[0].Digest, want)
	}
}
