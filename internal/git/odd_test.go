package git

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

// TestACheckoutIsByteForByteTheTree, whatever the repository's attributes want:
// what is built depends on nothing but the tree.
func TestACheckoutIsByteForByteTheTree(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	r := f.repo("site", nil)
	lines := "one\ntwo\n"
	all := map[string]string{
		".gitattributes": "*.crlf text eol=crlf\n*.auto text=auto eol=crlf\n*.crlf1 crlf\n*.ident ident\n*.utf16 text working-tree-encoding=UTF-16\n" +
			"*.lfs filter=lfs diff=lfs merge=lfs -text\nsecret.txt export-ignore\nversion.txt export-subst\n*.bin binary\n[attr]mine text eol=crlf\n*.mine mine\n",
		"a.crlf": lines, "b.crlf": "one\r\ntwo\r\n", "a.auto": lines, "a.crlf1": lines, "a.mine": lines,
		"a.ident": "$Id$ $Id: old $\n", "a.utf16": "zażółć\n", "a.bin": "\x00\r\n\n\r",
		"a.lfs":       "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
		"secret.txt":  "it is exported all the same\n",
		"version.txt": "$Format:%H$ by $Format:%an$\n", "sub/.gitattributes": "* eol=crlf text\n", "sub/a": lines, "sub/deep/b": lines,
	}
	r.git("config", "core.autocrlf", "false")
	var made strings.Builder // past every filter of the author's git
	for path, text := range all {
		made.WriteString("100644 blob " + r.object("blob", text) + "\t" + path + "\n")
	}
	r.gitIn(made.String(), "update-index", "--add", "--index-info")
	head := r.commitTree("refs/heads/main", r.git("write-tree"))
	dir := filepath.Join(t.TempDir(), "w")
	if _, err := newGit(t, nil).Checkout(t.Context(), Order{URL: r.url, Commit: head}, dir); err != nil {
		t.Fatal(err)
	}
	for path, text := range all {
		got, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil || string(got) != text {
			t.Errorf("%s is %q, %v, and was committed as %q", path, got, err, text)
		}
	}
}

// TestASubmoduleIsNoSource: it is another repository, and what is at its path is
// neither read nor guessed; that it moves is a move.
func TestASubmoduleIsNoSource(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("site", map[string]string{"board/module.json": "{}", ".gitmodules": "[submodule \"x\"]\n\tpath = board/dep\n\turl = ../other/.git\n"})
		trees := map[string]bool{}
		for _, commit := range []string{strings.Repeat("1", 40), strings.Repeat("2", 40)} {
			r.git("update-index", "--add", "--cacheinfo", "160000,"+commit+",board/dep")
			r.git("commit", "-q", "-m", "dep")
			for folder, want := range map[string]bool{"": true, "board": true, "board/dep": false, "board/dep/sub": false} {
				found, err := g.Look(t.Context(), Place{URL: r.url, Folder: folder}, Known{Wants: func(string, bool) bool { return true }, FileLimit: fileLimit})
				if err != nil || want == (found.Cause == NoFolder) {
					t.Errorf("%q: %+v %v", folder, found, err)
				}
				for _, file := range found.Files {
					if strings.HasPrefix(file.Path, "board/dep") {
						t.Errorf("%q is read", file.Path)
					}
				}
				if want {
					trees[found.Tree] = true
				}
			}
		}
		if len(trees) != 4 {
			t.Errorf("a submodule that moved is no move: %v", trees)
		}
	})
}

// TestNamesThatAreNotUTF8 and case twins are files like any other.
func TestNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("site", nil)
		files := map[string]string{
			"module.json": "{}", "caf\xe9.txt": "latin", "\xff\xfe": "none", "d\xe9/x": "in a folder", "README": "upper", "readme": "lower",
			"Board/module.json": `{"module":"upper"}`, "board/module.json": `{"module":"lower"}`, "tab\tand \"quotes\"": "odd", "e\u0301": "two", "\u00e9": "one",
		}
		head := r.commit("first", files)
		found, err := g.Look(t.Context(), Place{URL: r.url}, Known{Wants: func(string, bool) bool { return true }, FileLimit: fileLimit})
		if err != nil || len(found.Files) != len(files) {
			t.Fatalf("%d files, %v", len(found.Files), err)
		}
		dir := filepath.Join(t.TempDir(), "w")
		if _, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: head}, dir); err != nil {
			t.Fatal(err)
		}
		for _, file := range found.Files {
			got, err := os.ReadFile(filepath.Join(dir, file.Path))
			if want, is := files[file.Path]; !is || err != nil || string(got) != want || string(file.Text) != want {
				t.Errorf("%q: read %q, written %q %v, committed %q", file.Path, file.Text, got, err, want)
			}
		}
		for folder, want := range map[string]string{"Board": "upper", "board": "lower", "BOARD": ""} {
			found, err := g.Look(t.Context(), Place{URL: r.url, Folder: folder}, Known{})
			if err != nil || want != "" && !bytes.Contains(found.Manifest, []byte(want)) || want == "" && found.Cause != NoFolder {
				t.Errorf("%s: %+v %v", folder, found, err)
			}
		}
		if _, err := g.Look(t.Context(), Place{URL: r.url, Folder: "d\xe9"}, Known{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a folder whose name is not UTF-8 cannot be written down: %v", err)
		}
	})
}

