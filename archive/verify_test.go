package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/archive"
)

func TestVerify(t *testing.T) {
	t.Parallel()
	type found struct {
		Path string
		What archive.What
	}
	rewrite := func(name, content string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644) }
	}
	replace := func(name string, with func(p string) error) func(string) error {
		return func(dir string) error {
			p := filepath.Join(dir, name)
			return errors.Join(os.RemoveAll(p), with(p))
		}
	}
	chmod := func(name string, mode os.FileMode) func(string) error {
		return func(dir string) error { return os.Chmod(filepath.Join(dir, name), mode) }
	}
	fifo := func(p string) error { return syscall.Mkfifo(p, 0o644) }
	for name, c := range map[string]struct {
		change func(dir string) error
		want   []found
	}{
		"nothing":                {func(string) error { return nil }, nil},
		"time":                   {func(dir string) error { return os.Chtimes(filepath.Join(dir, "d/f"), time.Now(), time.Unix(1, 1)) }, nil},
		"something extra":        {rewrite("d/extra", "x"), nil},
		"other bytes":            {rewrite("d/f", "CONTENT\n"), []found{{"d/f", archive.WrongContent}}},
		"fewer bytes":            {rewrite("d/f", "con"), []found{{"d/f", archive.WrongContent}}},
		"more bytes":             {rewrite("d/f", "content\n\n"), []found{{"d/f", archive.WrongContent}}},
		"empty file filled":      {rewrite("empty", "x"), []found{{"empty", archive.WrongContent}}},
		"last byte of large":     {rewrite("large", noise(2<<20, 9)[:2<<20-1]+"!"), []found{{"large", archive.WrongContent}}},
		"file gone":              {func(dir string) error { return os.Remove(filepath.Join(dir, "d/f")) }, []found{{"d/f", archive.Missing}}},
		"executable now":         {chmod("d/f", 0o755), []found{{"d/f", archive.WrongMode}}},
		"not executable now":     {chmod("run", 0o644), []found{{"run", archive.WrongMode}}},
		"setuid":                 {chmod("run", 0o755|os.ModeSetuid), []found{{"run", archive.WrongMode}}},
		"writable by all":        {chmod("d/f", 0o666), []found{{"d/f", archive.WrongMode}}},
		"directory closed":       {chmod("d", 0o700), []found{{"d", archive.WrongMode}}},
		"directory for all":      {chmod("d", 0o777|os.ModeSticky), []found{{"d", archive.WrongMode}}},
		"other target":           {replace("l", func(p string) error { return os.Symlink("d/g", p) }), []found{{"l", archive.WrongTarget}}},
		"link out":               {replace("l", func(p string) error { return os.Symlink("/etc/passwd", p) }), []found{{"l", archive.WrongTarget}}},
		"file for a link":        {replace("l", func(p string) error { return os.WriteFile(p, []byte("d/f"), 0o600) }), []found{{"l", archive.WrongKind}}},
		"link for a file":        {replace("d/f", func(p string) error { return os.Symlink("../run", p) }), []found{{"d/f", archive.WrongKind}}},
		"link out for a file":    {replace("d/f", func(p string) error { return os.Symlink("/etc/passwd", p) }), []found{{"d/f", archive.WrongKind}}},
		"FIFO for a file":        {replace("d/f", fifo), []found{{"d/f", archive.WrongKind}}},
		"directory for a file":   {replace("d/f", func(p string) error { return os.Mkdir(p, 0o755) }), []found{{"d/f", archive.WrongKind}}},
		"FIFO for a directory":   {replace("d", fifo), []found{{"d", archive.WrongKind}, {"d/f", archive.Missing}, {"d/sub", archive.Missing}, {"d/sub/g", archive.Missing}}},
		"directory gone":         {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "d/sub")) }, []found{{"d/sub", archive.Missing}, {"d/sub/g", archive.Missing}}},
		"link out for directory": {replace("d/sub", func(p string) error { return os.Symlink("/etc", p) }), []found{{"d/sub", archive.WrongKind}, {"d/sub/g", archive.Missing}}},
		"moved and linked within": {func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "e")), os.Symlink("e", filepath.Join(dir, "d")))
		}, []found{{"d", archive.WrongKind}, {"d/f", archive.Missing}, {"d/sub", archive.Missing}, {"d/sub/g", archive.Missing}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plant(t, dir, map[string]string{
				"d/f": "content\n", "d/sub/g": "more\n", "run": "#!/bin/sh\n", "empty": "", "l": "->d/f", "large": noise(2<<20, 9),
			})
			packed, _ := pack(t, dir)
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			differences, err := archive.Verify(t.Context(), openRoot(t, dir), packed.Index)
			if err != nil {
				t.Fatal(err)
			}
			var have []found
			for _, d := range differences {
				have = append(have, found{d.Path, d.What})
				if d.Want == d.Have {
					t.Errorf("%+v: wants what it has", d)
				}
			}
			if diff := cmp.Diff(c.want, have); diff != "" {
				t.Errorf("Verify (-want +have):\n%s", diff)
			}
		})
	}
}

func TestExtra(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plant(t, dir, map[string]string{"d/f": "x", "l": "->d"})
	packed, _ := pack(t, dir)
	plant(t, dir, map[string]string{"d/more": "x", "e/f/g": "x", "z\xff\n": "x", "m": "->/etc"})
	extra, err := archive.Extra(t.Context(), openRoot(t, dir), packed.Index)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"d/more", "e", "m", "z\xff\n"}, extra); diff != "" {
		t.Errorf("Extra (-want +have):\n%s", diff)
	}
	// What an entry has become is Verify's to say.
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "d")), os.Symlink("/etc", filepath.Join(dir, "d"))); err != nil {
		t.Fatal(err)
	}
	extra, err = archive.Extra(t.Context(), openRoot(t, dir), packed.Index)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"e", "m", "z\xff\n"}, extra); diff != "" {
		t.Errorf("Extra (-want +have):\n%s", diff)
	}
}
