package builder

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"noxmesh/internal/fault"
)

// Root's own folders are closed to the sandbox's user: the workshop is then
// elsewhere, and the state stays closed.
func TestTheWorkshopIsWhereTheSandboxGets(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user's sandbox is that user")
	}
	closed := filepath.Join(t.TempDir(), "state") // t.TempDir is closed
	s, err := openState(closed)
	if err != nil {
		t.Fatal(err)
	}
	w, err := openWorkshop("", s.dir, sandboxUsers(testUsers()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}()
	if !strings.HasPrefix(w.dir, "/var/tmp/mesh-builder-") {
		t.Errorf("it is %q", w.dir)
	}
	if info, err := os.Stat(closed); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the state: %v, %v", info.Mode(), err)
	}
	if _, err := probe(t.Context(), w, Limits{}.orDefault()); err != nil {
		t.Errorf("no sandbox there: %v", said(err))
	}
}

// Somebody else may have made a folder of that name before.
func TestAStrangersFolderIsNoWorkshop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := openWorkshop(link, dir, nil); fault.KindOf(err) != fault.Denied {
		t.Errorf("a link: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(target, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := openWorkshop(target, dir, nil); fault.KindOf(err) != fault.Denied {
		t.Errorf("another's folder: %v", err)
	}
}

// Each build has a user of its own, and nobody has two.
func TestUsersAreTakenOnce(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user's sandbox is that user")
	}
	w := testWorkshop(t)
	seen := map[uint32]bool{}
	for _, name := range []string{"a", "b", "c"} {
		b, err := w.fresh(name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := b.clear(); err != nil {
				t.Error(err)
			}
		}()
		if u := b.as; seen[u.Uid] || u.Gid != u.Uid || len(u.Groups) > 0 || u.NoSetGroups {
			t.Errorf("%+v after %v", u, seen)
		}
		seen[b.as.Uid] = true
	}
}

func TestARangeOfUsers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Users{"65520-65533": {65520, 65533}, "70000-70000": {70000, 70000}, "0-9": {}, "9-1": {}, "x-y": {}, "65520": {}, "65520-99999999999": {}} {
		var u Users
		if err := u.Set(text); u != want || (err == nil) != (want != Users{}) {
			t.Errorf("%q: %+v, %v", text, u, err)
		}
	}
}

// A sandbox's processes are that user outside, and not root.
func TestSandboxIsNotRootOutside(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("as an ordinary user it is that user")
	}
	w := testWorkshop(t)
	s := testSandbox(t, w, Limits{})
	b, err := w.fresh("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.handOver(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.run(t.Context(), command{argv: []string{"touch", "made"}, tree: b.tree(), as: b.as, limits: testLimits(), most: 60e9, out: &logbook{}}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(b.tree(), "made"))
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != b.as.Uid {
		t.Errorf("the file is of user %d, want %d", owner, b.as.Uid)
	}
}
