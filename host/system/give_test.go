package system

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"noxmesh/internal/fault"
)

func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: only root gives files to others")
	}
}

// In no step has anybody anything in hand that is theirs neither before nor after.
func TestNothingIsGivenToAnybodyOnTheWay(t *testing.T) {
	t.Parallel()
	const someone, other = 712, 713
	persons := [][2]uint32{{someone, someone}, {other, other}, {9, someone}, {9, other}, {9, 9}}
	may := func(p [2]uint32, g Given) fs.FileMode {
		switch {
		case p[0] == g.UID:
			return g.Mode >> 6 & 7
		case p[1] == g.GID:
			return g.Mode >> 3 & 7
		}
		return g.Mode & 7
	}
	for from := range fs.FileMode(0o1000) {
		for to := range fs.FileMode(0o1000) {
			was := Info{Mode: from, UID: someone, GID: someone}
			for _, g := range []Given{{someone, someone, to}, {other, Anybody, to}, {Anybody, other, to}, {other, other, to}} {
				before, after := Given{someone, someone, from}, g.at(was)
				last := before
				for _, step := range g.steps(was) {
					for _, p := range persons {
						if has := may(p, step); has&^may(p, before) != 0 && has&^may(p, after) != 0 {
							t.Fatalf("%+v to %+v: in %+v %v may do %o", before, after, step, p, has)
						}
					}
					if step.others(last) && step.Mode != last.Mode {
						t.Fatalf("%+v to %+v: two things in one step", last, step)
					}
					last = step
				}
				if last != after {
					t.Fatalf("it is %+v in the end, want %+v", last, after)
				}
			}
		}
	}
}

func seenAt(t *testing.T, d *Dir, name string) Info {
	t.Helper()
	info, err := d.Lstat(name)
	must(t, err)
	return info
}

func TestWhatIsGivenIsWhatWasSeen(t *testing.T) {
	t.Parallel()
	onlyRoot(t)
	dir, r := machine(t)
	top, err := r.Dir("/")
	must(t, err)
	at := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(at("passwd"), nil, 0o600))
	must(t, os.WriteFile(at("a"), nil, 0o600))
	seen := seenAt(t, top, "a")
	must(t, os.Link(at("a"), at("another")))
	to := Given{712, Anybody, 0o644}
	if err := top.Give("a", seen, to); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a file was given away under its other name: %v", err)
	}
	must(t, top.Give("a", seen, Given{Anybody, Anybody, 0o644})) // nobody else has it now
	must(t, os.Remove(at("a")))
	for name, put := range map[string]func() error{
		"another file": func() error { return os.Link(at("passwd"), at("a")) },
		"a link":       func() error { return os.Symlink("passwd", at("a")) },
		"a FIFO":       func() error { return syscall.Mkfifo(at("a"), 0o600) },
		"a directory":  func() error { return os.Mkdir(at("a"), 0o700) },
	} {
		must(t, put())
		if err := top.Give("a", seen, to); fault.KindOf(err) != fault.Conflict {
			t.Errorf("%s: %v", name, err)
		}
		if err := top.GiveLink("a", to); (name == "a link") != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, os.Remove(at("a")))
	}
	if got := seenAt(t, top, "passwd"); got.UID != 0 {
		t.Error("it was given away")
	}
}

func TestASpecialModeIsSet(t *testing.T) {
	t.Parallel()
	onlyRoot(t)
	dir, r := machine(t)
	top, err := r.Dir("/")
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
	to := Given{712, 713, 0o775 | fs.ModeSetgid | fs.ModeSticky}
	must(t, top.Give("d", seenAt(t, top, "d"), to))
	if got := seenAt(t, top, "d"); got.Mode != to.Mode|fs.ModeDir || got.UID != 712 || got.GID != 713 {
		t.Errorf("%+v", got)
	}
}
