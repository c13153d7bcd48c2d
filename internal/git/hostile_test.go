package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

// marker is a file that a hostile repository makes if anything of it is run,
// and a command that makes it.
type marker struct{ path, cmd string }

func newMarker(t *testing.T) marker {
	t.Helper()
	p := filepath.Join(t.TempDir(), "marker")
	t.Cleanup(func() {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("something of the repository was run: %v", err)
		}
	})
	return marker{p, "touch " + p}
}

func hostileConfig(m marker) string {
	return strings.ReplaceAll(`[core]
	bare = false
	repositoryformatversion = 0
	fsmonitor = "CMD"
	hooksPath = hooks
	sshCommand = "CMD"
	pager = "CMD"
	editor = "CMD"
	alternateRefsCommand = "CMD"
	gitProxy = "CMD"
[uploadpack]
	packObjectsHook = "CMD"
[filter "evil"]
	smudge = "CMD"
	clean = "CMD"
	process = "CMD"
[diff "evil"]
	textconv = "CMD"
	command = "CMD"
[credential]
	helper = "!CMD"
[include]
	path = other
`, "CMD", m.cmd)
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothingOfARepositoryIsRun serves a repository whose every configuration,
// hook and file says "run me", over http and from a folder.
func TestNothingOfARepositoryIsRun(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		m := newMarker(t)
		f := newForge(t)
		hook := "#!/bin/sh\n" + m.cmd + "\n"
		r := f.repo("evil", map[string]string{
			"module.json": `{"module":"evil"}`, ".gitattributes": "* filter=evil diff=evil merge=evil\n*.ident ident\n", "a.ident": "$Id$",
			".gitmodules":    "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c " + m.cmd + "\n",
			"bare/HEAD":      "ref: refs/heads/main\n",
			"bare/config":    hostileConfig(m),
			"bare/objects/x": "", "bare/refs/x": "", "bare/hooks/post-checkout": hook,
			".lfsconfig":    "[lfs]\n\turl = ext::" + m.cmd + "\n",
			"with\nnewline": "x", "-oProxyCommand=x": "x", "--upload-pack=x": "x", "$(touch x)": "x", "name with space": "x",
		})
		r.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",x")
		r.git("commit", "-q", "-m", "submodule")
		head := r.git("rev-parse", "HEAD")
		hooks := map[string]string{}
		for _, h := range []string{"post-checkout", "post-merge", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc", "update", "post-update"} {
			hooks["hooks/"+h] = hook
		}
		writeAll(t, filepath.Join(r.dir, ".git"), hooks)
		writeAll(t, filepath.Join(r.dir, ".git"), map[string]string{"config": hostileConfig(m), "objects/info/alternates": r.dir + "/.git/objects\n"})

		g := newGit(t, func(c *Config) { c.Allow.Folders = []string{f.root} })
		for _, url := range []string{r.url, "file://" + r.dir + "/.git", "file://" + r.dir} {
			found, err := g.Look(t.Context(), Place{URL: url}, Known{})
			if err != nil || found.Commit != head || string(found.Manifest) != `{"module":"evil"}` {
				t.Fatalf("%s: %+v %v", url, found, err)
			}
			dir := filepath.Join(t.TempDir(), "work")
			got, err := g.Checkout(t.Context(), Order{URL: url, Commit: head, Ref: "refs/heads/main"}, dir)
			if err != nil || len(got.Submodules) != 1 {
				t.Fatalf("%s: %+v %v", url, got, err)
			}
			for _, name := range []string{"with\nnewline", "--upload-pack=x", "$(touch x)", "bare/config"} {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Errorf("%v", err)
				}
			}
			if inside, err := os.ReadDir(filepath.Join(dir, "x")); err != nil || len(inside) > 0 {
				t.Errorf("the submodule: %v %v", inside, err)
			}
		}
	})
}

