package system

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"noxmesh/internal/fault"
)

func watched(t *testing.T) *Watch {
	t.Helper()
	w, err := NewWatch()
	must(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func (w *Watch) must(t *testing.T) Heard {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // what was done before is heard at once
	defer cancel()
	h, err := w.Next(ctx)
	must(t, err)
	return h
}

func TestWhatChangesInAFolderIsHeard(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	in := func(name string) string { return filepath.Join(dir, "etc", name) }
	must(t, os.MkdirAll(in("sub"), 0o755))
	must(t, os.WriteFile(in("file"), []byte("one"), 0o644))
	w := watched(t)
	n, err := w.Over(r, []string{"/etc", "/none", "/etc/file"})
	if n != 1 || err != nil {
		t.Fatalf("%d are heard of, %v", n, err)
	}
	held, err := os.OpenFile(in("file"), os.O_WRONLY, 0)
	must(t, err)
	defer held.Close()
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"written, and not closed", func() error { _, err := held.WriteString("two"); return err }},
		{"cut", func() error { return os.Truncate(in("file"), 1) }},
		{"mode", func() error { return os.Chmod(in("file"), 0o600) }},
		{"replaced", func() error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "new"), nil, 0o644), os.Rename(filepath.Join(dir, "new"), in("file")))
		}},
		{"removed and made again", func() error { return errors.Join(os.Remove(in("file")), os.WriteFile(in("file"), nil, 0o600)) }},
	} {
		must(t, c.do())
		if h := w.must(t); !slices.Equal(h.Places, []string{"/etc/file"}) || h.All || h.Lost {
			t.Errorf("%s: %+v", c.name, h)
		}
	}
	must(t, os.Chmod(in("sub"), 0o700))
	if h := w.must(t); !slices.Equal(h.Places, []string{"/etc/sub"}) {
		t.Errorf("the mode of a folder: %+v", h)
	}
	must(t, os.Chmod(in(""), 0o700))
	if h := w.must(t); !slices.Equal(h.Places, []string{"/etc"}) {
		t.Errorf("its own: %+v", h)
	}
	if _, err := os.ReadFile(in("file")); err != nil { // to look is nothing that is heard
		t.Error(err)
	}
	must(t, os.Rename(in(""), filepath.Join(dir, "away")))
	if h := w.must(t); !h.Lost || len(h.Places) > 0 {
		t.Errorf("moved: %+v", h)
	}
}

func TestAWatchIsOverWhatItWasToldLast(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	for _, name := range []string{"a", "b"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	write := func(name string) { must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644)) }
	w := watched(t)
	for range 2 {
		if n, err := w.Over(r, []string{"/a", "/b"}); n != 2 || err != nil {
			t.Fatal(n, err)
		}
	}
	write("a/before")
	if n, err := w.Over(r, []string{"/b"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	write("a/after")
	write("b/file")
	if h := w.must(t); !slices.Equal(h.Places, []string{"/b/file"}) || h.Lost {
		t.Errorf("%+v", h)
	}
	must(t, os.RemoveAll(filepath.Join(dir, "b")))
	for h := w.must(t); !h.Lost; h = w.must(t) {
	}
	must(t, os.Mkdir(filepath.Join(dir, "b"), 0o755))
	if n, err := w.Over(r, []string{"/b"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	write("b/again")
	if h := w.must(t); !slices.Contains(h.Places, "/b/again") {
		t.Errorf("%+v", h)
	}
}

// Another folder at the same path, and a folder of no root, are no surprise.
func TestAWatchLeavesTheRootByNoLink(t *testing.T) {
	t.Parallel()
	dir, r := machine(t)
	outside := t.TempDir()
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	w := watched(t)
	if n, err := w.Over(r, []string{"/out", "/out/x"}); n != 0 || err != nil {
		t.Errorf("%d are heard of, %v", n, err)
	}
}

func TestMoreThanTheKernelRemembersIsAll(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	must(t, err)
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	if most > 1<<16 {
		t.Skipf("this kernel remembers %d events", most)
	}
	dir, r := machine(t)
	names := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for _, n := range names {
		must(t, os.WriteFile(n, nil, 0o644))
	}
	w := watched(t)
	_, err = w.Over(r, []string{"/"})
	must(t, err)
	for i := range most + 1 {
		must(t, os.Chmod(names[i%2], 0o600)) // twice the same in a row would be one
	}
	for h := w.must(t); !h.All; h = w.must(t) {
	}
}

func TestAWatchEndsWhenItIsToldTo(t *testing.T) {
	t.Parallel()
	_, r := machine(t)
	w := watched(t)
	_, err := w.Over(r, []string{"/"})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := w.Next(ctx)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	other := watched(t)
	must(t, other.Close())
	if _, err := other.Next(t.Context()); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
	if n, err := other.Over(r, []string{"/"}); n != 0 && err == nil {
		t.Errorf("a closed one hears of %d", n)
	}
}
