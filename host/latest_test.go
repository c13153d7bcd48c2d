package host

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/host/keep"
)

// A look that finds what the report on the disk says writes nothing, and is told
// all the same: with a number of its own, that is above all others also after a
// restart.
func TestALookThatSaysNothingNewIsToldAndNotWritten(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/a", "one"))
		s := begin(t, root, c)
		time.Sleep(3 * s.turn()) // what was made is reported, and found as declared twice: the times are those of the bubble
		synctest.Wait()
		file := filepath.Join(root, keep.Path, "latest")
		before, err := os.Stat(file)
		must(t, err)
		sequence := c.lastReport().Sequence
		_, told := c.counts()
		time.Sleep(5 * s.turn())
		synctest.Wait()
		after, err := os.Stat(file)
		must(t, err)
		if !os.SameFile(before, after) {
			t.Error("it was written again")
		}
		if !after.ModTime().After(before.ModTime()) {
			t.Error("nobody can see when it was looked at")
		}
		if _, n := c.counts(); n < told+5 || c.lastReport().Sequence < sequence+5 {
			t.Errorf("%d reports after %d, the last with %d after %d", n, told, c.lastReport().Sequence, sequence)
		}
		if l, err := s.folder.Latest(); err != nil || !l.Committed {
			t.Errorf("%+v %v", l, err)
		}
		sequence = c.lastReport().Sequence
		s.stop()
		s = begin(t, root, c)
		defer s.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := c.lastReport(); got.Sequence <= sequence {
			t.Errorf("report %d after %d", got.Sequence, sequence)
		}
		must(t, os.WriteFile(filepath.Join(root, "a"), []byte("by hand"), 0o644))
		time.Sleep(s.turn())
		synctest.Wait()
		l, err := s.folder.Latest()
		must(t, err)
		if !l.Committed || !l.Report.Resources[0].Fixed {
			t.Errorf("drift is not in the report on the disk: %+v", l)
		}
	})
}

// What was not told before a stop is told after it, though the look at the start
// says the same.
func TestWhatWasNotToldIsToldAfterARestart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/a", "one"))
		c.lossy = true
		s := begin(t, root, c)
		time.Sleep(time.Hour)
		synctest.Wait()
		if l, err := s.folder.Standing(); err != nil || l.Committed {
			t.Errorf("without a receipt it is %+v %v", l, err)
		}
		s.stop()
		c.set(func(c *controller) { c.lossy = false })
		s = begin(t, root, c)
		defer s.stop()
		time.Sleep(s.turn())
		synctest.Wait()
		if l, err := s.folder.Latest(); err != nil || !l.Committed {
			t.Errorf("%+v %v", l, err)
		}
	})
}
