package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

// fileLimit is how much of one file is read here.
const fileLimit = 4 << 20

// goFiles wants Go's files in the folder, and go.work and go.mod above it.
func goFiles(path string, above bool) bool {
	if above {
		return path == "go.work" || path == "go.mod"
	}
	return strings.HasSuffix(path, ".go") || path == "go.mod"
}

func list(files []File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s=%s%s ", f.Path, f.Text, f.Link)
	}
	return b.String()
}

// look is a look that must find something.
func look(t *testing.T, g *Git, p Place, known Known) Found {
	t.Helper()
	found, err := g.Look(t.Context(), p, known)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCodeIsReadInTheFolderAndAboveIt(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("mono", map[string]string{
			"module.json": "{}", "go.work": "W", "go.mod": "R", "main.go": "root", "other.txt": "x", "a/go.mod": "A", "a/a.go": "a", "a/b:c/go.work": "inner",
			"a/b:c/d/module.json": "{}", "a/b:c/d/go.mod": "D", "a/b:c/d/d.go": "d", "a/b:c/d/e/e.go": "e", "a/b:c/d/e/go.mod": "no", "a/b:c/x/x.go": "x", "a/go.work/no.go": "a folder",
		})
		if err := os.Symlink("../go.work", filepath.Join(r.dir, "a/b:c/go.mod")); err != nil {
			t.Fatal(err)
		}
		r.git("add", "-A")
		r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",a/b:c/d/sub.go")
		r.git("commit", "-q", "-m", "link and submodule")
		for folder, want := range map[string]string{
			"":        "a/a.go=a a/b:c/d/d.go=d a/b:c/d/e/e.go=e a/b:c/x/x.go=x a/go.work/no.go=a folder go.mod=R main.go=root ",
			"a/b:c/d": "a/b:c/d/d.go=d a/b:c/d/e/e.go=e a/b:c/d/go.mod=D a/b:c/go.mod=../go.work a/b:c/go.work=inner a/go.mod=A go.mod=R go.work=W ",
		} {
			found := look(t, g, Place{URL: r.url, Folder: folder}, Known{Wants: goFiles, FileLimit: fileLimit})
			if got := list(found.Files); got != want || found.Code == "" {
				t.Errorf("%q: key %q\n%s\nwant\n%s", folder, found.Code, got, want)
			}
		}
		if found := look(t, g, Place{URL: r.url}, Known{}); found.Code != "" || found.Files != nil {
			t.Errorf("nothing was wanted: %+v", found)
		}
		if found := look(t, g, Place{URL: r.url, Folder: "a"}, Known{Wants: goFiles, FileLimit: fileLimit}); found.Manifest != nil || found.Code != "" || found.Files != nil {
			t.Errorf("what is no module is not read: %+v", found)
		}
	})
}

// TestCodeIsReadOnceForOneTree: the key is the folder's tree and what is wanted
// above it, and nothing else of the commit.
func TestCodeIsReadOnceForOneTree(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("mono", map[string]string{"go.work": "W", "a/module.json": "{}", "a/a.go": "a", "b/b.go": "b"})
		p := Place{URL: r.url, Folder: "a"}
		first := look(t, g, p, Known{Wants: goFiles, FileLimit: fileLimit})
		if list(first.Files) != "a/a.go=a go.work=W " {
			t.Fatal(list(first.Files))
		}
		known := Known{Commit: first.Commit, Code: first.Code, Wants: goFiles, FileLimit: fileLimit}
		for what, c := range map[string]struct {
			files map[string]string
			moves bool
		}{
			"1: another folder":             {map[string]string{"b/b.go": "b2"}, false},
			"2: beside it, not wanted":      {map[string]string{"README": "x"}, false},
			"3: wanted above":               {map[string]string{"go.work": "W2"}, true},
			"4: one more above":             {map[string]string{"go.mod": "M"}, true},
			"5: in the folder":              {map[string]string{"a/a.go": "a2"}, true},
			"6: in the folder, not wanted":  {map[string]string{"a/README": "x"}, true}, // its tree is another
			"7: what is not a file of ours": {map[string]string{"c/go.mod": "x"}, false},
		} {
			r.git("checkout", "-q", "-f", "-B", "main", first.Commit)
			commit := r.commit(what, c.files)
			found := look(t, g, p, known)
			if found.Commit != commit || found.Unchanged || (found.Code != known.Code) != c.moves || (found.Files != nil) != c.moves || (found.Manifest != nil) != c.moves || found.Kept == c.moves {
				t.Errorf("%s: key %q, was %q, %d files", what, found.Code, known.Code, len(found.Files))
			}
		}
		r.git("checkout", "-q", "-f", "-B", "main", first.Commit)
		r.git("mv", "go.work", "go.mod")
		r.commit("under another name", nil)
		if found := look(t, g, p, known); found.Code == known.Code || list(found.Files) != "a/a.go=a go.mod=W " {
			t.Errorf("the same bytes under another name: %q, %s", found.Code, list(found.Files))
		}
		r.git("checkout", "-q", "-f", "-B", "main", first.Commit)
		if found := look(t, g, p, known); !found.Unchanged || found.Files != nil || found.Code != "" {
			t.Errorf("the known commit: %+v", found)
		}
	})
}

