package archive_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// outside is a folder to unpack into, and the world around it that must stay as it was.
type outside struct {
	dir    string
	target *os.Root
	before string
}

func newOutside(t testing.TB) *outside {
	t.Helper()
	dir := t.TempDir()
	plant(t, dir, map[string]string{
		"secret":         "secret\n",
		"outside/secret": "secret\n",
		"outside/run":    "#!/bin/sh\n",
		"target/":        "",
	})
	return &outside{dir: dir, target: openRoot(t, filepath.Join(dir, "target")), before: snapshot(t, dir, "target")}
}

// unchanged fails the test where anything outside the target is not as it was.
func (o *outside) unchanged(t testing.TB) {
	t.Helper()
	if after := snapshot(t, o.dir, "target"); after != o.before {
		t.Errorf("the world outside the target changed; before:\n%s\nafter:\n%s", o.before, after)
	}
}

// empty fails the test where anything was written at all.
func (o *outside) empty(t testing.TB) {
	t.Helper()
	names, err := fs.ReadDir(o.target.FS(), ".")
	if err != nil || len(names) > 0 {
		t.Errorf("written before it was refused: %v, %v", names, err)
	}
}

// snapshot is every path below dir with its mode, owner, times, inode and digest,
// but for one folder: were anything made, written, replaced or linked, however
// briefly, it would be another.
func snapshot(t testing.TB, dir, skip string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if skip != "" && p == filepath.Join(dir, skip) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			t.Fatal("no inode")
		}
		fmt.Fprint(&all, p, " ", info.Mode(), " ", st.Uid, " ", st.Gid, " ", st.Ino, " ", info.ModTime().UnixNano())
		if skip == "" { // a test of its own may link to what is outside
			fmt.Fprint(&all, " ", st.Nlink, " ", st.Ctim)
		}
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&all, " %x", sha256.Sum256(b))
		}
		all.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
