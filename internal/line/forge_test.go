package line

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/git/gitserve"
	"noxmesh/internal/machine"
)

// files are a tree: text by path. An empty text removes the file.
type files map[string]string

// forge is real repositories, served over http on this machine.
type forge struct {
	t    testing.TB
	dir  string // bare repositories are in served/, work trees in work/
	base string
	home string
}

func newForge(t testing.TB, on *machine.Net) *forge {
	t.Helper()
	f := &forge{t: t, dir: t.TempDir(), home: t.TempDir()}
	f.base = serve(t, on, "127.0.0.1", gitserve.Handler(filepath.Join(f.dir, "served")))
	for _, d := range []string{"served", "work"} {
		if err := os.Mkdir(filepath.Join(f.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// serve answers http until the test ends: at an address where the bridge is, or on
// loopback here where there is none.
func serve(t testing.TB, on *machine.Net, at string, h http.Handler) (address string) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	if on != nil {
		must(t, server.Listener.Close())
		var err error
		server.Listener, err = on.Listen(t.Context(), at)
		must(t, err)
	}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func (f *forge) bare(name string) string { return filepath.Join(f.dir, "served", name+".git") }
func (f *forge) work(name string) string { return filepath.Join(f.dir, "work", name) }
func (f *forge) url(name string) string  { return f.base + "/" + name + ".git" }

// empty makes a repository without a commit, and gives its address.
func (f *forge) empty(name string) string {
	f.t.Helper()
	f.git(f.dir, "init", "-q", "--bare", "-b", "main", f.bare(name))
	f.git(f.bare(name), "config", "uploadpack.allowFilter", "true") // as the large forges do
	f.git(f.dir, "init", "-q", "-b", "main", f.work(name))
	f.git(f.work(name), "remote", "add", "origin", f.bare(name))
	return f.url(name)
}

// repository makes one with a first commit, and gives its address and the commit.
func (f *forge) repository(name string, tree files) (address, commit string) {
	f.t.Helper()
	address = f.empty(name)
	return address, f.commit(name, tree)
}

// commit writes the files, commits and pushes, and gives the commit.
func (f *forge) commit(name string, tree files) string {
	f.t.Helper()
	for path, text := range tree {
		full := filepath.Join(f.work(name), path)
		if text == "" {
			if err := os.Remove(full); err != nil {
				f.t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			f.t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			f.t.Fatal(err)
		}
	}
	f.git(f.work(name), "add", "-A")
	f.git(f.work(name), "commit", "-q", "--allow-empty", "-m", "change")
	f.git(f.work(name), "push", "-q", "--force", "origin", "HEAD:main")
	return f.git(f.work(name), "rev-parse", "HEAD")
}

func (f *forge) git(dir string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
