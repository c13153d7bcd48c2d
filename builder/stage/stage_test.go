package stage_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/builder/stage"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes files: a name with / at its end is a folder, a text that begins with -> a link.
func write(t *testing.T, dir string, files ...string) string {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		name, text := filepath.Join(dir, files[i]), files[i+1]
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		to, link := strings.CutPrefix(text, "-> ")
		switch {
		case strings.HasSuffix(files[i], "/"):
			must(t, os.MkdirAll(name, 0o755))
		case link:
			must(t, os.Symlink(to, name))
		default:
			must(t, os.WriteFile(name, []byte(text), 0o644))
		}
	}
	return dir
}

func base(t *testing.T) string {
	return write(t, t.TempDir(), "usr/bin/a", "a", "bin", "-> /usr/bin", "up", "-> ../../..", "etc/x", "x", "etc/y", "y", "gone/in/z", "z", "turns/a", "a", "turned", "b", "one", "-> a", "same", "s")
}

// What differs is found by content, and what only was written anew does not.
func TestWhatDiffers(t *testing.T) {
	t.Parallel()
	below, err := stage.Begin(t.Context(), filepath.Join(t.TempDir(), "below"), base(t), nil)
	must(t, err)
	must(t, below.Folder("/bin/deep/er"))
	s, err := below.On(t.Context(), filepath.Join(t.TempDir(), "on"))
	must(t, err)
	for _, name := range []string{"gone", "turns", "turned", "one", "etc/y"} {
		must(t, os.RemoveAll(filepath.Join(s.Dir, name)))
	}
	write(t, s.Dir, "turns", "file", "turned/in", "t", "one", "-> b", "same", "s")
	must(t, os.Chmod(filepath.Join(s.Dir, "etc/x"), 0o755))
	from := write(t, t.TempDir(), "f/1", "1", "f/l", "-> /etc/passwd", "g", "g", "out", "-> /etc/passwd")
	must(t, s.Copy(t.Context(), stage.Taking{Root: from, Words: []string{"f", "g"}, To: "/bin", Into: true}))
	must(t, s.Copy(t.Context(), stage.Taking{Root: from, Words: []string{"g"}, To: "/up/up/../h", Into: false}))
	must(t, s.Copy(t.Context(), stage.Taking{Root: from, Words: []string{"g"}, To: "/usr/bin/a", Into: false}))
	if err := s.Copy(t.Context(), stage.Taking{Root: from, Words: []string{"out"}, To: "/stolen", Into: false}); err == nil {
		t.Error("a link out was followed")
	}
	changes, err := s.Differs(t.Context())
	must(t, err)
	var got []string
	for _, c := range changes {
		got = append(got, strings.TrimSpace(strings.Join([]string{c.Path, string(c.Kind), c.Target, map[bool]string{true: "gone"}[c.Gone], map[bool]string{true: "x"}[c.Executable]}, " ")))
	}
	for i := range got {
		got[i] = strings.Join(strings.Fields(got[i]), " ")
	}
	want := []string{
		"etc/x file x", "etc/y gone", "gone gone", "h file", "one link b", "turned directory", "turned/in file", "turns file",
		"usr/bin/1 file", "usr/bin/a file", "usr/bin/deep directory", "usr/bin/deep/er directory", "usr/bin/g file", "usr/bin/l link /etc/passwd",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What no image can have is refused by its name.
func TestWhatNoImageCanHaveIsNamed(t *testing.T) {
	t.Parallel()
	for why, do := range map[string]func(dir string) error{
		`"/a" would run as its owner`: func(dir string) error {
			return os.Chmod(write(t, dir, "a", "a")+"/a", 0o755|os.ModeSetuid)
		},
		`"/p" is neither a file nor a folder nor a link`: func(dir string) error { return syscall.Mkfifo(dir+"/p", 0o644) },
		`"/d/.wh.x" begins with .wh.`: func(dir string) error {
			write(t, dir, "d/.wh.x", "")
			return nil
		},
	} {
		s, err := stage.Begin(t.Context(), filepath.Join(t.TempDir(), "s"), "", nil)
		must(t, err)
		must(t, do(s.Dir))
		if changes, err := s.Differs(t.Context()); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("want %s: %v, %v", why, changes, err)
		}
	}
	s, err := stage.Begin(t.Context(), filepath.Join(t.TempDir(), "s"), write(t, t.TempDir(), "dev", "-> /etc"), nil)
	must(t, err)
	if err := s.Place("dev"); err == nil || !strings.Contains(err.Error(), `"/dev" is no folder`) {
		t.Errorf("%v", err)
	}
}

// Whose a file is in the image goes with it where it is moved, written to or stood on,
// and not with what takes its place; a link is root's.
func TestWhoseAFileIs(t *testing.T) {
	t.Parallel()
	if err := syscall.Setxattr(t.TempDir(), "user.mesh.test", []byte("x"), 0); err != nil {
		t.Skipf("the file system of temporary files keeps no attributes: %v", err)
	}
	below, err := stage.Begin(t.Context(), filepath.Join(t.TempDir(), "below"), base(t), nil)
	must(t, err)
	from := write(t, t.TempDir(), "d/a", "a", "d/b", "b", "d/in/c", "c", "d/l", "-> a", "same", "s")
	copied := func(s *stage.Stage, to string, words ...string) {
		t.Helper()
		must(t, s.Copy(t.Context(), stage.Taking{Root: from, Words: words, To: to, Whose: &stage.Owner{UID: 33, GID: 34}}))
	}
	copied(below, "/new/deep", "d")
	copied(below, "/same", "same") // what was there is as it was, and somebody else's now
	s, err := below.On(t.Context(), filepath.Join(t.TempDir(), "on"))
	must(t, err)
	must(t, os.Rename(filepath.Join(s.Dir, "new/deep/a"), filepath.Join(s.Dir, "moved")))
	f, err := os.OpenFile(filepath.Join(s.Dir, "new/deep/b"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("more")
	must(t, err)
	must(t, f.Close())
	must(t, s.Copy(t.Context(), stage.Taking{Root: from, Words: []string{"d/in/c"}, To: "/new/deep/in/c"}))
	changes, err := s.Differs(t.Context())
	must(t, err)
	got := map[string]int{}
	for _, c := range changes {
		got[c.Path] = c.Owner.UID*1000 + c.Owner.GID
	}
	want := map[string]int{"new": 33034, "new/deep": 33034, "new/deep/b": 33034, "new/deep/in": 33034, "new/deep/in/c": 0, "new/deep/l": 0, "moved": 33034, "same": 33034}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	must(t, syscall.Setxattr(filepath.Join(s.Dir, "moved"), "user.mesh.owner", []byte("+1:2"), 0))
	if _, err := s.Differs(t.Context()); err == nil || !strings.Contains(err.Error(), `"/moved" says in its attribute`) {
		t.Error(err)
	}
}

func TestWhoIsNamed(t *testing.T) {
	t.Parallel()
	root := write(t, t.TempDir(), "etc/passwd", "root:x:0:0::/:/bin/sh\nwww:x:33:34:a:/:\nodd:x:a:b\nshort:x\n", "etc/group", "adm:x:4:www\nodd:x:c\n")
	s, err := stage.Begin(t.Context(), filepath.Join(t.TempDir(), "s"), root, nil)
	must(t, err)
	for who, want := range map[string]stage.Owner{
		"7": {UID: 7, GID: 7}, "7:8": {UID: 7, GID: 8}, "www": {UID: 33, GID: 34}, "www:adm": {UID: 33, GID: 4}, "7:adm": {UID: 7, GID: 4}, "www:9": {UID: 33, GID: 9}, "root": {},
	} {
		if got, err := s.Named(who); err != nil || *got != want {
			t.Errorf("%s is %v, %v", who, got, err)
		}
	}
	for who, why := range map[string]string{
		"none": `no "none" in /etc/passwd`, "www:none": `no "none" in /etc/group`, "odd": "has no numbers", "7:odd": "has no number", "short": "no \"short\"", "4294967295": "no \"4294967295\"", "-1": "no", "": "no",
	} {
		if _, err := s.Named(who); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", who, err)
		}
	}
}
