package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"noxmesh/archive"
	"noxmesh/archive/archivetest"
)

// counted is a source that writes down what is read of it.
type counted struct {
	archive.Source
	mu     sync.Mutex // guards ranges
	ranges [][2]int64
}

func (c *counted) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	c.mu.Lock()
	c.ranges = append(c.ranges, [2]int64{off, n})
	c.mu.Unlock()
	if n <= 0 || off < 0 || off+n > c.Size() {
		return nil, fmt.Errorf("range %d+%d of %d bytes", off, n, c.Size())
	}
	return c.Source.ReadRange(ctx, off, n)
}

// bytes is how much was read in all.
func (c *counted) bytes() (n int64) {
	for _, r := range c.ranges {
		n += r[1]
	}
	return n
}

// tree draws a folder as plant takes it.
func tree(t *rapid.T) map[string]string {
	name := rapid.OneOf(
		rapid.StringMatching(`[a-e]{1,2}`),
		rapid.StringMatching(`[äöü☃ '"\\*.-]{1,3}z`),
		rapid.Just(strings.Repeat("n", 120)),
	)
	size := rapid.OneOf(
		rapid.IntRange(0, 3),
		rapid.IntRange(500, 1100),
		rapid.IntRange(1<<20-1200, 1<<20+1200),
		rapid.IntRange(2<<20-600, 2<<20+600),
	)
	files := map[string]string{}
	for range rapid.IntRange(1, 14).Draw(t, "entries") {
		p := strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "path"), "/")
		if taken(files, p) {
			continue
		}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			files[p+"/"] = ""
		case 1:
			files[p] = "->" + name.Draw(t, "target")
		case 2:
			files[p] = "#!" + noise(size.Draw(t, "size"), 11)
		case 3:
			files[p] = strings.Repeat("\x00", size.Draw(t, "size"))
		default:
			files[p] = noise(size.Draw(t, "size"), uint64(len(files)+1))
		}
	}
	return files
}

// taken reports whether p cannot stand beside what is there.
func taken(files map[string]string, p string) bool {
	for have := range files {
		clean := strings.TrimSuffix(have, "/")
		if clean == p || strings.HasPrefix(clean, p+"/") || (!strings.HasSuffix(have, "/") && strings.HasPrefix(p, clean+"/")) {
			return true
		}
	}
	return false
}

// linked reports whether Pack refuses the tree for a link that leads nowhere good; not judged here.
func refusedForLinks(err error) bool {
	return err != nil && strings.Contains(err.Error(), "link")
}

// TestAnyTree packs any tree and reads back any part of it.
func TestAnyTree(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		files := tree(r)
		if err := os.Mkdir(dir, 0o755); err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		plant(t, dir, files)
		root, err := os.OpenRoot(dir)
		if err != nil {
			r.Fatal(err)
		}
		defer root.Close()
		var blob bytes.Buffer
		packed, err := archive.Pack(t.Context(), root, &blob)
		if refusedForLinks(err) || len(files) == 0 {
			r.Skip("a link in a circle")
		}
		if err != nil {
			r.Fatal(err)
		}
		wanted := map[string]bool{}
		for _, e := range packed.Index.Entries {
			wanted[e.Path] = rapid.Bool().Draw(r, "want")
		}
		readBack(t, r, files, packedTree{packed, blob.Bytes()}, wanted)
	})
}

// packedTree is what Pack made of a tree.
type packedTree struct {
	packed archive.Packed
	blob   []byte
}