// TestCodeOfASHA256Repository has longer ids, and the same files.
func TestCodeOfASHA256Repository(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("wide", nil)
		if err := os.RemoveAll(filepath.Join(r.dir, ".git")); err != nil {
			t.Fatal(err)
		}
		r.git("init", "-q", "--object-format=sha256", "-b", "main")
		commit := r.commit("first", map[string]string{"go.work": "W", "a/module.json": "{}", "a/a.go": "a"})
		found := look(t, g, Place{URL: r.url, Folder: "a"}, Known{Wants: goFiles, FileLimit: fileLimit})
		if found.Commit != commit || len(commit) != 64 || list(found.Files) != "a/a.go=a go.work=W " || !strings.HasPrefix(found.Code, r.git("rev-parse", "HEAD:a")) {
			t.Fatalf("%+v %s", found, list(found.Files))
		}
		r.commit("second", map[string]string{"b/b.go": "b"})
		if again := look(t, g, Place{URL: r.url, Folder: "a"}, Known{Commit: commit, Code: found.Code, Wants: goFiles, FileLimit: fileLimit}); again.Files != nil || again.Code != found.Code {
			t.Fatalf("%+v", again)
		}
	})
}

// TestCodeHasLimits: of a large file its beginning is read, so that it can be told
// from one that is whole; and a folder with too much is refused before it is read.
func TestCodeHasLimits(t *testing.T) {
	t.Parallel()
	f, g := newForge(t), newGit(t, nil)
	r := f.repo("big", map[string]string{"module.json": "{}", "empty.go": "", "last.go": "last", "just.go": strings.Repeat("j", fileLimit), "large.go": strings.Repeat("l", 3*fileLimit)})
	found := look(t, g, Place{URL: r.url}, Known{Wants: goFiles, FileLimit: fileLimit})
	sizes := map[string]int{}
	for _, file := range found.Files {
		sizes[file.Path] = len(file.Text)
	}
	if len(sizes) != 4 || sizes["empty.go"] != 0 || sizes["just.go"] != fileLimit || sizes["large.go"] != fileLimit+1 || sizes["last.go"] != 4 {
		t.Fatalf("%v", sizes)
	}
	large := r.git("rev-parse", "HEAD:large.go")
	var index strings.Builder
	for i := range codeLimit/(3*fileLimit) + 1 {
		fmt.Fprintf(&index, "100644 blob %s\tcopy%d.go\n", large, i)
	}
	r.gitIn(index.String(), "update-index", "--add", "--index-info")
	r.git("commit", "-q", "-m", "too much")
	if _, err := g.Look(t.Context(), Place{URL: r.url}, Known{Wants: goFiles, FileLimit: fileLimit}); !errors.Is(err, TooBig) || fault.KindOf(err) != fault.Invalid {
		t.Fatalf("kind %v: %v", fault.KindOf(err), err)
	}
}
