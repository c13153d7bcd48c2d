package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

func TestLookReadsCommitTreeAndFile(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("site", map[string]string{"module.json": `{"module":"site"}`, "services/board/module.json": `{"module":"board"}`})
		head := r.git("rev-parse", "HEAD")
		p, known := Place{URL: r.url}, ""
		found, err := g.Look(t.Context(), p, Known{Commit: known})
		if err != nil {
			t.Fatal(err)
		}
		if found.Ref != "refs/heads/main" || found.Commit != head || found.Tree != r.git("rev-parse", "HEAD^{tree}") ||
			string(found.Manifest) != `{"module":"site"}` || found.Unchanged {
			t.Fatalf("%+v", found)
		}
		p.Folder = "services/board"
		if found, err = g.Look(t.Context(), p, Known{Commit: known}); err != nil || found.Tree != r.git("rev-parse", "HEAD:services/board") || string(found.Manifest) != `{"module":"board"}` {
			t.Fatalf("%+v %v", found, err)
		}
		known = head
		if found, err = g.Look(t.Context(), p, Known{Commit: known}); err != nil || !found.Unchanged || found.Tree != "" {
			t.Fatalf("%+v %v", found, err)
		}
		next := r.commit("second", map[string]string{"services/board/module.json": `{"module":"b2"}`})
		if found, err = g.Look(t.Context(), p, Known{Commit: known}); err != nil || found.Commit != next || string(found.Manifest) != `{"module":"b2"}` {
			t.Fatalf("%+v %v", found, err)
		}
		left, err := os.ReadDir(g.tmp)
		if err != nil || len(left) != 0 {
			t.Fatalf("left behind: %v %v", left, err)
		}
	})
}

func TestLsRemoteNamesEveryState(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("site", map[string]string{"module.json": "{}"})
		head := r.git("rev-parse", "HEAD")
		r.git("tag", "-a", "v1", "-m", "v1")
		r.git("tag", "light")
		empty := f.repo("empty", nil)
		unborn := f.repo("unborn", map[string]string{"a": "a"})
		unborn.git("symbolic-ref", "HEAD", "refs/heads/nothing")
		decoy := f.repo("decoy", map[string]string{"a": "a"})
		decoy.git("update-ref", "refs/heads/x/refs/heads/main", "HEAD")
		decoy.git("update-ref", "refs/remotes/o/HEAD", "HEAD")
		decoy.git("branch", "-m", "main", "trunk")
		detached := f.repo("detached", map[string]string{"a": "a"})
		detached.git("checkout", "-q", "--detach")
		detached.git("branch", "-D", "main")
		cases := []struct {
			name, url, ref string
			want           Head
			kind           fault.Kind
			cause          error
		}{
			{name: "default", url: r.url, want: Head{"refs/heads/main", head}},
			{name: "branch", url: r.url, ref: "refs/heads/main", want: Head{"refs/heads/main", head}},
			{name: "annotated tag", url: r.url, ref: "refs/tags/v1", want: Head{"refs/tags/v1", head}},
			{name: "light tag", url: r.url, ref: "refs/tags/light", want: Head{"refs/tags/light", head}},
			{name: "commit", url: r.url, ref: head, want: Head{head, head}},
			{name: "renamed default", url: decoy.url, want: Head{"refs/heads/trunk", decoy.git("rev-parse", "HEAD")}},
			{name: "detached", url: detached.url, want: Head{"HEAD", detached.git("rev-parse", "HEAD")}},
			{name: "no branch", url: r.url, ref: "refs/heads/gone", kind: fault.NotFound, cause: NoRef},
			{name: "a longer name is another", url: decoy.url, ref: "refs/heads/main", kind: fault.NotFound, cause: NoRef},
			{name: "empty", url: empty.url, kind: fault.NotFound, cause: Empty},
			{name: "empty, branch", url: empty.url, ref: "refs/heads/main", kind: fault.NotFound, cause: Empty},
			{name: "default names nothing", url: unborn.url, kind: fault.NotFound, cause: NoRef},
			{name: "no repository", url: f.url + "/none.git", kind: fault.NotFound, cause: NoRepository},
			{name: "nobody there", url: "http://127.0.0.1:1/x.git", kind: fault.Unavailable},
			{name: "bad ref", url: r.url, ref: "--output=x", kind: fault.Invalid},
			{name: "bad url", url: "ext::sh -c true", kind: fault.Invalid},
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				got, err := g.LsRemote(t.Context(), c.url, c.ref)
				if c.kind == fault.Unknown {
					if err != nil || got != c.want {
						t.Fatalf("%+v %v, want %+v", got, err, c.want)
					}
					return
				}
				if fault.KindOf(err) != c.kind || (c.cause != nil && !errors.Is(err, c.cause)) {
					t.Fatalf("kind %v: %v", fault.KindOf(err), err)
				}
			})
		}
	})
}

