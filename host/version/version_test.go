package version_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/host/version"
	"noxmesh/internal/fault"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// installed is a machine with version 2 of the host installed, and nothing confirmed.
func installed(t *testing.T) (dir, state string, two *version.Versions) {
	t.Helper()
	dir, state = t.TempDir(), t.TempDir()
	put(t, filepath.Join(dir, "versions/2/mesh-host"), "two")
	must(t, os.Symlink("versions/2", filepath.Join(dir, "installed")))
	return dir, state, version.Here(dir, state, "2", filepath.Join(dir, "versions/2/mesh-host"))
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o755))
}

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestTheVersionThatIsConfirmedIsKept(t *testing.T) {
	t.Parallel()
	dir, state, two := installed(t)
	if two.Confirmed() != "" || two.IsConfirmed() || two.Installed() != "2" {
		t.Errorf("confirmed is %q, installed %q", two.Confirmed(), two.Installed())
	}
	if err := two.Sound(); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("nothing is confirmed, and there is something to go back to: %v", err)
	}
	put(t, filepath.Join(state, "failures"), "1 signal killed SEGV\n2 exit-code exited 1\n2 timeout killed KILL\n")
	put(t, filepath.Join(dir, "kept/1/mesh-host"), "one")
	for range 2 { // done again, it is the same
		must(t, two.Confirm())
		must(t, two.Sound())
		if two.Confirmed() != "2" || list(t, filepath.Join(dir, "kept")) != "2" || list(t, filepath.Join(dir, "kept/2")) != "digest mesh-host" {
			t.Errorf("confirmed is %q, kept %q", two.Confirmed(), list(t, filepath.Join(dir, "kept")))
		}
		text, err := os.ReadFile(filepath.Join(state, "failures"))
		if err != nil || string(text) != "1 signal killed SEGV\n" {
			t.Errorf("%q, %v", text, err)
		}
	}
	// The package may take its own away: what is kept is a copy, and is looked at before it is needed.
	must(t, os.WriteFile(filepath.Join(dir, "kept/2/mesh-host"), []byte("rotten"), 0o755))
	must(t, two.Sound())
	if text, err := os.ReadFile(filepath.Join(dir, "kept/2/mesh-host")); err != nil || string(text) != "two" {
		t.Errorf("%q, %v", text, err)
	}
	must(t, os.Chmod(filepath.Join(dir, "kept/2/mesh-host"), 0o600))
	must(t, two.Sound())
	must(t, os.Remove(filepath.Join(dir, "versions/2/mesh-host")))
	must(t, two.Sound())
	must(t, os.Remove(filepath.Join(dir, "kept/2/mesh-host")))
	if err := two.Sound(); err == nil || !strings.Contains(err.Error(), `keep version "2" of the host to go back to`) {
		t.Errorf("there is nothing to go back to: %v", err)
	}
}

func TestWhyAVersionIsRefused(t *testing.T) {
	t.Parallel()
	_, state, two := installed(t)
	why, err := two.Refused("3")
	if why != "" || err != nil {
		t.Errorf("%q, %v", why, err)
	}
	for line, want := range map[string]string{
		"3 exit-code exited 203":  "it could not be started",
		"3 exit-code exited EXEC": "it could not be started",
		"3 exit-code exited 1":    "it ended with 1",
		"3 protocol exited 0":     "it ended with 0",
		"3 core-dump dumped SEGV": "it was ended by SIGSEGV",
		"3 timeout killed KILL":   "it did not get so far in time",
		"3 watchdog killed ABRT":  "it stood still",
		"3 resources":             "resources",
		"3":                       "it ended",
		"3 oom-kill killed \x00":  "it was ended by SIG\x00",
	} {
		put(t, filepath.Join(state, "failures"), "33 signal killed BUS\n3 x\n\n3 x\n"+line+"\n")
		if why, err := two.Refused("3"); why != want || err != nil {
			t.Errorf("%q: %q, %v", line, why, err)
		}
		put(t, filepath.Join(state, "failures"), "3 x\n4 x\n"+line+"\n")
		if why, err := two.Refused("3"); why != "" || err != nil {
			t.Errorf("twice is three times: %q, %v", why, err)
		}
	}
}