// TestRefsThatComeBackElsewhere: a branch that is deleted and made again, a
// default branch under another name, one commit that is rewritten, and a tag that
// moves and moves back. What is told is where it stands, and how that stands to
// what was there.
func TestRefsThatComeBackElsewhere(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("site", map[string]string{"module.json": "{}"})
		var was string
		is := func(what, ref, wantRef, commit string, descent Descent) {
			t.Helper()
			p := Place{URL: r.url, Ref: ref}
			found, err := g.Look(t.Context(), p, Known{Commit: was})
			if err != nil || found.Ref != wantRef || found.Commit != commit || found.Unchanged != (commit == was) {
				t.Fatalf("%s: %+v %v", what, found, err)
			}
			if was != "" && commit != was {
				if got, err := g.Descends(t.Context(), p, commit, was); err != nil || got != descent {
					t.Errorf("%s: %q %v, want %q", what, got, err, descent)
				}
			}
			was = commit
		}
		const main, tag = "refs/heads/main", "refs/tags/v1"
		first := r.git("rev-parse", "HEAD")
		is("at first", "", main, first, "")
		r.git("commit", "-q", "--amend", "-m", "rewritten")
		amended := r.git("rev-parse", "HEAD")
		is("its one commit is rewritten", "", main, amended, Unrelated)
		r.git("reflog", "expire", "--expire=now", "--all")
		r.git("prune", "--expire=now")
		second := r.commit("second", map[string]string{"a": "2"})
		is("it goes on", "", main, second, Forward)
		r.git("branch", "-m", "main", "trunk")
		is("its default branch has another name", "", "refs/heads/trunk", second, "")
		if _, err := g.Look(t.Context(), Place{URL: r.url, Ref: main}, Known{Commit: was}); !errors.Is(err, NoRef) {
			t.Fatalf("the old name: %v", err)
		}
		r.git("checkout", "-q", "--orphan", "main")
		elsewhere := r.commit("elsewhere", map[string]string{"module.json": "{}"})
		is("the old name, made again elsewhere", main, main, elsewhere, Unrelated)
		r.git("tag", "v1", second)
		was = ""
		is("a tag", tag, tag, second, "")
		r.git("tag", "-f", "-a", "-m", "x", "v1", amended)
		is("it moves back, and is a tag of its own", tag, tag, amended, Rewritten)
		r.git("tag", "-f", "v1", second)
		is("and forth", tag, tag, second, Forward)
		r.git("tag", "-f", "-a", "-m", "the same commit in another tag", "v1", second)
		is("another tag of the same commit", tag, tag, second, "")
	})
}

// TestAForgeThatIsShallowItself has no history before a commit: what is there is
// read, and what came before is not known, rather than not so.
func TestAForgeThatIsShallowItself(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("site", map[string]string{"module.json": `{"n":1}`})
		first := r.git("rev-parse", "HEAD")
		second := r.commit("second", map[string]string{"module.json": `{"n":2}`})
		r.git("clone", "-q", "--depth=1", "file://"+r.dir, filepath.Join(f.root, "shallow"))
		url := f.url + "/shallow/.git"
		found, err := g.Look(t.Context(), Place{URL: url}, Known{})
		if err != nil || found.Commit != second || string(found.Manifest) != `{"n":2}` {
			t.Fatalf("%+v %v", found, err)
		}
		dir := filepath.Join(t.TempDir(), "w")
		if got, err := g.Checkout(t.Context(), Order{URL: url, Commit: second, Ref: "refs/heads/main"}, dir); err != nil || got.Tree != r.git("rev-parse", "HEAD^{tree}") {
			t.Fatalf("%+v %v", got, err)
		}
		if _, err := g.Checkout(t.Context(), Order{URL: url, Commit: first, Ref: "refs/heads/main"}, filepath.Join(t.TempDir(), "w")); !errors.Is(err, NoCommit) {
			t.Errorf("a commit that it does not have: %v", err)
		}
		if got, err := g.Descends(t.Context(), Place{URL: url, Ref: "refs/heads/main"}, second, first); err != nil || got != FarApart {
			t.Errorf("what came before: %q %v", got, err)
		}
	})
}

// TestLinksAreWrittenAndNotFollowed, inside and out, to nothing and in a ring.
func TestLinksAreWrittenAndNotFollowed(t *testing.T) {
	t.Parallel()
	f, g := newForge(t), newGit(t, nil)
	r := f.repo("site", map[string]string{"module.json": "{}", "real/a": "a"})
	links := map[string]string{"in": "real/a", "folder": "real", "out": "/etc/passwd", "up": "../../../etc/passwd", "nowhere": "none", "ring": "ring", "odd": "caf\xe9", "real/up": "../module.json"}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	head := r.commit("links", nil)
	found, err := g.Look(t.Context(), Place{URL: r.url}, Known{Wants: func(string, bool) bool { return true }, FileLimit: fileLimit})
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]string{}
	for _, file := range found.Files {
		if file.Link != "" {
			read[file.Path] = file.Link
		}
		if strings.Contains(string(file.Text), "root:") {
			t.Errorf("%s was followed", file.Path)
		}
	}
	dir := filepath.Join(t.TempDir(), "w")
	if _, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: head}, dir); err != nil {
		t.Fatal(err)
	}
	for name, to := range links {
		got, err := os.Readlink(filepath.Join(dir, name))
		if err != nil || got != to || read[name] != to {
			t.Errorf("%s leads to %q %v, and is read as %q, want %q", name, got, err, read[name], to)
		}
	}
	if len(read) != len(links) {
		t.Errorf("%v", read)
	}
}
