package power

import (
	"os"
	"path/filepath"
	"testing"
)

// put replaces a file as every writer of mesh must: written beside, synced,
// renamed, and the folder synced. A step that is left out is a planted fault.
func put(t *testing.T, path, content, without string) {
	t.Helper()
	f, err := os.Create(path + ".new")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(content); err != nil {
		t.Fatal(err)
	}
	if without != "file" {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if without == "folder" || without == "file" {
		return
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		t.Fatal(err)
	}
}

// TestACutLosesWhatWasNotSynced is the test of the tester: with a sync left
// out, what a writer has said is on the disk is not there after the cut.
func TestACutLosesWhatWasNotSynced(t *testing.T) {
	t.Parallel()
	for without, want := range map[string]string{"": "new", "folder": "old", "file": "old"} {
		t.Run("without "+without, func(t *testing.T) {
			t.Parallel()
			d := New(t, "16M")
			path := filepath.Join(d.Dir, "state")
			put(t, path, "old", "")
			put(t, path, "new", without)
			d.Fail(Lost)
			d.Back()
			got, err := os.ReadFile(path)
			if err != nil || string(got) != want {
				t.Errorf("after the cut it is %q, %v; want %q", got, err, want)
			}
			put(t, path+".first", "first", without)
			d.Fail(Lost)
			d.Back()
			first, err := os.ReadFile(path + ".first")
			if there := err == nil && string(first) == "first"; there != (without == "") {
				t.Errorf("after the cut the first one is %q, %v", first, err)
			}
		})
	}
}

func TestAnImageIsTheDiskAgain(t *testing.T) {
	t.Parallel()
	d := New(t, "16M")
	put(t, filepath.Join(d.Dir, "a"), "a", "")
	image := d.Image()
	for range 2 {
		again := image.Mount(t)
		if got, err := os.ReadFile(filepath.Join(again.Dir, "a")); err != nil || string(got) != "a" {
			t.Errorf("%q %v", got, err)
		}
		put(t, filepath.Join(again.Dir, "a"), "b", "")
	}
}

func TestADiskIsFullAndShut(t *testing.T) {
	t.Parallel()
	d := New(t, "16M")
	free := d.Fill(8 << 10)
	if err := os.WriteFile(filepath.Join(d.Dir, "b"), make([]byte, 64<<10), 0o600); err == nil {
		t.Error("there is room on a full disk")
	}
	free()
	if err := os.WriteFile(filepath.Join(d.Dir, "b"), make([]byte, 64<<10), 0o600); err != nil {
		t.Error(err)
	}
	d.ReadOnly()
	if err := os.WriteFile(filepath.Join(d.Dir, "c"), nil, 0o600); err == nil {
		t.Error("a read-only disk was written")
	}
	d.Back()
	if err := os.WriteFile(filepath.Join(d.Dir, "c"), nil, 0o600); err != nil {
		t.Error(err)
	}
	d.Fail(Lost)
	if err := os.WriteFile(filepath.Join(d.Dir, "d"), nil, 0o600); err == nil {
		t.Error("a disk that has failed was written")
	}
	d.Back()
}
