package system

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"noxmesh/internal/fault"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func machine(t testing.TB) (string, *Root) {
	t.Helper()
	dir := t.TempDir()
	r, err := Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	return dir, r
}

func TestDirResolvesInsideTheRoot(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	outside := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for name, target := range map[string]string{
		"relative": "a/b", "absolute": "/a/b", "up": "../../../a", "a/back": "..", "chain": "relative/c", "loop": "loop", "pair": "riap", "riap": "pair",
		"nowhere": "/none", "out": outside, "a/out": "../../../../.." + outside, "self": ".",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	for p, want := range map[string]string{
		"/": "/", "/a": "/a", "/a/b/c": "/a/b/c", "/relative": "/a/b", "/absolute/c": "/a/b/c", "/up": "/a", "/a/back": "/", "/a/back/a": "/a",
		"/chain": "/a/b/c", "/self/self/a": "/a", "/a/../a/b": "/a/b",
	} {
		d, err := r.Dir(p)
		if err != nil || d.Path() != want {
			t.Errorf("%q is %v %v, want %q", p, d, err, want)
		}
	}
	for _, p := range []string{"/none", "/nowhere", "/out", "/a/out", "/a/none/x"} {
		if _, err := r.Dir(p); !Absent(err) {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, p := range []string{"/file", "/file/x"} {
		if _, err := r.Dir(p); !NotDirectory(err) {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, p := range []string{"/loop", "/pair/x"} {
		if _, err := r.Dir(p); Cause(err) != syscall.ELOOP { //nolint:errorlint // the very one
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestGuardShutsByWhateverWay(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	must(t, os.MkdirAll(filepath.Join(dir, "var/lib/own/in"), 0o755))
	must(t, os.Symlink("var/lib/own", filepath.Join(dir, "way")))
	must(t, os.Symlink("/var", filepath.Join(dir, "v")))
	r.Guard("/var/lib/own", "/not/there/yet")
	for _, p := range []string{"/var/lib/own", "/var/lib/own/in", "/way", "/way/in", "/v/lib/own/in"} {
		if _, err := r.Dir(p); fault.KindOf(err) != fault.Denied {
			t.Errorf("%q: %v", p, err)
		}
	}
	if _, err := r.Dir("/var/lib"); err != nil {
		t.Error(err)
	}
	must(t, os.MkdirAll(filepath.Join(dir, "not/there/yet"), 0o755))
	if _, err := r.Dir("/not/there/yet"); fault.KindOf(err) != fault.Denied {
		t.Errorf("made later: %v", err)
	}
	// The same directory under another name, as a bind mount gives it.
	must(t, os.Rename(filepath.Join(dir, "var/lib/own"), filepath.Join(dir, "moved")))
	if _, err := r.Dir("/moved"); fault.KindOf(err) != fault.Denied {
		t.Errorf("under another name: %v", err)
	}
}

func TestReadIsOfWhatWasSeen(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "b"), []byte("b"), 0o644))
	top, err := r.Dir("/")
	must(t, err)
	info, err := top.Lstat("a")
	must(t, err)
	f, err := top.Read("a", info)
	must(t, err)
	must(t, f.Close())
	must(t, os.Remove(filepath.Join(dir, "a")))
	must(t, os.Symlink("b", filepath.Join(dir, "a")))
	if _, err := top.Read("a", info); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a link came in between: %v", err)
	}
	if err := top.Give("a", info, Given{Anybody, Anybody, 0o600}); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a mode through a link: %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "a")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "a"), 0o644))
	if _, err := top.Read("a", info); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a FIFO came in between: %v", err)
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	if f := r.Facts(); f.OS == "" || f.Arch == "" || len(f.Capabilities) != 0 {
		t.Errorf("%+v", f)
	}
	must(t, os.MkdirAll(filepath.Join(dir, "run/systemd/system"), 0o755))
	if f := r.Facts(); len(f.Capabilities) != 1 || f.Capabilities[0] != "systemd" {
		t.Errorf("%+v", f)
	}
	must(t, os.MkdirAll(filepath.Join(dir, "usr/bin"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "usr/bin/podman"), nil, 0o755))
	if f := r.Facts(); strings.Join(f.Capabilities, " ") != "container-runtime podman systemd" {
		t.Errorf("%+v", f)
	}
	for _, where := range []string{"usr/bin", "usr/sbin"} {
		must(t, os.MkdirAll(filepath.Join(dir, where), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, where, "dockerd"), nil, 0o755))
		if f := r.Facts(); strings.Join(f.Capabilities, " ") != "container-runtime docker podman systemd" {
			t.Errorf("%s: %+v", where, f)
		}
		must(t, os.Remove(filepath.Join(dir, where, "dockerd")))
	}
}

// Either package manager may be installed by the other: what has packages in it counts.
func TestWhatKeepsThePackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := Open(dir)
	must(t, err)
	defer r.Close()
	put := func(name, text string) func() {
		return func() {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
		}
	}
	for _, c := range []struct {
		do       func()
		by, said string
	}{
		{put("usr/bin/dnf", ""), "", ""},
		{put("usr/lib/sysimage/rpm/rpmdb.sqlite", ""), RPM, "dnf"},
		{put("var/lib/dpkg/status", ""), RPM, "dnf"},
		{put("var/lib/dpkg/status", "Package: dpkg\n"), Dpkg, ""},
		{put("usr/bin/apt-get", ""), Dpkg, "apt"},
	} {
		c.do()
		r.Forget()
		if by, said := r.Packager(), strings.Join(r.Facts().Capabilities, " "); by != c.by || said != c.said {
			t.Errorf("%q, %q: want %q, %q", by, said, c.by, c.said)
		}
	}
}

func TestAHandleThatWasForgottenOpensNothing(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	must(t, os.MkdirAll(filepath.Join(dir, "a"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "b"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "b/x"), nil, 0o644))
	a, err := r.Dir("/a")
	must(t, err)
	r.Forget()
	_, err = r.Dir("/b") // the kernel gives it the number that a had
	must(t, err)
	if _, err := a.Lstat("x"); Cause(err) != syscall.EBADF { //nolint:errorlint // the very one
		t.Errorf("%v", err)
	}
}

func TestANameIsOneOfItsDirectory(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o644))
	a, err := r.Dir("/a")
	must(t, err)
	seen, err := a.Lstat("b")
	must(t, err)
	for _, name := range []string{"", ".", "..", "../file", "b/../../file", "/file", "b\x00"} {
		for what, do := range map[string]func() error{
			"lstat":    func() error { _, err := a.Lstat(name); return err },
			"readlink": func() error { _, err := a.Readlink(name); return err },
			"read":     func() error { _, err := a.Read(name, seen); return err },
			"create":   func() error { _, err := a.Create(name); return err },
			"mkdir":    func() error { return a.Mkdir(name) },
			"symlink":  func() error { return a.Symlink("x", name) },
			"from":     func() error { return a.Rename(name, "new") },
			"to":       func() error { return a.Rename("b", name) },
			"remove":   func() error { return a.Remove(name) },
			"own":      func() error { return a.GiveLink(name, Given{}) },
			"chmod":    func() error { return a.Give(name, seen, Given{Mode: 0o700}) },
			"names":    func() error { _, err := a.Names(name, 1); return err },
		} {
			if err := do(); Cause(err) != syscall.EINVAL { //nolint:errorlint // the very one
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
}
