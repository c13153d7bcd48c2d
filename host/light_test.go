package host

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/host/keep"
)

// A host that has applied a declaration holds none of the bodies that came in it,
// puts back from the disk what drifts, and knows the declaration when it comes again.
func TestBodiesThatAreAppliedAreNotHeld(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		d := declared(c, 1, "/a", "one", "/b", "two")
		e := c.declare(d)
		s := begin(t, root, c)
		defer s.stop()
		time.Sleep(time.Second)
		synctest.Wait()
		s.is("/a", "one")
		if d, tuple := s.member.wanted(); d.Where.Inline != nil || tuple == none {
			t.Errorf("%d bodies are held of %v", len(d.Where.Inline), tuple)
		}
		must(t, os.Remove(filepath.Join(root, "a")))
		must(t, os.WriteFile(filepath.Join(root, "b"), []byte("drift"), 0o600))
		time.Sleep(s.turn())
		synctest.Wait()
		s.is("/a", "one")
		s.is("/b", "two")
		file := filepath.Join(root, keep.Path, "accepted")
		before, err := os.Stat(file)
		must(t, err)
		s.pushed(e)
		time.Sleep(time.Second)
		synctest.Wait()
		after, err := os.Stat(file)
		must(t, err)
		if d, _ := s.member.wanted(); !os.SameFile(before, after) || d.Where.Inline != nil {
			t.Errorf("what is known is taken for something new: %d bodies", len(d.Where.Inline))
		}
	})
}
