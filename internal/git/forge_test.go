package git

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/git/gitserve"
	"noxmesh/internal/manners"
)

// forge is a folder of real repositories, served over http on loopback.
type forge struct {
	t    *testing.T
	root string
	url  string
}

func newForge(t *testing.T) *forge {
	t.Helper()
	root := t.TempDir()
	srv := httptest.NewServer(gitserve.Handler(root))
	t.Cleanup(srv.Close)
	return &forge{t, root, srv.URL}
}

func newGit(t *testing.T, change func(*Config)) *Git {
	t.Helper()
	cfg := Config{Home: t.TempDir()}
	if change != nil {
		change(&cfg)
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g.manners = manners.New(1000) // tests look at their forge side by side
	return g
}

// onlyGit asks git for everything.
func onlyGit(t *testing.T, change func(*Config)) *Git {
	t.Helper()
	g := newGit(t, change)
	g.web = nil
	return g
}

type maker func(*testing.T, func(*Config)) *Git

// eachWay runs a test with forges that are asked by the mesh itself, and by git:
// the answers are the same.
func eachWay(t *testing.T, test func(*testing.T, maker)) {
	t.Helper()
	for name, way := range map[string]maker{"asked by us": newGit, "asked by git": onlyGit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, way)
		})
	}
}

// repo is one repository with a work tree; it is served as NAME/.git.
type repo struct {
	t   *testing.T
	dir string
	url string
}

func (f *forge) repo(name string, files map[string]string) *repo {
	f.t.Helper()
	r := &repo{f.t, filepath.Join(f.root, name), f.url + "/" + name + "/.git"}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		f.t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	r.git("config", "uploadpack.allowFilter", "true") // as the large forges do
	if files != nil {
		r.commit("first", files)
	}
	return r
}

// git runs git in the repository as its author would.
func (r *repo) git(args ...string) string { r.t.Helper(); return r.gitIn("", args...) }

func (r *repo) gitIn(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LANG=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes the files and commits everything.
func (r *repo) commit(message string, files map[string]string) string {
	r.t.Helper()
	for name, content := range files {
		p := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A", "-f")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.git("rev-parse", "HEAD")
}

// object stores content as a git object of this kind, however wrong it is.
func (r *repo) object(kind, content string) string {
	r.t.Helper()
	return r.gitIn(content, "hash-object", "-w", "--stdin", "--literally", "-t", kind)
}

// commitTree makes a branch a commit of exactly this tree.
func (r *repo) commitTree(branch, tree string) string {
	r.t.Helper()
	c := r.git("commit-tree", "-m", "made by hand", tree)
	r.git("update-ref", branch, c)
	return c
}

// rawTree is a tree object with these entries in this order.
func (r *repo) rawTree(entries ...rawEntry) string {
	r.t.Helper()
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.mode + " " + e.name + "\x00")
		for i := 0; i < len(e.id); i += 2 {
			hi, lo := strings.IndexByte("0123456789abcdef", e.id[i]), strings.IndexByte("0123456789abcdef", e.id[i+1])
			b.WriteByte(byte(hi<<4 | lo))
		}
	}
	return r.object("tree", b.String())
}

type rawEntry struct{ mode, name, id string }
