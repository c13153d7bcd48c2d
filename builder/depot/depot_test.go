package depot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"noxmesh/builder/lock"
	"noxmesh/internal/fault"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string, most int64) *Depot {
	t.Helper()
	d, err := Open(Config{Dir: dir, Most: most})
	must(t, err)
	return d
}

func hashOf(text string) lock.Hash {
	sum := sha256.Sum256([]byte(text))
	return lock.Hash{Form: lock.SHA256, Sum: hex.EncodeToString(sum[:])}
}

func put(t *testing.T, d *Depot, text string) {
	t.Helper()
	f, err := d.Put([]lock.Hash{hashOf("another"), hashOf(text)}, 1000, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	must(t, err)
	defer f.Close()
	if got := content(t, f); got != text {
		t.Errorf("what was put is %q", got)
	}
}

func content(t *testing.T, f *File) string {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	must(t, err)
	return string(b)
}

func has(t *testing.T, d *Depot, text string) bool {
	t.Helper()
	f, err := d.Have([]lock.Hash{hashOf("another"), hashOf(text)})
	must(t, err)
	if f == nil {
		return false
	}
	defer f.Close()
	if got := content(t, f); got != text {
		t.Errorf("%q is kept as %q", got, text)
	}
	return true
}

func TestWhatIsKeptIsThereForTheNext(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "depot")
	d := open(t, dir, 1000)
	if has(t, d, "text") {
		t.Error("it has what was never put there")
	}
	put(t, d, "text")
	if !has(t, d, "text") || !has(t, open(t, dir, 1000), "text") {
		t.Error("it is gone")
	}
	info, err := os.Stat(filepath.Join(dir, whole))
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("others may look: %s", info.Mode())
	}
}

// What is not what the hash says is never kept, nor half of it; and what failed
// leaves nothing.
func TestOnlyWhatIsProvenIsKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "depot")
	d := open(t, dir, 1000)
	broken := errors.New("broken off")
	for text, then := range map[string]error{"tex": nil, "text and more": nil, "te": broken} {
		f, err := d.Put([]lock.Hash{hashOf("text")}, 1000, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, then)
		})
		if f != nil || err == nil || then != nil && !errors.Is(err, then) || then == nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := d.Put([]lock.Hash{hashOf("text")}, 3, func(w io.Writer) error {
		_, err := io.WriteString(w, "text")
		return err
	})
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "no more is taken") {
		t.Errorf("more than there may be: %v", err)
	}
	for _, sub := range []string{whole, begun} {
		if left, err := os.ReadDir(filepath.Join(dir, sub)); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v", sub, left, err)
		}
	}
}

// What was spoilt on the disk is not given, is said, and makes room for what is right.
func TestWhatIsSpoiltIsTakenAway(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "depot")
	d := open(t, dir, 1000)
	for _, spoil := range []string{"", "tex", "texx"} {
		put(t, d, "text")
		must(t, os.WriteFile(filepath.Join(dir, whole, hashOf("text").String()), []byte(spoil), 0o600))
		f, err := d.Have([]lock.Hash{hashOf("text")})
		if f != nil || err == nil || !strings.Contains(err.Error(), hashOf("text").String()) {
			t.Errorf("%q: %v, %v", spoil, f, err)
		}
		if has(t, d, "text") {
			t.Error("it is still there")
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, begun, "half"), []byte("x"), 0o600))
	open(t, dir, 1000)
	if left, err := os.ReadDir(filepath.Join(dir, begun)); err != nil || len(left) > 0 {
		t.Errorf("what was begun stays: %v, %v", left, err)
	}
}

func TestWhatWasNotUsedForLongestGoesFirst(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "depot")
	d := open(t, dir, 12)
	for i, text := range []string{"aaaa", "bbbb", "cccc"} {
		put(t, d, text)
		old := time.Now().Add(time.Duration(i-10) * time.Minute)
		must(t, os.Chtimes(filepath.Join(dir, whole, hashOf(text).String()), old, old))
	}
	d = open(t, dir, 12)
	if !has(t, d, "aaaa") { // it is used
		t.Fatal("aaaa is gone")
	}
	put(t, d, "dddd")
	for text, want := range map[string]bool{"aaaa": true, "bbbb": false, "cccc": true, "dddd": true} {
		if has(t, d, text) != want {
			t.Errorf("%s is there: %v", text, !want)
		}
	}
	put(t, d, strings.Repeat("e", 100))
	if !has(t, d, strings.Repeat("e", 100)) || has(t, d, "dddd") || len(d.Each()) != 1 {
		t.Errorf("what is used now is not kept, or too much is: %v", d.Each())
	}
}

func TestADiskIsNotFilled(t *testing.T) {
	t.Parallel()
	d, err := Open(Config{Dir: filepath.Join(t.TempDir(), "depot"), Most: 1 << 40, Free: 1 << 60})
	must(t, err)
	_, err = d.Put([]lock.Hash{hashOf("text")}, 1000, func(w io.Writer) error {
		_, err := io.WriteString(w, "text")
		return err
	})
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "make room there") {
		t.Errorf("there is room where none is to be taken: %v", err)
	}
	if _, err := Open(Config{Dir: "/dev/null/depot"}); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), `"/dev/null/depot"`) {
		t.Errorf("%v", err)
	}
}
