package controller

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	mesh "noxmesh"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/source"
	"noxmesh/internal/git"
)

// BenchmarkReadModule is the first look at a module of 1,000 files of real Go, in
// a repository with as much beside it: fetched, read out of git and parsed, with
// the processor time of git on both sides; then one at a commit that leaves the
// module's folder as it was. The limit is git's fetch of one commit with all that
// it holds, and its tree.
func BenchmarkReadModule(b *testing.B) {
	const files = 1000
	dir := b.TempDir()
	bytes := plantGo(b, filepath.Join(dir, "module"), files)
	if err := os.CopyFS(filepath.Join(dir, "other"), os.DirFS(filepath.Join(dir, "module"))); err != nil {
		b.Fatal(err)
	}
	unlike(b, filepath.Join(dir, "other"))
	run := func(args ...string) {
		b.Helper()
		cmd := exec.CommandContext(b.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run("init", "-q", "-b", "main")
	run("add", ".")
	run("commit", "-qm", "first")
	run("gc", "-q")
	c := newController(Default())
	forge, err := git.New(git.Config{Home: b.TempDir(), Allow: git.Allow{Folders: []string{dir}}})
	if err != nil {
		b.Fatal(err)
	}
	c.git = forge
	m := mesh.Module{Name: "big", Repository: "file://" + dir, Folder: "module"}
	var first source.Source
	b.Run("limit", func(b *testing.B) {
		head, err := forge.LsRemote(b.Context(), m.Repository, "")
		if err != nil {
			b.Fatal(err)
		}
		measured(b, func() {
			into := b.TempDir()
			err := forge.Fetch(b.Context(), m.Repository, head.Commit, "", into)
			if err == nil {
				_, err = forge.Tree(b.Context(), into, head.Commit, m.Folder)
			}
			if err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("first", func(b *testing.B) {
		each := measured(b, func() {
			seen, err := c.see(b.Context(), m, source.Source{})
			if err != nil || seen.State != source.Read || len(seen.Code.Says.Found()["go"].Imports) < 100 {
				b.Fatalf("%s %s, %d imports, %v", seen.State, seen.Why, len(seen.Code.Says.Found()["go"].Imports), err)
			}
			first = source.Look(source.Source{}, seen, time.Unix(1e9, 0))
		})
		b.ReportMetric(float64(bytes)/1e6, "MB")
		if each > time.Second {
			b.Errorf("%s of processor time: the goal is a second", each)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "beside"), nil, 0o600); err != nil {
		b.Fatal(err)
	}
	run("add", ".")
	run("commit", "-qm", "beside")
	b.Run("unchanged", func(b *testing.B) {
		measured(b, func() {
			seen, err := c.see(b.Context(), m, first)
			if err != nil || seen.Commit == first.Commit || seen.Code.Key != first.Code.Key || imports.Key("", "", "") == seen.Code.Key {
				b.Fatalf("%s %s %v", seen.State, seen.Why, err)
			}
		})
	})
}

// unlike makes every file here another one.
func unlike(b *testing.B, dir string) {
	b.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		slices.Reverse(text)
		return os.WriteFile(p, text, 0o600)
	})
	if err != nil {
		b.Fatal(err)
	}
}

// measured is the least processor time of one call, of this process and what it
// has started.
func measured(b *testing.B, f func()) (best time.Duration) {
	b.Helper()
	spent := func() time.Duration {
		var u syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) != nil {
			return 0
		}
		return used() + time.Duration(u.Utime.Nano()+u.Stime.Nano())
	}
	for b.Loop() {
		before := spent()
		f()
		if took := spent() - before; best == 0 || took < best {
			best = took
		}
	}
	b.ReportMetric(float64(best.Nanoseconds())/1e6, "cpu-ms/read")
	return best
}

// plantGo copies files of Go's own library into a module of their own.
func plantGo(b *testing.B, to string, files int) (bytes int) {
	b.Helper()
	root, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("go is not here: %v", err)
	}
	from := filepath.Join(strings.TrimSpace(string(root)), "src")
	left := files
	err = filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil || left == 0 || !strings.HasSuffix(p, ".go") || strings.Contains(p, "/testdata/") || strings.Contains(p, "/vendor/") {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o750); err != nil {
			return err
		}
		left, bytes = left-1, bytes+len(text)
		return os.WriteFile(filepath.Join(to, rel), text, 0o600)
	})
	if err != nil || left > 0 {
		b.Skipf("Go's own library is not here whole: %v, %d files are missing", err, left)
	}
	for name, text := range map[string]string{"go.mod": "module example.org/big\n\ngo 1.26\n", "module.json": `{"module": "big"}`} {
		if err := os.WriteFile(filepath.Join(to, name), fmt.Append(nil, text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return bytes
}