func TestCheckoutWritesExactlyTheFolder(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("site", map[string]string{"a.txt": "root", "board/run.sh": "#!/bin/sh\n", "board/sub/b.txt": "b\r\n", "board/.gitignore": "sub\n"})
		if err := os.Chmod(filepath.Join(r.dir, "board/run.sh"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../etc/passwd", filepath.Join(r.dir, "board/link")); err != nil {
			t.Fatal(err)
		}
		r.git("add", "board")
		r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",board/dep")
		r.git("commit", "-q", "-m", "more")
		old := r.git("rev-parse", "HEAD")
		r.commit("later", map[string]string{"board/run.sh": "later"})

		dir := filepath.Join(t.TempDir(), "work")
		got, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: old, Ref: "refs/heads/main", Folder: "board"}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if got.Tree != r.git("rev-parse", old+":board") || len(got.Submodules) != 1 || got.Submodules[0] != "dep" {
			t.Fatalf("%+v", got)
		}
		var names []string
		err = filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
			rel, _ := filepath.Rel(dir, p)
			names = append(names, rel)
			return err
		})
		if err != nil || strings.Join(names, " ") != ". .gitignore dep link run.sh sub sub/b.txt" {
			t.Fatalf("%q %v", names, err)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, "run.sh")); string(b) != "#!/bin/sh\n" {
			t.Fatalf("run.sh is of another commit: %q", b)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, "sub/b.txt")); string(b) != "b\r\n" {
			t.Fatalf("bytes were changed: %q", b)
		}
		if st, _ := os.Stat(filepath.Join(dir, "run.sh")); st.Mode()&0o100 == 0 {
			t.Fatalf("mode %v", st.Mode())
		}
		if to, _ := os.Readlink(filepath.Join(dir, "link")); to != "../../etc/passwd" {
			t.Fatalf("link to %q", to)
		}
		if _, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: old}, dir); fault.KindOf(err) != fault.Conflict {
			t.Fatalf("into a full folder: %v", err)
		}
	})
}

func TestCheckoutNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("site", map[string]string{"a.txt": "a"})
		head := r.git("rev-parse", "HEAD")
		cases := []struct {
			name  string
			order Order
			kind  fault.Kind
			cause error
		}{
			{"commit", Order{URL: r.url, Commit: strings.Repeat("1", 40)}, fault.NotFound, NoCommit},
			{"folder", Order{URL: r.url, Commit: head, Folder: "b"}, fault.NotFound, NoFolder},
			{"folder is a file", Order{URL: r.url, Commit: head, Folder: "a.txt"}, fault.NotFound, NoFolder},
			{"tree for a commit", Order{URL: r.url, Commit: r.git("rev-parse", "HEAD^{tree}")}, fault.NotFound, NoCommit},
			{"short commit", Order{URL: r.url, Commit: head[:12]}, fault.Invalid, nil},
			{"folder goes up", Order{URL: r.url, Commit: head, Folder: "../x"}, fault.Invalid, nil},
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				_, err := g.Checkout(t.Context(), c.order, filepath.Join(t.TempDir(), "d"))
				if fault.KindOf(err) != c.kind || (c.cause != nil && !errors.Is(err, c.cause)) {
					t.Fatalf("kind %v: %v", fault.KindOf(err), err)
				}
			})
		}
	})
}
