package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

// between is a git that does something else first, where it is called with this word.
func between(t *testing.T, word, does string) func(*Config) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\ncase \" $* \" in *\" " + word + " \"*) " + does + " ;; esac\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Binary = path }
}

// What a machine has no room, no memory or no time for says nothing about the
// repository: it is asked again, and nobody is told that a commit is gone.
func TestABusyMachineIsNoFaultOfTheCommit(t *testing.T) {
	t.Parallel()
	r := newForge(t).repo("site", map[string]string{"a.txt": "a"})
	first := r.git("rev-parse", "HEAD")
	head := r.commit("second", map[string]string{"a.txt": "b"})
	for name, c := range map[string]struct{ word, does string }{
		"killed at a look":      {"rev-parse", "kill -9 $$"},
		"killed at the writing": {"checkout-index", "kill -9 $$"},
		"no room":               {"checkout-index", "echo 'error: unable to write file a.txt: No space left on device' >&2; exit 128"},
		"a disk that fails":     {"checkout-index", "echo 'error: unable to write file a.txt: Input/output error' >&2; exit 128"},
		"no process":            {"read-tree", "echo 'fatal: unable to create thread: Resource temporarily unavailable' >&2; exit 128"},
		"no memory":             {"rev-parse", "echo 'fatal: Out of memory, malloc failed' >&2; exit 128"},
		"no file to open":       {"rev-parse", "echo 'error: unable to open ./objects: Too many open files' >&2; exit 128"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGit(t, between(t, c.word, c.does))
			_, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: head}, filepath.Join(t.TempDir(), "w"))
			if fault.KindOf(err) != fault.Unavailable || errors.Is(err, NoCommit) {
				t.Errorf("a checkout: %v: %v", fault.KindOf(err), err)
			}
			if c.word == "rev-parse" {
				if descent, err := g.Descends(t.Context(), Place{URL: r.url}, head, first); fault.KindOf(err) != fault.Unavailable || errors.Is(err, NoCommit) {
					t.Errorf("a descent: %q, %v: %v", descent, fault.KindOf(err), err)
				}
			}
		})
	}
	t.Run("a tree that cannot be", func(t *testing.T) {
		t.Parallel()
		g := newGit(t, between(t, "checkout-index", "echo 'error: unable to create file x: File name too long' >&2; exit 128"))
		_, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: head}, filepath.Join(t.TempDir(), "w"))
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v: %v", fault.KindOf(err), err)
		}
	})
	t.Run("somebody holds its errors", func(t *testing.T) {
		t.Parallel()
		g := newGit(t, between(t, "checkout-index", "sleep 60 >/dev/null &"))
		dir := filepath.Join(t.TempDir(), "w")
		if _, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: head}, dir); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(b) != "b" {
			t.Errorf("a.txt holds %q, %v", strings.TrimSpace(string(b)), err)
		}
	})
}
