package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/resource"
	"noxmesh/internal/term"
)

// says runs a command line of the host in this process.
func answers(t testing.TB, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(t.Context(), args, "test", &term.Term{Name: "mesh-host", Out: &o, Err: &e})
	return code, o.String(), e.String()
}

// everything is what lies in a folder: with its bytes, its mode, who it is and when
// it was changed.
func everything(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var s unix.Stat_t
		if err := unix.Lstat(p, &s); err != nil {
			return err
		}
		all = append(all, fmt.Sprint(p, s.Ino, s.Mode, s.Size, s.Mtim, s.Ctim, describe(p)))
		return nil
	}))
	return all
}

// frozen does something while nobody can write to the folder, where that can be had.
func frozen(t testing.TB, dir string, do func()) {
	t.Helper()
	before := everything(t, dir)
	err := unix.Mount(dir, dir, "", unix.MS_BIND, "")
	if err == nil {
		defer func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) }()
		must(t, unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err == nil {
			t.Fatal("it can be written to")
		}
	}
	do()
	if after := everything(t, dir); !slices.Equal(before, after) {
		t.Errorf("something was changed:\n%s\nwas\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
}

// What plan shows is what apply does; it takes nothing but reading, and its exit
// status says whether there is anything to do.
func TestAPlanShowsAndChangesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	open := func(r declaration.Resource) declaration.Resource { r.Mode = "0644"; return r }
	b := bundled(t, 1, func(p *packer) []declaration.Resource {
		return []declaration.Resource{
			open(p.file("conf", "/etc/conf", "one\ntwo\nthree\n")), p.file("secret", "/etc/secret", "hush"), open(p.file("data", "/etc/data", "\x00\x01")),
			p.directory("dir", "/srv"), p.link("way", "/srv/way", "../etc"), p.archive("site", "/opt/site", map[string]string{"a": "1", "b/c": "2"}),
		}
	})
	next := bundled(t, 2, func(p *packer) []declaration.Resource {
		conf := open(p.file("conf", "/etc/conf", "one\n2\nthree\n"))
		gone := open(p.file("gone", "/srv/gone", "x"))
		gone.Mode, gone.After = "0600", []string{"m/conf"}
		return []declaration.Resource{conf, p.file("secret", "/etc/secret", "other"), gone}
	})
	plan := func(b bundle, more ...string) []string {
		return append([]string{"plan", b.file, "--blobs", b.blobs, "--root", root}, more...)
	}
	frozen(t, root, func() {
		code, out, errs := answers(t, plan(b)...)
		want := `make    m/conf  /etc/conf → mode 0644
  --- /etc/conf
  +++ /etc/conf (declared)
  @@ -0,0 +1,3 @@
  +one
  +two
  +three
make    m/secret  /etc/secret → mode 0640 (4 bytes, not shown: not everybody may read it)
make    m/data  /etc/data → mode 0644 (binary, 2 bytes)
make    m/dir  /srv → mode 0750
make    m/site  /opt/site
make    m/way  /srv/way → a link to ../etc
plan: 0 as declared, 6 to make, 0 to change, 0 to remove, 0 to let go of, 0 to report, 0 refused, 0 known later
`
		if code != term.Unwell || out != want || errs != "" {
			t.Errorf("%d\n%s%s", code, out, errs)
		}
	})
	if code, out, errs := answers(t, "apply", b.file, "--blobs", b.blobs, "--root", root); code != term.Answered {
		t.Fatal(code, out, errs)
	}
	frozen(t, root, func() {
		code, out, errs := answers(t, plan(b)...)
		if want := "plan: 6 as declared, 0 to make, 0 to change, 0 to remove, 0 to let go of, 0 to report, 0 refused, 0 known later\n"; code != term.Answered || out != want {
			t.Errorf("%d\n%s%s", code, out, errs)
		}
	})
	must(t, os.WriteFile(filepath.Join(root, "opt/site/a"), []byte("by hand"), 0o644))
	must(t, os.Chmod(filepath.Join(root, "srv"), 0o700))
	must(t, os.Remove(filepath.Join(root, "etc/secret")))
	plant(t, filepath.Join(root, "etc/secret/theirs"), "x")
	frozen(t, root, func() {
		_, out, _ := answers(t, plan(b)...)
		for _, want := range []string{
			"change  m/site  /opt/site: a: other content (7 bytes)\n", "change  m/dir  /srv: mode 0700 → mode 0750\n",
			`refuse  m/secret  /etc/secret: a directory: replace "/etc/secret": a directory is there that holds theirs`, "plan: 3 as declared, 0 to make, 2 to change,",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	})
	must(t, os.RemoveAll(filepath.Join(root, "etc/secret")))
	frozen(t, root, func() {
		code, out, errs := answers(t, plan(next, "-o", "json")...)
		var p Previewed
		if err := json.Unmarshal([]byte(out), &p); err != nil || code != term.Unwell {
			t.Fatal(code, err, out, errs)
		}
		var short []string
		for _, c := range p.Changes {
			short = append(short, fmt.Sprint(c.Action, " ", c.ID, " ", c.Subject, " ", c.Found))
		}
		want := []string{
			"change m/conf /etc/conf other content (14 bytes)", "make m/secret /etc/secret ", "make m/gone /srv/gone ",
			"remove m/data /etc/data ", "remove m/dir /srv ", "remove m/site /opt/site and 3 more", "remove m/way /srv/way ",
		}
		if p.Right != 0 || !slices.Equal(short, want) || !strings.Contains(p.Changes[0].Diff, "-two\n+2\n") || strings.Contains(out, "other\"") {
			t.Errorf("%d as declared, %q\n%s", p.Right, short, out)
		}
	})
	must(t, os.WriteFile(filepath.Join(root, keep.Path, "joined"), []byte("no"), 0o600))
	if code, _, errs := answers(t, plan(b)...); code == term.Answered || errs == "" {
		t.Errorf("on a node of a mesh: %d %s", code, errs)
	}
}

// A large file and a long difference are bounded, and what cannot be got is said.
func TestAPlanIsBounded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	long, large := strings.Repeat("a line\n", 1000), strings.Repeat("x", 300<<10)
	var away document.Digest
	b := bundled(t, 1, func(p *packer) []declaration.Resource {
		all := []declaration.Resource{p.file("long", "/long", long), p.file("large", "/large", large), p.file("away", "/away", "somewhere else")}
		for i := range all {
			all[i].Mode = "0644"
		}
		for _, r := range all[1:] {
			delete(p.where.Inline, r.Digest)
			p.where.Blobs = map[document.Digest]declaration.Blob{}
		}
		for _, r := range all[1:] {
			p.where.Blobs[r.Digest] = declaration.Blob{Repository: "m", Size: r.Size}
		}
		away = all[2].Digest
		return all
	})
	code, out, errs := answers(t, "plan", b.file, "--blobs", b.blobs, "--root", root, "-o", "json")
	var p Previewed
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != term.Unwell || len(p.Changes) != 3 {
		t.Fatal(code, err, out, errs)
	}
	if n := strings.Count(p.Changes[0].Diff, "\n"); n > 202 || !strings.HasSuffix(p.Changes[0].Diff, " more lines\n") {
		t.Errorf("%d lines", n)
	}
	if c := p.Changes[1]; c.Diff != "" || c.Content != "307200 bytes, too many to be shown" {
		t.Errorf("%+v", c)
	}
	if c := p.Changes[2]; c.Action != resource.ActionMake || !strings.HasPrefix(c.Content, "14 bytes, which cannot be got now: ") {
		t.Errorf("%s: %+v", away, c)
	}
}
