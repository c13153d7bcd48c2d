package deb_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/builder/deb"
	"noxmesh/document"
)

func sample() deb.Package {
	return deb.Package{
		Name: "board", Version: "1:1.4.2-1", Architecture: deb.Architecture("linux/amd64"), Depends: []string{"libc6 (>= 2.36)", "adduser | sysvinit"},
		Module: "meshboard", Summary: "A board",
	}
}

// folder is a root with these files, "-> x" a link and "#!" a script.
func folder(t *testing.T, files map[string]string) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if to, is := strings.CutPrefix(text, "-> "); is {
			must(t, os.Symlink(to, path))
			continue
		}
		mode := os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o4711
		}
		must(t, os.WriteFile(path, []byte(text), mode))
		must(t, os.Chtimes(path, time.Now(), time.Now().Add(-time.Duration(len(t.Name()))*time.Hour)))
	}
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func long() string { return "usr/share/" + strings.Repeat("a-long-name-of-a-folder/", 12) + "end" }

func contents() map[string]string {
	return map[string]string{
		"usr/bin/board": "#!/bin/sh\necho board\n", "etc/board/board.conf": "port=1\n", "usr/share/board/x y": "x", "usr/bin/link": "-> board", long(): "deep",
	}
}

func write(t *testing.T, p deb.Package, root *os.Root) (string, deb.Written, error) {
	t.Helper()
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "x.deb"))
	must(t, err)
	defer out.Close()
	scratch, err := os.Create(filepath.Join(dir, "scratch"))
	must(t, err)
	defer scratch.Close()
	w, err := p.Write(t.Context(), root, scratch, out)
	return out.Name(), w, err
}

func dpkg(t *testing.T, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not on this machine", name)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// The same content in two folders is one package, whatever its times and rights
// are; its digest is pinned, so that no change of this program moves it unseen.
func TestOneContentIsOnePackage(t *testing.T) {
	t.Parallel()
	file, first, err := write(t, sample(), folder(t, contents()))
	must(t, err)
	_, second, err := write(t, sample(), folder(t, contents()))
	must(t, err)
	if first != second {
		t.Errorf("%+v and %+v", first, second)
	}
	text, err := os.ReadFile(file)
	must(t, err)
	if document.Sum(text) != first.Digest || int64(len(text)) != first.Size {
		t.Errorf("%+v is said of %d bytes, %s", first, len(text), document.Sum(text))
	}
	const pinned = "sha256:5d470ddc25fd3062801b02edeb51763f4350dcb026a6ab6ecdb418d1b4b422ae"
	if first.Digest != pinned {
		t.Errorf("the digest is %s, it was %s", first.Digest, pinned)
	}
	for what, change := range map[string]func(p *deb.Package, files map[string]string){
		"version": func(p *deb.Package, _ map[string]string) { p.Version = "1.4.3" },
		"needs":   func(p *deb.Package, _ map[string]string) { p.Depends = nil },
		"file":    func(_ *deb.Package, files map[string]string) { files["usr/share/board/x y"] = "y" },
		"bit":     func(_ *deb.Package, files map[string]string) { files["usr/bin/board"] = "echo board\n" },
	} {
		p, files := sample(), contents()
		change(&p, files)
		if _, other, err := write(t, p, folder(t, files)); err != nil || other.Digest == first.Digest {
			t.Errorf("another %s is the same package: %v", what, err)
		}
	}
}

// Debian's own tools read it.
func TestDpkgReadsIt(t *testing.T) {
	t.Parallel()
	file, _, err := write(t, sample(), folder(t, contents()))
	must(t, err)
	info := dpkg(t, "dpkg-deb", "--field", file)
	want := "Package: board\nVersion: 1:1.4.2-1\nArchitecture: amd64\nMaintainer: module meshboard\nInstalled-Size: 23\n" +
		"Depends: libc6 (>= 2.36), adduser | sysvinit\nSection: misc\nPriority: optional\nDescription: A board\n"
	if d := cmp.Diff(want, info); d != "" {
		t.Error(d)
	}
	list := dpkg(t, "dpkg-deb", "--contents", file)
	for _, line := range []string{
		"-rwxr-xr-x root/root        21 1980-01-01 00:00 ./usr/bin/board\n", "-rw-r--r-- root/root         7 1980-01-01 00:00 ./etc/board/board.conf\n",
		"lrwxrwxrwx root/root         0 1980-01-01 00:00 ./usr/bin/link -> board\n", "drwxr-xr-x root/root         0 1980-01-01 00:00 ./usr/bin/\n", "./" + long() + "\n",
	} {
		if !strings.Contains(list, line) {
			t.Errorf("no %q in\n%s", line, list)
		}
	}
	if got := dpkg(t, "dpkg-deb", "--info", file, "conffiles"); got != "/etc/board/board.conf\n" {
		t.Errorf("conffiles are %q", got)
	}
	to := t.TempDir()
	dpkg(t, "dpkg-deb", "--raw-extract", file, to)
	check := exec.CommandContext(t.Context(), "md5sum", "--check", "--strict", "DEBIAN/md5sums")
	check.Dir = to
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// dpkg installs it into a root of its own, and verifies what it has installed.
func TestDpkgInstallsIt(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("dpkg installs for root alone")
	}
	p := sample()
	p.Depends = nil
	file, _, err := write(t, p, folder(t, contents()))
	must(t, err)
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, name := range []string{"status", "available"} {
		must(t, os.WriteFile(filepath.Join(root, "var/lib/dpkg", name), nil, 0o644))
	}
	dpkg(t, "dpkg", "--root="+root, "--force-not-root", "--force-bad-path", "--force-architecture", "--log=/dev/null", "--install", file)
	if got := dpkg(t, "dpkg-query", "--root="+root, "--show", "--showformat", "${db:Status-Abbrev}${Version}", "board"); got != "ii 1:1.4.2-1" {
		t.Errorf("it is %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(root, "usr/bin/board")); err != nil || string(text) != contents()["usr/bin/board"] {
		t.Errorf("%q, %v", text, err)
	}
	if got := dpkg(t, "dpkg", "--root="+root, "--verify", "board"); got != "" {
		t.Errorf("it differs: %s", got)
	}
}

// What no package can hold is refused by its name.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	for why, files := range map[string]map[string]string{
		"there is a folder \"DEBIAN\"":  {"DEBIAN/postinst": "#!/bin/sh\n", "a": "a"},
		"pack a folder with nothing in": {},
		`"out"`:                         {"out": "-> ../../etc/passwd"},
	} {
		if _, _, err := write(t, sample(), folder(t, files)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("want %s: %v", why, err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if got := sample().FileName(); got != "board_1.4.2-1_amd64.deb" {
		t.Error(got)
	}
	for platform, want := range map[string]string{"linux/amd64": "amd64", "linux/386": "i386", "linux/arm": "armhf", "linux/riscv64": "riscv64"} {
		if got := deb.Architecture(platform); got != want {
			t.Errorf("%s is %s", platform, got)
		}
	}
}