// TestTreesThatNoGitShouldAccept: paths that would lead out of the folder, or
// into git's own, never get as far as a file.
func TestTreesThatNoGitShouldAccept(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		m := newMarker(t)
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("evil", map[string]string{"a": "a"})
		blob := r.object("blob", "#!/bin/sh\n"+m.cmd+"\n")
		link := r.object("blob", "../../../outside")
		inner := r.rawTree(rawEntry{"100755", "post-checkout", blob})
		hooks := r.rawTree(rawEntry{"40000", "hooks", inner})
		trees := map[string]string{
			".git":              r.rawTree(rawEntry{"40000", ".git", hooks}),
			".GIT":              r.rawTree(rawEntry{"40000", ".GIT", hooks}),
			"git~1":             r.rawTree(rawEntry{"40000", "git~1", hooks}),
			".git and space":    r.rawTree(rawEntry{"40000", ".git ", hooks}),
			".git, invisible":   r.rawTree(rawEntry{"40000", ".g\u200cit", hooks}),
			"..":                r.rawTree(rawEntry{"40000", "..", hooks}),
			".":                 r.rawTree(rawEntry{"40000", ".", hooks}),
			"slash":             r.rawTree(rawEntry{"100644", "a/../../b", blob}),
			"absolute":          r.rawTree(rawEntry{"100644", "/b", blob}),
			"empty name":        r.rawTree(rawEntry{"100644", "", blob}),
			"link and folder":   r.rawTree(rawEntry{"120000", "a", link}, rawEntry{"40000", "a", hooks}),
			"twice":             r.rawTree(rawEntry{"100644", "a", blob}, rawEntry{"100755", "a", blob}),
			"linked modules":    r.rawTree(rawEntry{"120000", ".gitmodules", link}),
			"submodule command": r.rawTree(rawEntry{"100644", ".gitmodules", r.object("blob", "[submodule \"x\"]\n\tpath = x\n\turl = https://h/x\n\tupdate = !"+m.cmd+"\n")}),
			"submodule option":  r.rawTree(rawEntry{"100644", ".gitmodules", r.object("blob", "[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack="+m.cmd+"\n")}),
			"nested .git":       r.rawTree(rawEntry{"40000", "sub", r.rawTree(rawEntry{"100644", ".git", blob})}),
		}
		for name, tree := range trees {
			branch := "refs/heads/x" + tree
			head := r.commitTree(branch, tree)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				outside := t.TempDir()
				dir := filepath.Join(outside, "1/2/3/work")
				_, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: head}, dir)
				if fault.KindOf(err) != fault.Invalid {
					t.Errorf("kind %v: %v", fault.KindOf(err), err)
				}
				if inside, _ := os.ReadDir(dir); len(inside) > 0 {
					t.Errorf("written: %v", inside)
				}
				if _, err := g.Look(t.Context(), Place{URL: r.url, Ref: branch}, Known{}); fault.KindOf(err) != fault.Invalid {
					t.Errorf("a look takes it: %v", err)
				}
			})
		}
	})
}

func TestManifestThatIsNoFile(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("odd", map[string]string{"a": "a"})
		blob := r.object("blob", "{}")
		link := r.object("blob", "/etc/passwd")
		big := r.object("blob", strings.Repeat(" ", 1<<20+1))
		sub := r.rawTree(rawEntry{"100644", "module.json", blob})
		cases := map[string]struct{ tree, folder, why string }{
			"a link":          {r.rawTree(rawEntry{"120000", "module.json", link}), "", "is a link"},
			"a folder":        {r.rawTree(rawEntry{"40000", "module.json", sub}), "", "is a folder"},
			"a submodule":     {r.rawTree(rawEntry{"160000", "module.json", strings.Repeat("1", 40)}), "", "is a submodule"},
			"too big":         {r.rawTree(rawEntry{"100644", "module.json", big}), "", "at most"},
			"not there":       {r.rawTree(rawEntry{"100644", "x", blob}), "", "no such file"},
			"no folder":       {r.rawTree(rawEntry{"100644", "x", blob}), "sub", "no such folder"},
			"a linked folder": {r.rawTree(rawEntry{"40000", "real", sub}, rawEntry{"120000", "sub", r.object("blob", "real")}), "sub", "no such folder"},
			"below a link":    {r.rawTree(rawEntry{"40000", "real", sub}, rawEntry{"120000", "sub", r.object("blob", ".")}), "sub/real", "no such folder"},
		}
		for name, c := range cases {
			branch := "refs/heads/" + strings.ReplaceAll(name, " ", "-")
			head := r.commitTree(branch, c.tree)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				found, err := g.Look(t.Context(), Place{URL: r.url, Ref: branch, Folder: c.folder}, Known{})
				if err != nil || found.Commit != head || found.Manifest != nil || !strings.Contains(found.Why, c.why) {
					t.Fatalf("%+v %v", found, err)
				}
			})
		}
		head := r.commitTree("refs/heads/main", r.rawTree(rawEntry{"100644", "module.json", r.object("blob", "")}))
		if found, err := g.Look(t.Context(), Place{URL: r.url}, Known{}); err != nil || found.Commit != head || found.Manifest == nil || len(found.Manifest) != 0 {
			t.Fatalf("an empty file is a file: %+v %v", found, err)
		}
	})
}

