package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/document"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// ears is a watch that hears what it is told.
type ears struct {
	tells   chan system.Heard
	folders []string
	overs   int
	err     error
}

func (e *ears) Over(_ *system.Root, folders []string) (int, error) {
	e.folders, e.overs = slices.Clone(folders), e.overs+1
	return len(folders), e.err
}

func (e *ears) Next(ctx context.Context) (system.Heard, error) {
	select {
	case <-ctx.Done():
		return system.Heard{}, ctx.Err()
	case h, ok := <-e.tells:
		if !ok {
			return h, fault.New(fault.Conflict, "deaf")
		}
		return h, nil
	}
}

func (e *ears) at(places ...string) { e.tells <- system.Heard{Places: places} }

// hearing is begin, with a watch.
func hearing(t testing.TB, root string, c *controller, w Watch, cfg Config) *started {
	t.Helper()
	n, err := open(cfg)
	must(t, err)
	m, err := newMember(n)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	s := &started{runner: newRunner(n, m, c, c.blobs), t: t, root: root}
	s.watch = w
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	s.stop = func() {
		cancel()
		must(t, errors.Join(<-done, m.gate.Close(), n.close()))
	}
	return s
}

func TestPace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cost, ago, want time.Duration }{
		{0, 0, quiet},
		{time.Millisecond, time.Hour, quiet},
		{80 * time.Millisecond, time.Hour, quiet},
		{80 * time.Millisecond, 0, 800 * time.Millisecond},
		{80 * time.Millisecond, 500 * time.Millisecond, 300 * time.Millisecond},
	} {
		if got := pace(c.cost, c.ago); got != c.want {
			t.Errorf("a look of %s, %s ago: %s, want %s", c.cost, c.ago, got, c.want)
		}
	}
}

func TestStillness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, c := range []struct {
			r    *runner
			want time.Duration
		}{
			{&runner{}, quiet},
			{&runner{cost: time.Second, looked: now.Add(-8 * time.Second)}, 2 * time.Second},
			{&runner{cost: 20 * time.Second, looked: now}, paceMost},
			{&runner{glance: 2 * time.Second, glanced: now}, 20 * time.Second},
			{&runner{glance: 2 * time.Second, glanced: now.Add(-time.Hour)}, quiet},
		} {
			if got := c.r.stillness(); got != c.want {
				t.Errorf("%s after %s, %s after %s: %s, want %s", c.r.cost, c.r.looked, c.r.glance, c.r.glanced, got, c.want)
			}
		}
	})
}

// An event makes the drift timer fast: the look is one quiet moment later, for any
// number of events, and what the host itself has written asks for none.
func TestAnEventIsALookSoon(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		d := declared(c, 1, "/etc/a", "one", "/b", "two")
		c.declare(d)
		e := &ears{tells: make(chan system.Heard, 10)}
		s := hearing(t, root, c, e, configured(root))
		defer s.stop()
		time.Sleep(time.Second)
		synctest.Wait()
		if !slices.Equal(e.folders, []string{"/", "/etc"}) {
			t.Fatalf("it listens to %q", e.folders)
		}
		passes := func() int { _, reports := c.counts(); return reports }
		one := func(what, why string, h system.Heard, want int) {
			t.Helper()
			before := passes()
			began := time.Now()
			for range 5 {
				e.tells <- h
			}
			time.Sleep(quiet - time.Millisecond)
			synctest.Wait()
			if passes() != before {
				t.Errorf("%s: it has looked before it was quiet", what)
			}
			time.Sleep(time.Second - time.Since(began))
			synctest.Wait()
			if got := passes() - before; got != want {
				t.Errorf("%s: %d looks, want %d", what, got, want)
			}
			s.is("/etc/a", "one")
			s.is("/b", "two")
			if r := c.lastReport(); want > 0 && (r.Cause != report.CauseEvent || !r.Resources[0].Fixed || r.Resources[0].Found != why) {
				t.Errorf("%s: %s %+v", what, r.Cause, r.Resources[0])
			}
		}
		at := system.Heard{Places: []string{"/etc/a"}}
		one("its own writing", "", at, 0)
		one("another's file", "", system.Heard{Places: []string{"/etc/log", "/etc"}}, 0)
		file := filepath.Join(root, "etc/a")
		must(t, os.WriteFile(file, []byte("by hand"), 0o644))
		one("other bytes", "other content (7 bytes)", at, 1)
		must(t, os.WriteFile(file, []byte("eno"), 0o644))
		one("as many others", "other content ("+document.Sum([]byte("eno")).Short()+")", at, 1)
		e.folders = nil
		one("what came to an end", "", system.Heard{Lost: true}, 0)
		if e.folders == nil {
			t.Error("what was lost is not listened to again")
		}
		must(t, os.Chmod(file, 0o600))
		one("too much to say", "mode 0600", system.Heard{All: true}, 1)
		before, sequence := passes(), c.lastReport().Sequence
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if passes() != before || c.lastReport().Sequence != sequence {
			t.Error("it goes on by itself")
		}
		close(e.tells) // it hears nothing any more: there is the timer
		must(t, os.WriteFile(file, []byte("by hand"), 0o644))
		time.Sleep(s.turn())
		synctest.Wait()
		s.is("/etc/a", "one")
	})
}

