package gitserve

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestServesToReadAndNotToWrite(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	srv := httptest.NewServer(Handler(root))
	defer srv.Close()
	must := func(dir string, args ...string) string {
		out, err := git(t, dir, args...)
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return out
	}
	repo := filepath.Join(root, "a/site")
	must(root, "init", "-q", "-b", "main", repo)
	must(repo, "commit", "-q", "--allow-empty", "-m", "first")
	clone := filepath.Join(t.TempDir(), "clone")
	must(root, "clone", "-q", srv.URL+"/a/site/.git", clone)
	if must(clone, "rev-parse", "HEAD") != must(repo, "rev-parse", "HEAD") {
		t.Fatal("another commit was served")
	}
	must(clone, "commit", "-q", "--allow-empty", "-m", "second")
	if out, err := git(t, clone, "push", "-q", "origin", "main:new"); err == nil {
		t.Fatalf("a push went through: %s", out)
	}
	must(repo, "config", "http.receivepack", "true") // what the repository itself says does not count
	if out, err := git(t, clone, "push", "-q", "origin", "main:new"); err == nil {
		t.Fatalf("a push went through: %s", out)
	}
	for _, path := range []string{"/../etc", "/a/../../etc", "/%2e%2e/etc", "/none.git"} {
		if out, err := git(t, root, "ls-remote", srv.URL+path); err == nil {
			t.Errorf("%s: %s", path, out)
		}
	}
}