// TestBombs: a few small objects that stand for more than a disk holds, and a
// file that is bigger than what is allowed.
func TestBombs(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, func(c *Config) { c.MaxSize = 1 << 20 })
		r := f.repo("bomb", map[string]string{"a": "a"})
		tree := r.rawTree(rawEntry{"100644", "a", r.object("blob", "")})
		for range 9 {
			var es []rawEntry
			for _, n := range strings.Split("0123456789", "") {
				es = append(es, rawEntry{"40000", n, tree})
			}
			tree = r.rawTree(es...)
		}
		head := r.commitTree("refs/heads/main", tree)
		dir := filepath.Join(t.TempDir(), "work")
		if _, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: head}, dir); !errors.Is(err, TooBig) || fault.KindOf(err) != fault.Invalid {
			t.Fatalf("a billion files: %v", err)
		}
		zeros := r.object("blob", strings.Repeat("\x00", 600<<10))
		head = r.commitTree("refs/heads/main", r.rawTree(rawEntry{"100644", "a", zeros}, rawEntry{"100644", "b", zeros}))
		if _, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: head}, dir); !errors.Is(err, TooBig) {
			t.Fatalf("a checkout that is too big: %v", err)
		}
		noise := make([]byte, 3<<20)
		for i, x := 0, uint32(1); i < len(noise); i++ {
			x = x*1664525 + 1013904223
			noise[i] = byte(x >> 24)
		}
		head = r.commitTree("refs/heads/main", r.rawTree(rawEntry{"100644", "a", r.object("blob", string(noise))}))
		if _, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: head}, dir); !errors.Is(err, TooBig) || fault.KindOf(err) != fault.Invalid {
			t.Fatalf("a pack that is too big: kind %v: %v", fault.KindOf(err), err)
		}
		if inside, _ := os.ReadDir(dir); len(inside) > 0 {
			t.Fatalf("written: %v", inside)
		}
	})
}

// TestOurOwnEnvironmentIsNotGits sets everything that would run a command, were
// git to see it.
func TestOurOwnEnvironmentIsNotGits(t *testing.T) { //nolint:paralleltest // it sets the environment
	m := newMarker(t)
	f := newForge(t)
	r := f.repo("site", map[string]string{"module.json": "{}", ".gitattributes": "* filter=evil\n"})
	head := r.git("rev-parse", "HEAD")
	home := t.TempDir()
	writeAll(t, home, map[string]string{".gitconfig": hostileConfig(m), ".config/git/config": hostileConfig(m), "hooks/post-index-change": "#!/bin/sh\n" + m.cmd})
	for k, v := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home + "/.config", "GIT_CONFIG_GLOBAL": home + "/.gitconfig", "GIT_DIR": r.dir, "GIT_SSH_COMMAND": m.cmd,
		"GIT_ASKPASS": m.path + ".sh", "GIT_EXTERNAL_DIFF": m.cmd, "GIT_PAGER": m.cmd, "GIT_EDITOR": m.cmd, "GIT_CONFIG_COUNT": "2",
		"GIT_CONFIG_KEY_0": "filter.evil.smudge", "GIT_CONFIG_VALUE_0": m.cmd, "GIT_CONFIG_KEY_1": "core.hooksPath", "GIT_CONFIG_VALUE_1": home + "/hooks",
		"GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='" + m.cmd + "'", "GIT_TEMPLATE_DIR": home, "GIT_WORK_TREE": home, "GIT_INDEX_FILE": home + "/index",
		"GIT_OBJECT_DIRECTORY": home, "GIT_PROXY_COMMAND": m.cmd, "http_proxy": "http://127.0.0.1:1", "GIT_EXEC_PATH": home,
	} {
		t.Setenv(k, v)
	}
	// The forge's own git was started before: it takes its environment from its handler.
	g := newGit(t, nil)
	for _, g := range []*Git{g, onlyGit(t, nil)} {
		if _, err := g.Look(t.Context(), Place{URL: r.url}, Known{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Checkout(t.Context(), Order{URL: r.url, Commit: head}, filepath.Join(t.TempDir(), "w")); err != nil {
		t.Fatal(err)
	}
}
