package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/archive"
	"noxmesh/internal/fault"
)

// TestSameBytes packs one content from two folders that differ in everything
// else, on one core and on several.
func TestSameBytes(t *testing.T) {
	first, second := site(t), filepath.Join(t.TempDir(), "another folder", "übung")
	again := site(t)
	if err := os.Mkdir(filepath.Dir(second), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(again, second); err != nil {
		t.Fatal(err)
	}
	disguise(t, second)
	want, blob := pack(t, first)
	t.Setenv("TZ", "Asia/Kathmandu")
	t.Setenv("LC_ALL", "tr_TR.UTF-8")
	for _, cores := range []int{1, 2, 7} {
		before := runtime.GOMAXPROCS(cores)
		have, haveBlob := pack(t, second)
		runtime.GOMAXPROCS(before)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("on %d cores (-first +second):\n%s", cores, diff)
		}
		if !bytes.Equal(blob, haveBlob) {
			t.Errorf("on %d cores: other bytes", cores)
		}
	}
}

// disguise gives everything in a folder another mode, time and, for root, owner.
func disguise(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() == fs.ModeSymlink {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if os.Geteuid() == 0 {
			if err := os.Lchown(p, 1234, 4321); err != nil {
				return err
			}
		}
		mode := info.Mode()&0o700 | 0o022
		if info.Mode()&0o100 != 0 {
			mode |= fs.ModeSetuid | fs.ModeSetgid
		}
		if err := os.Chmod(p, mode|info.Mode().Type()); err != nil {
			return err
		}
		return os.Chtimes(p, time.Unix(1e9, 0), time.Unix(2e9, 17))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestHardLinksAreFiles has two names of one file become two files.
func TestHardLinksAreFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a": "x"})
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	packed, _ := pack(t, dir)
	if diff := cmp.Diff(index(file("a", "x"), file("b", "x")), packed.Index); diff != "" {
		t.Error(diff)
	}
}

func TestPackRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		make  func(dir string) error
		names string // what the error must name
	}{
		"an empty folder":     {names: "nothing"},
		"a FIFO":              {make: func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644) }, names: `"pipe"`},
		"a socket":            {make: func(dir string) error { _, err := net.Listen("unix", filepath.Join(dir, "s")); return err }, names: `"s"`},
		"a device":            {make: func(dir string) error { return syscall.Mknod(filepath.Join(dir, "null"), syscall.S_IFCHR, 1<<8|3) }, names: `"null"`},
		"an absolute link":    {files: map[string]string{"etc": "->/etc/passwd"}, names: `"etc"`},
		"a link out":          {files: map[string]string{"d/l": "->../../x"}, names: `"d/l"`},
		"a link out by links": {files: map[string]string{"a/b/up": "->../..", "out": "->a/b/up/../x"}, names: `"out"`},
		"a link to itself":    {files: map[string]string{"l": "->l"}, names: `"l"`},
		"case twins":          {files: map[string]string{"d/Name": "x", "d/name": "y"}, names: `"d/Name" and "d/name"`},
		"a newline":           {files: map[string]string{"d/a\nb": "x"}, names: `"d/a\nb"`},
		"an escape sequence":  {files: map[string]string{"a\x1bb": "x"}, names: `"a\x1bb"`},
		"no UTF-8":            {files: map[string]string{"a\xffb": "x"}, names: `"a\xffb"`},
		"no UTF-8 in a link":  {files: map[string]string{"l": "->a\xffb"}, names: `"l"`},
		"a deep tree":         {files: map[string]string{strings.Repeat("d/", 256): ""}, names: "more than 255"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plant(t, dir, c.files)
			if c.make != nil {
				if err := c.make(dir); errors.Is(err, syscall.EPERM) {
					t.Skip("making one takes root")
				} else if err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			_, err := archive.Pack(t.Context(), openRoot(t, dir), &out)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.names) {
				t.Errorf("Pack: %v; want it refused as invalid, naming %s", err, c.names)
			}
			if out.Len() > 0 {
				t.Errorf("%d bytes were written before it was refused", out.Len())
			}
		})
	}
}

// TestPackRefusesWhatChanges has files change after the tree was listed.
func TestPackRefusesWhatChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p string) error{
		"longer":  func(p string) error { return os.WriteFile(p, []byte(noise(100, 1)), 0o644) },
		"shorter": func(p string) error { return os.Truncate(p, 3) },
		"gone":    os.Remove,
		"a FIFO": func(p string) error {
			return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o644))
		},
		"a link out": func(p string) error {
			return errors.Join(os.Remove(p), os.Symlink("/etc/hostname", p))
		},
		"a directory": func(p string) error {
			return errors.Join(os.Remove(p), os.Mkdir(p, 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// The first frames fill the line, so that the last file has not been
			// read when the first bytes come out.
			plant(t, dir, map[string]string{"a": noise((4*runtime.NumCPU()+8)<<20, 5), "z": "content\n"})
			changed := false
			_, err := archive.Pack(t.Context(), openRoot(t, dir), onWrite(func() error {
				if changed {
					return nil
				}
				changed = true
				return change(filepath.Join(dir, "z"))
			}))
			if err == nil || !strings.Contains(err.Error(), `"z"`) {
				t.Errorf("Pack: %v; want it refused, naming the file", err)
			}
		})
	}
}

// onWrite is a writer that calls itself for each write.
type onWrite func() error

func (f onWrite) Write(p []byte) (int, error) { return len(p), f() }

func TestPackEndsWhereItCannotWrite(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left")
	n := 0
	_, err := archive.Pack(t.Context(), openRoot(t, site(t)), onWrite(func() error {
		if n++; n > 2 {
			return full
		}
		return nil
	}))
	if !errors.Is(err, full) {
		t.Errorf("Pack: %v", err)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := site(t)
	packed, blob := pack(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := archive.Pack(ctx, openRoot(t, dir), onWrite(func() error { cancel(); return nil }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Pack: %v", err)
	}
	if _, err := archive.Pack(ctx, openRoot(t, dir), io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("Pack: %v", err)
	}
	if _, err := archive.Verify(ctx, openRoot(t, dir), packed.Index); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	all := func(archive.Entry) bool { return true }
	err = archive.Extract(ctx, packed.Index, source(blob), all, func(archive.Entry, io.Reader) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Extract: %v", err)
	}
	failed := errors.New("the disk is full")
	err = archive.Extract(t.Context(), packed.Index, source(blob), all, func(archive.Entry, io.Reader) error { return failed })
	if !errors.Is(err, failed) {
		t.Errorf("Extract: %v", err)
	}
}
