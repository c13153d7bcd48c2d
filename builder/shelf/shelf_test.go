package shelf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string, most int64) *Shelf {
	t.Helper()
	s, err := Open(Config{Dir: dir, Most: most})
	must(t, err)
	return s
}

// put keeps a folder with one file, of so many bytes.
func put(t *testing.T, s *Shelf, name string, size int64, used ...string) Folder {
	t.Helper()
	f, err := s.Put(name, func(n string) bool {
		for _, u := range used {
			if n == u {
				return true
			}
		}
		return false
	}, func(dir string) (About, error) {
		return About{Size: size}, os.WriteFile(filepath.Join(dir, "file"), []byte(name), 0o644)
	})
	must(t, err)
	return f
}

func TestWhatIsKeptIsThereForTheNext(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shelf")
	s := open(t, dir, 1000)
	if _, ok := s.Have("a"); ok {
		t.Error("it has what was never put there")
	}
	put(t, s, "a", 10)
	s = open(t, dir, 1000) // another builder on the same folder
	f, ok := s.Have("a")
	text, err := os.ReadFile(filepath.Join(f.Dir, "file"))
	if !ok || err != nil || string(text) != "a" || f.Size != 10 {
		t.Errorf("%+v %v: %q, %v", f, ok, text, err)
	}
}

// What a killed builder had begun, what failed, and what somebody's hand has
// taken from are not taken for whole.
func TestHalfOfAFolderIsNone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shelf")
	s := open(t, dir, 1000)
	_, err := s.Put("a", func(string) bool { return false }, func(dir string) (About, error) {
		must(t, os.WriteFile(filepath.Join(dir, "half"), nil, 0o600))
		if _, ok := s.Have("a"); ok {
			t.Error("it is there while it is made")
		}
		return About{}, os.ErrDeadlineExceeded
	})
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
	half := filepath.Join(dir, begun, "b", inside)
	must(t, os.MkdirAll(half, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, begun, "b", about), []byte(`{"entries": 1}`), 0o600))
	s = open(t, dir, 1000)
	for _, name := range []string{"a", "b"} {
		if _, ok := s.Have(name); ok {
			t.Errorf("half of %s is taken for whole", name)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, begun)); err != nil || len(left) > 0 {
		t.Errorf("it stays: %v, %v", left, err)
	}
	f := put(t, s, "a", 10)
	must(t, os.Remove(filepath.Join(f.Dir, "file")))
	s = open(t, dir, 1000)
	if _, ok := s.Have("a"); ok {
		t.Error("what lacks a file is taken for whole")
	}
	put(t, s, "a", 10)
}

func TestWhatWasNotUsedForLongestGoesFirst(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shelf")
	s := open(t, dir, 30)
	for i, name := range []string{"a", "b", "c"} {
		f := put(t, s, name, 10)
		old := time.Now().Add(time.Duration(i-10) * time.Minute)
		must(t, os.Chtimes(filepath.Join(filepath.Dir(f.Dir), about), old, old))
	}
	if _, ok := s.Have("b"); !ok { // it is used
		t.Fatal("b is gone")
	}
	put(t, s, "d", 10, "a")
	for name, want := range map[string]bool{"a": true, "b": true, "c": false, "d": true} {
		if _, err := os.Stat(filepath.Join(dir, whole, name)); errors.Is(err, fs.ErrNotExist) == want {
			t.Errorf("%s is there: %v", name, !want)
		}
	}
	if f := put(t, s, "huge", 1000); f.Size != 1000 {
		t.Errorf("what is used now is not kept: %+v", f)
	}
}

func TestADiskIsNotFilled(t *testing.T) {
	t.Parallel()
	s, err := Open(Config{Dir: filepath.Join(t.TempDir(), "shelf"), Free: 1 << 60})
	must(t, err)
	if err := s.Room(1); err == nil {
		t.Error("there is room where none is to be taken")
	}
}
