//go:build meshcrash

package story

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Killed before or after it is written, module.json is there whole or not at
// all, and nothing else is; a second try goes on from there.
func TestAMatterOfOneFileMayBeTheLast(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mesh := filepath.Join(t.TempDir(), "mesh") // by this name the test binary is the program
	if err := os.Symlink(self, mesh); err != nil {
		t.Fatal(err)
	}
	for when, there := range map[string]bool{"before": false, "after": true} {
		dir := filepath.Join(t.TempDir(), "site")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		run := func(crash string) error {
			c := exec.CommandContext(t.Context(), mesh, "module", "init", dir)
			c.Env = append(os.Environ(), "MESH_CRASH="+crash)
			return c.Run()
		}
		if err := run("cli.manifest.write#1:" + when); err == nil {
			t.Errorf("%s: it was not killed", when)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 1 || (len(entries) == 1) != there {
			t.Errorf("%s: %v, %v", when, entries, err)
		}
		if err := run(""); (err == nil) == there {
			t.Errorf("%s: again: %v", when, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "module.json")); err != nil || string(b) != "{\n  \"module\": \"site\"\n}\n" {
			t.Errorf("%s: %q, %v", when, b, err)
		}
	}
}
