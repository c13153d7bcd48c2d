package builder

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"noxmesh/delivery/build"
	"noxmesh/link"
)

func TestABuildThatFillsTheDiskIsEnded(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	rig.config.Limits.Tree = 16 << 20
	q := repo.request(repo.commit(site(map[string]string{"build.sh": "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero >f$i; sleep 0.01; done\n"})), "")
	a := rig.build(q)
	if a.Outcome != build.OutcomeFailed || a.Step != build.StepBuild || !strings.Contains(a.Why, "16 MiB of the disk") {
		t.Errorf("%s %s: %s", a.Outcome, a.Step, a.Why)
	}
}

// onItsOwnDisk puts the builder's state folder on a file system of 128 MiB, of
// which 64 stay free, and is what fills it.
func (r *rig) onItsOwnDisk() (inTheWay string) {
	r.t.Helper()
	if err := syscall.Mount("tmpfs", r.config.State, "tmpfs", 0, "size=128m,mode=0711"); err != nil {
		r.t.Skipf("only root may mount a file system: %v", err)
	}
	r.t.Cleanup(func() {
		if err := syscall.Unmount(r.config.State, syscall.MNT_DETACH); err != nil {
			r.t.Error(err)
		}
	})
	r.join(r.root)
	r.config.Limits.Free = 64 << 20
	return filepath.Join(r.config.State, "in-the-way")
}

// A full disk is the builder's, whatever the command that met it said.
func TestAFullDiskIsNoVerdict(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	repo, rig := newRepository(t), newRig(t)
	rig.onItsOwnDisk()
	q := repo.request(repo.commit(site(map[string]string{"build.sh": "head -c 100000000 /dev/zero >f; sleep 9; exit 1\n"})), "")
	a := rig.build(q)
	if a.Outcome != build.OutcomeEnvironment || !strings.Contains(a.Why, "the disk is full") {
		t.Errorf("%s %s: %s", a.Outcome, a.Step, a.Why)
	}
}

// A builder whose disk is full asks for no work, and begins none that it is
// given all the same, or while it waited: its disk may have filled since it
// asked. It says why, and goes on when there is room.
func TestWhatIsGivenToAFullDiskIsNotBegun(t *testing.T) {
	t.Parallel()
	repo, rig := newRepository(t), newRig(t)
	inTheWay := rig.onItsOwnDisk()
	c := rig.controller
	said := make(chan link.Work, 64)
	asked := 0
	c.refuse = func(verb link.Verb, _ string) error {
		if verb != link.VerbWork {
			return nil
		}
		if asked++; asked == 2 { // it waits for the answer, and has not said a word
			if err := os.WriteFile(inTheWay, make([]byte, 100<<20), 0o600); err != nil {
				t.Error(err)
			}
			q := repo.request(repo.commit(plain()), "")
			c.queue = append(c.queue, q, q) // it is given when nobody asks for it, too
		}
		select {
		case said <- c.works[len(c.works)-1]:
		default:
		}
		return nil
	}
	stop := rig.start()
	for n := range 4 {
		w := <-said
		if full := strings.Contains(w.Unwell, "the disk is full") && strings.Contains(w.Unwell, "make room on "); full != (n >= 2) {
			t.Errorf("question %d says %q", n+1, w.Unwell)
		}
	}
	c.mu.Lock()
	if len(c.queue) != 0 || len(c.answers) != 0 || len(c.log) != 0 {
		t.Errorf("%d requests wait, %d are answered, %d have a log", len(c.queue), len(c.answers), len(c.log))
	}
	c.mu.Unlock()
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	q := repo.request(repo.commit(plain()), "")
	rig.ask(q)
	if a := c.wait(q); a.Outcome != build.OutcomeBuilt {
		t.Errorf("there is room, and it is %s: %s", a.Outcome, a.Why)
	}
	stop()
}

// Of two things that are wrong at once both are said: who mends one must not
// learn of the other only then.
func TestAllThatIsWrongIsSaid(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	b := &builder{
		config: Config{Limits: Limits{Free: 1 << 60}}, state: state{gone}, workshop: &workshop{dir: t.TempDir()},
		unkept: &kept{request: strings.Repeat("0", 32)},
	}
	all := b.wrong()
	if len(all) != 2 || !strings.Contains(all[0], gone) || !strings.Contains(all[1], "the disk is full") {
		t.Errorf("it says %q", all)
	}
}