// readBack extracts what is wanted and holds it against the files.
func readBack(t *testing.T, r *rapid.T, files map[string]string, p packedTree, wanted map[string]bool) {
	t.Helper()
	packed, blob := p.packed, p.blob
	src := &counted{Source: source(blob)}
	var order []string
	err := archive.Extract(t.Context(), packed.Index, src, func(e archive.Entry) bool { return wanted[e.Path] }, func(e archive.Entry, content io.Reader) error {
		order = append(order, e.Path)
		b, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		want := files[e.Path]
		if e.Kind != archive.File {
			want = ""
		}
		if string(b) != want {
			r.Errorf("%q has %d other bytes", e.Path, len(b))
		}
		if target, ok := strings.CutPrefix(files[e.Path], "->"); ok && (e.Kind != archive.Link || e.Target != target) {
			r.Errorf("%q is not the link to %q: %+v", e.Path, target, e)
		}
		if e.Executable != strings.HasPrefix(files[e.Path], "#!") {
			r.Errorf("%q: executable %v", e.Path, e.Executable)
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	var want []string
	for _, e := range packed.Index.Entries {
		if wanted[e.Path] {
			want = append(want, e.Path)
		}
	}
	if diff := cmp.Diff(want, order); diff != "" {
		r.Errorf("not what was wanted, in order (-want +have):\n%s", diff)
	}
	var last int64
	for i, span := range src.ranges[min(1, len(src.ranges)):] { // the first is the table
		if span[0] < last {
			r.Errorf("range %d at %d was read before: %v", i, span[0], src.ranges)
		}
		last = span[0] + span[1]
	}
}

// TestFetchesOnlyWhatItNeeds counts the bytes that a changed file costs.
func TestFetchesOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{"dir/": "", "link": "->dir"}
	for i := range 16 {
		files[fmt.Sprintf("large%02d", i)] = noise(3<<19, uint64(i+1))
	}
	for i := range 400 {
		files[fmt.Sprintf("small%03d", i)] = noise(8<<10, uint64(i+1))
	}
	plant(t, dir, files)
	packed, blob := pack(t, dir)
	table := int64(40*64 + 24) // more rows than there are frames
	for name, c := range map[string]struct {
		want   map[string]bool
		bytes  int64
		ranges int
	}{
		"nothing":                     {nil, 0, 0},
		"a directory and a link":      {map[string]bool{"dir": true, "link": true}, 0, 0},
		"a small file":                {map[string]bool{"small200": true}, 1<<20 + 1<<10, 2},
		"a large file":                {map[string]bool{"large07": true}, 3<<19 + 2<<10, 2},
		"two files beside each other": {map[string]bool{"large07": true, "large08": true}, 2 * (3<<19 + 2<<10), 2},
		"two files apart":             {map[string]bool{"large03": true, "large08": true}, 2 * (3<<19 + 2<<10), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &counted{Source: source(blob)}
			n := 0
			err := archive.Extract(t.Context(), packed.Index, src, func(e archive.Entry) bool { return c.want[e.Path] }, func(archive.Entry, io.Reader) error { n++; return nil })
			if err != nil || n != len(c.want) {
				t.Fatalf("%d of %d entries, %v", n, len(c.want), err)
			}
			limit := c.bytes
			if limit > 0 {
				limit += table
			}
			if src.bytes() > limit || len(src.ranges) != c.ranges {
				t.Errorf("read %d bytes in %d ranges, want at most %d in %d", src.bytes(), len(src.ranges), limit, c.ranges)
			}
		})
	}
}

// TestLinksStayInside makes the links of any index that Check allows, and asks the kernel where they lead.
func TestLinksStayInside(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	element := rapid.SampledFrom([]string{"..", "..", ".", "a", "b", "c", "l", "m", "n"})
	drawn := rapid.Custom(func(r *rapid.T) archive.Index {
		entries := []archive.Entry{directory("a"), directory("a/b"), directory("a/b/c")}
		for _, in := range []string{"a/b/c/", "a/b/", "a/", ""} {
			for _, name := range []string{"l", "m", "n"} {
				if rapid.Bool().Draw(r, "there") {
					target := strings.Join(rapid.SliceOfN(element, 1, 5).Draw(r, "target"), "/")
					entries = append(entries, link(in+name, target))
				}
			}
		}
		return archivetest.Sorted(entries)
	})
	allowed := 0
	for i := range 100 { // the same ones each time
		if drawn.Example(i).Check() == nil {
			allowed++
		}
	}
	if allowed == 0 {
		t.Error("no index is allowed: nothing is tested")
	}
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		idx := drawn.Draw(r, "index")
		if idx.Check() != nil {
			return
		}
		n++
		// Deep enough that ".." never meets the real root, where it stops.
		top := filepath.Join(base, fmt.Sprint(n), "1/2/3/4/5/6/7/8/9")
		for _, e := range idx.Entries {
			var err error
			if e.Kind == archive.Directory {
				err = os.MkdirAll(filepath.Join(top, e.Path), 0o755)
			} else {
				err = os.MkdirAll(filepath.Dir(filepath.Join(top, e.Path)), 0o755)
				if err == nil {
					err = os.Symlink(e.Target, filepath.Join(top, e.Path))
				}
			}
			if err != nil {
				r.Fatal(err)
			}
		}
		for _, e := range idx.Entries {
			end, err := filepath.EvalSymlinks(filepath.Join(top, e.Path))
			if err == nil && end != top && !strings.HasPrefix(end, top+"/") {
				r.Errorf("%q leads to %q", e.Path, end)
			}
		}
	})
}