// What cannot be put back is tried when its time comes, and not at every event.
func TestAnEventHurriesNothingThatHasFailed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/etc/a", "one"))
		e := &ears{tells: make(chan system.Heard, 10), err: fault.New(fault.Conflict, "no more watches")}
		s := hearing(t, root, c, e, configured(root))
		defer s.stop()
		time.Sleep(time.Second)
		synctest.Wait()
		must(t, os.Remove(filepath.Join(root, "etc/a")))
		plant(t, filepath.Join(root, "etc/a/theirs"), "x")
		before := e.overs
		for range 120 {
			e.at("/etc/a")
			time.Sleep(5 * time.Second)
		}
		synctest.Wait()
		if n := e.overs - before; n < 5 || n > 9 { // 5 s, doubled up to 5 min, a tenth more or less
			t.Errorf("%d looks in ten minutes", n)
		}
	})
}

// On the real kernel, everything that is kept is put back within moments, though
// the timer is an hour away.
func TestWhatChangesIsPutBackAtOnce(t *testing.T) {
	t.Parallel()
	root := joinedRoot(t)
	c := newController(t)
	d := declared(c, 1, "/etc/a", "one", "/opt/x/b", "two")
	site(t, c, &d, "a page")
	c.declare(d)
	w, err := system.NewWatch()
	must(t, err)
	defer w.Close()
	cfg := configured(root)
	cfg.Drift, cfg.Backoff, cfg.BackoffMost = time.Hour, time.Hour, time.Hour
	s := hearing(t, root, c, w, cfg)
	defer s.stop()
	in := func(p string) string { return filepath.Join(root, p) }
	last := func() report.Report {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.reports) == 0 {
			return report.Report{}
		}
		return c.reports[len(c.reports)-1]
	}
	wait := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: it does not come about; the last report is %+v", what, last())
			}
		}
	}
	put := func(p, content string) error { // in one step: half a change would be found, and put back
		return errors.Join(os.WriteFile(in("new"), []byte(content), 0o644), os.Rename(in("new"), in(p)))
	}
	wait("the first", func() bool { return last().Outcome == report.OutcomeApplied })
	for _, drift := range []struct {
		name, path, want, found string
		do                      func() error
	}{
		{"other bytes", "/etc/a", "one", "other content (5 bytes)", func() error { return put("/etc/a", "three") }},
		{"removed", "/opt/x/b", "two", "nothing", func() error { return os.Remove(in("/opt/x/b")) }},
		{"replaced", "/opt/x/b", "two", "a link", func() error {
			return errors.Join(os.Symlink("a", in("/opt/x/new")), os.Rename(in("/opt/x/new"), in("/opt/x/b")))
		}},
		{"in an archive", "/site/page", "a page", "page: other content (1 bytes)", func() error { return put("/site/page", "x") }},
		{"a folder is gone", "/site/page", "a page", "nothing", func() error { return errors.Join(os.Rename(in("/site"), in("/gone")), os.RemoveAll(in("/gone"))) }},
		{"in the one that was made again", "/site/page", "a page", "page: nothing", func() error { return os.Remove(in("/site/page")) }},
		{"a folder is renamed", "/etc/a", "one", "nothing", func() error { return os.Rename(in("/etc"), in("/away")) }},
		{"in the one in its place", "/etc/a", "one", "other content (1 bytes)", func() error { return put("/etc/a", "x") }},
	} {
		before := last().Sequence
		must(t, drift.do())
		var r report.Report
		wait(drift.name, func() bool { r = last(); return r.Sequence > before && r.Outcome == report.OutcomeApplied })
		s.is(drift.path, drift.want)
		if r.Cause != report.CauseEvent || !slices.ContainsFunc(r.Resources, func(res report.Resource) bool {
			return res.Fixed && res.State == report.StateChanged && strings.Contains(res.Found, drift.found)
		}) {
			t.Errorf("%s: %s %+v", drift.name, r.Cause, r.Resources)
		}
	}
}
