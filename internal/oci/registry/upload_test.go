package registry

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"noxmesh/internal/oci"
)

// underWay is the uploads that a registry keeps in a folder.
func underWay(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(dir, repositories, mine, "_uploads"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

// A push that there is no room for takes none: however often it is tried, what
// is free stays free, and what fits goes.
func TestAPushWithoutRoomTakesNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("only root may mount a file system: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	reg, err := New(Config{Dir: dir, Authorize: rules})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	srv := httptest.NewTLSServer(reg)
	defer srv.Close()
	c := (&served{t, dir, srv}).builder()
	free := func() int64 {
		var st syscall.Statfs_t
		if err := syscall.Statfs(dir, &st); err != nil {
			t.Fatal(err)
		}
		return int64(st.Bavail) * st.Bsize
	}
	began := free()
	for range 4 {
		blob, data := random(t, 4<<20)
		if err := c.PushBlob(t.Context(), blob, bytes.NewReader(data)); err == nil {
			t.Fatal("4 MiB have gone where 3 are free")
		}
		if left := underWay(t, dir); len(left) > 0 {
			t.Errorf("it leaves %v", left)
		}
		if now := free(); now < began-64<<10 {
			t.Errorf("%d bytes were free, and now %d are", began, now)
		}
	}
	blob, data := random(t, 2<<20)
	if err := c.PushBlob(t.Context(), blob, bytes.NewReader(data)); err != nil {
		t.Errorf("what there is room for: %v", err)
	}
}

// short ends before all that was promised has come.
type short struct{ io.Reader }

// A push that breaks off leaves nothing either.
func TestAPushThatBreaksOffLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	reg, err := New(Config{Dir: dir, Authorize: rules})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(reg)
	blob, data := random(t, 3<<20)
	c := (&served{t, dir, srv}).builder()
	if err := c.PushBlob(t.Context(), blob, short{bytes.NewReader(data[:2<<20])}); err == nil {
		t.Error("a part of it is all of it")
	}
	other := oci.Blob{Repository: blob.Repository, Digest: blob.Digest, Size: 2 << 20}
	if err := c.PushBlob(t.Context(), other, bytes.NewReader(data[:2<<20])); err == nil {
		t.Error("something else has gone under that digest")
	}
	srv.Close() // which waits for what it still does
	if left := underWay(t, dir); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
}
