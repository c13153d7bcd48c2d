package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// station is a machine of which there is nothing but the folders of the host, and a
// service manager that does what ours is told to.
type station struct {
	t    *testing.T
	dir  string
	hook string
}

// killed is a line of the hook that ends it the first time that it comes there.
const killed = "mkdir \"$here/killed\" 2>/dev/null && kill -9 $$\n"

// places is after which lines of the hook it can be killed.
func places(t *testing.T) []int {
	t.Helper()
	text, err := debian.ReadFile("debian/hook")
	must(t, err)
	var all []int
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasSuffix(line, "; do") && !strings.HasPrefix(line, "while") || line == "case $1 in" || line == ";;" || line == "esac" {
			continue
		}
		all = append(all, i)
	}
	return all
}

// newStation has version 1 confirmed and version 2 installed. The hook is killed
// once after this line of it, or never where it is negative.
func newStation(t *testing.T, after int) *station {
	t.Helper()
	s := &station{t: t, dir: t.TempDir()}
	for _, name := range []string{"versions/2", "kept/1", "state"} {
		must(t, os.MkdirAll(filepath.Join(s.dir, name), 0o755))
	}
	for _, name := range []string{"versions/2", "kept/1"} {
		must(t, os.WriteFile(filepath.Join(s.dir, name, "mesh-host"), nil, 0o755))
	}
	s.link("installed", "versions/2")
	s.link("confirmed", "kept/1")
	s.link("runs", "versions/2")
	text, err := debian.ReadFile("debian/hook")
	must(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	if after >= 0 {
		lines = slices.Insert(lines, after+1, killed)
	}
	script := strings.Join(lines, "")
	script = strings.Replace(script, "here=/usr/lib/nox-mesh-host", "here="+s.dir, 1)
	script = strings.Replace(script, "state=/var/lib/mesh-host", "state="+s.dir+"/state", 1)
	s.hook = filepath.Join(s.dir, "hook")
	must(t, os.WriteFile(s.hook, []byte(script), 0o755))
	return s
}

func (s *station) link(name, to string) {
	s.t.Helper()
	must(s.t, os.Symlink(to, filepath.Join(s.dir, name)))
}

func (s *station) runs() string {
	to, err := os.Readlink(filepath.Join(s.dir, "runs"))
	must(s.t, err)
	return to
}

// call runs the hook, as systemd does, which takes no notice of how it ends.
func (s *station) call(env []string, args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "sh", append([]string{s.hook}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		s.t.Fatalf("%v: %s", err, out)
	}
}

// once is one start and one end of the service, and what was started.
func (s *station) once(result string) string {
	s.t.Helper()
	s.call(nil, "choose")
	ran := s.runs()
	s.call([]string{"SERVICE_RESULT=" + result, "EXIT_CODE=exited", "EXIT_STATUS=1"}, "ended")
	return ran
}

func (s *station) wasKilled() bool {
	_, err := os.Stat(filepath.Join(s.dir, "killed"))
	return err == nil
}

// Wherever the hook is killed, a version that fails is left for good after as many
// starts as ever, or one more, and the one that was confirmed is left by nothing.
func TestTheHookGoesBackOnceWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	reached := 0
	for _, line := range append(places(t), -1) {
		s := newStation(t, line)
		var ran []string
		for range 6 {
			ran = append(ran, s.once("exit-code"))
		}
		if s.wasKilled() {
			reached++
		}
		back := slices.Index(ran, "kept/1")
		if back < 3 || back > 4 || back == 4 && !s.wasKilled() || slices.Contains(ran[back:], "versions/2") {
			t.Errorf("killed after line %d: it ran %q", line+1, ran)
		}
		if got := s.once("success"); got != "kept/1" {
			t.Errorf("killed after line %d: then it ran %q", line+1, got)
		}
	}
	if reached < 8 {
		t.Errorf("the hook was killed at %d places only", reached)
	}
}

// What is stopped in order is no failure, nor is what befalls a version that is
// confirmed; what is not there, or has nothing before it, is not gone back from.
func TestWhatIsNoReasonToGoBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(s *station)
		result  string
		runs    string
	}{
		"stopped": {func(*station) {}, "success", "versions/2"},
		"confirmed": {func(s *station) {
			must(s.t, os.RemoveAll(filepath.Join(s.dir, "confirmed")))
			s.link("confirmed", "kept/2")
		}, "watchdog", "versions/2"},
		"nothing confirmed": {func(s *station) { must(s.t, os.RemoveAll(filepath.Join(s.dir, "confirmed"))) }, "exit-code", "versions/2"},
		"the kept is gone":  {func(s *station) { must(s.t, os.RemoveAll(filepath.Join(s.dir, "kept/1"))) }, "exit-code", "versions/2"},
		"not unpacked yet":  {func(s *station) { must(s.t, os.RemoveAll(filepath.Join(s.dir, "versions/2"))) }, "success", "kept/1"},
	} {
		s := newStation(t, -1)
		c.prepare(s)
		for i := range 5 {
			if got := s.once(c.result); got != c.runs {
				t.Errorf("%s: start %d is of %q, want %q", name, i, got, c.runs)
			}
		}
	}
}

// Another version has its own count, and one that is installed once more begins anew.
func TestEachVersionIsCountedByItself(t *testing.T) {
	t.Parallel()
	s := newStation(t, -1)
	for range 5 {
		s.once("signal")
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "state/failures"))
	must(t, err)
	if want := strings.Repeat("2 signal exited 1\n", 3); string(text) != want {
		t.Errorf("counted is %q", text)
	}
	must(t, os.Rename(filepath.Join(s.dir, "versions/2"), filepath.Join(s.dir, "versions/22")))
	must(t, os.Remove(filepath.Join(s.dir, "installed")))
	s.link("installed", "versions/22")
	if got := s.once("success"); got != "versions/22" {
		t.Errorf("another version: it ran %q", got)
	}
	for range 4 {
		s.once("timeout")
	}
	s.call(nil, "anew", "22")
	if got := s.once("success"); got != "versions/22" {
		t.Errorf("installed once more: it ran %q", got)
	}
	text, err = os.ReadFile(filepath.Join(s.dir, "state/failures"))
	must(t, err)
	if want := strings.Repeat("2 signal exited 1\n", 3); string(text) != want {
		t.Errorf("what is left is %q", text)
	}
}

// Two packages of one program are the same bytes, and no word that is not a version
// makes a path or a line of its own.
func TestThePackageIsReproducible(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "mesh-host")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755))
	var bodies []string
	for range 2 {
		to := t.TempDir()
		name, err := release(t.Context(), program, "1.4.2", "linux/arm64", to)
		must(t, err)
		if name != filepath.Join(to, "nox-mesh-host_1.4.2_arm64.deb") {
			t.Error(name)
		}
		body, err := os.ReadFile(name)
		must(t, err)
		bodies = append(bodies, string(body))
	}
	if bodies[0] != bodies[1] {
		t.Error("two packages of one program differ")
	}
	for _, version := range []string{"", "v1", "1:2", "1/2", "../1", "1 2", "1_2"} {
		if _, err := release(t.Context(), program, version, "linux/amd64", t.TempDir()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q is not a version", version)) {
			t.Errorf("%q: %v", version, err)
		}
	}
}
