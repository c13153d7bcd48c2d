package rootfs

import (
	"archive/tar"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci/imagetest"
	"noxmesh/internal/oci/remote"
)

const here = "linux/amd64"

type rig struct {
	t       *testing.T
	images  *imagetest.Registry
	dir     string
	most    int64
	free    int64
	store   *Store
	outside string // a file that no layer may touch
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, images: imagetest.Serve(t), dir: filepath.Join(t.TempDir(), "images"), most: 1 << 30}
	r.outside = filepath.Join(filepath.Dir(r.dir), "outside")
	if err := os.WriteFile(r.outside, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.open()
	return r
}

// open is another process on the same folder.
func (r *rig) open() {
	r.t.Helper()
	c := remote.New(remote.Config{})
	r.t.Cleanup(c.Close)
	var err error
	if r.store, err = Open(Config{Dir: r.dir, Source: c, Most: r.most, Free: r.free}); err != nil {
		r.t.Fatal(err)
	}
}

func shell() imagetest.Layer { return imagetest.Layer{{Name: "bin/sh", Text: "#!"}} }

// pushed is an image of these layers, over one with a shell.
func (r *rig) pushed(layers ...imagetest.Layer) Wanted {
	r.t.Helper()
	of, ok := image.Parse(r.images.Reference("a", "1"))
	if !ok {
		r.t.Fatal("no reference")
	}
	digest, _ := r.images.One("a", imagetest.Image{Platform: here, Env: []string{"PATH=/x"}, Layers: append([]imagetest.Layer{shell()}, layers...)})
	return Wanted{Of: of, Digest: digest, Platform: here}
}

func (r *rig) root(w Wanted) (Root, error) {
	r.t.Helper()
	root, err := r.store.Root(r.t.Context(), w)
	if text, readErr := os.ReadFile(r.outside); readErr != nil || string(text) != "as it was" {
		r.t.Fatalf("something was written outside: %q, %v", text, readErr)
	}
	return root, err
}

// tree is what is there, as "d etc", "f etc/a=text" and "l a -> b".
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			all[name] = "-> " + to
			return err
		case d.IsDir():
			all[name] = "folder"
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			all[name] = string(text)
			if info.Mode()&^0o755 != 0 || info.Mode()&0o444 != 0o444 {
				t.Errorf("%s has the mode %s", name, info.Mode())
			}
			return err
		default:
			t.Errorf("%s is %s", name, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLayersLieOverEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.pushed(
		imagetest.Layer{
			{Name: "./opt/", Kind: tar.TypeDir},
			{Name: "opt/a", Text: "a"},
			{Name: "opt/b", Text: "b"},
			{Name: "opt/hard", Kind: tar.TypeLink, Link: "opt/a"},
			{Name: "dir/sub/c", Text: "c"},
			{Name: "full/x", Text: "x"},
			{Name: "full/y", Text: "y"},
			{Name: "usr/lib/l", Text: "l"},
			{Name: "lib", Kind: tar.TypeSymlink, Link: "/usr/lib"},
			{Name: "closed", Kind: tar.TypeDir, Mode: 0o000},
			{Name: "closed/in", Text: "in", Mode: 0o600},
			{Name: "suid", Text: "s", Mode: 0o6755},
		},
		imagetest.Layer{
			{Name: "opt/.wh.b"}, {Name: "full/.wh..wh..opq"}, {Name: "full/z", Text: "z"}, {Name: "dir", Text: "a file now"}, {Name: "lib/more", Text: "through a link"},
		},
	)
	root, err := r.root(w)
	if err != nil || !root.Pulled || len(root.Env) != 1 || root.Env[0] != [2]string{"PATH", "/x"} {
		t.Fatalf("%+v, %v", root, err)
	}
	got := tree(t, root.Dir)
	for name, want := range map[string]string{
		"opt/a": "a", "opt/b": "", "opt/hard": "a", "dir": "a file now", "full/x": "", "full/z": "z", "usr/lib/more": "through a link", "lib": "-> /usr/lib",
		"closed/in": "in", "suid": "s", "home/build": "folder", "etc/passwd": "", "opt/.wh.b": "", "bin/sh": "#!",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if _, there := got["etc/passwd"]; !there {
		t.Error("nothing can be put over etc/passwd")
	}
	r.images.Asked()
	r.open()
	again, err := r.root(w)
	if err != nil || again.Pulled || again.Dir != root.Dir || len(r.images.Asked()) != 0 {
		t.Fatalf("what is there was asked for again: %+v, %v", again, err)
	}
	if left, err := os.ReadDir(filepath.Join(r.dir, blobs)); err != nil || len(left) != 0 {
		t.Errorf("layers stay behind: %v, %v", left, err)
	}
	// What somebody's hand has damaged is made again.
	if err := os.Remove(filepath.Join(root.Dir, "opt", "a")); err != nil {
		t.Fatal(err)
	}
	r.open()
	if mended, err := r.root(w); err != nil || !mended.Pulled || tree(t, mended.Dir)["opt/a"] != "a" {
		t.Fatalf("%+v, %v", mended, err)
	}
}

func TestHostileLayersWriteNothingOutside(t *testing.T) {
	t.Parallel()
	up := strings.Repeat("../", 12)
	for name, c := range map[string]struct {
		layers []imagetest.Layer
		says   string   // refused; empty: taken
		has    []string // "name=text"
	}{
		"a name that goes up":         {[]imagetest.Layer{{{Name: up + "tmp/evil", Text: "x"}, {Name: "a/../../../b", Text: "y"}}}, "", []string{"tmp/evil=x", "b=y"}},
		"an absolute name":            {[]imagetest.Layer{{{Name: "/etc/cron.d/evil", Text: "x"}}}, "", []string{"etc/cron.d/evil=x"}},
		"a link out, written through": {[]imagetest.Layer{{{Name: "out", Kind: tar.TypeSymlink, Link: up + "tmp"}, {Name: "out/evil", Text: "x"}}}, "", []string{"tmp/evil=x"}},
		"the same in the next layer":  {[]imagetest.Layer{{{Name: "out", Kind: tar.TypeSymlink, Link: "/"}}, {{Name: "out/OUTSIDE", Text: "x"}}}, "", []string{"OUTSIDE=x"}},
		"a hard link out":             {[]imagetest.Layer{{{Name: "pw", Kind: tar.TypeLink, Link: up + "etc/passwd"}}}, `its entry "pw"`, nil},
		"a hard link through a link":  {[]imagetest.Layer{{{Name: "d", Kind: tar.TypeSymlink, Link: "/etc"}, {Name: "pw", Kind: tar.TypeLink, Link: "d/passwd"}}}, `its entry "pw"`, nil},
		"a file over its own link":    {[]imagetest.Layer{{{Name: "OUT", Kind: tar.TypeSymlink, Link: "OUTSIDE"}, {Name: "OUT", Text: "x"}}}, "", []string{"OUT=x"}},
		"devices and pipes":           {[]imagetest.Layer{{{Name: "dev/sda", Kind: tar.TypeBlock}, {Name: "dev/mem", Kind: tar.TypeChar}, {Name: "pipe", Kind: tar.TypeFifo}, {Name: "ok", Text: "x"}}}, "", []string{"ok=x"}},
		"the root as a link":          {[]imagetest.Layer{{{Name: "./", Kind: tar.TypeSymlink, Link: "/tmp"}}}, "root directory", nil},
		"a whiteout that goes up":     {[]imagetest.Layer{{{Name: up + ".wh.outside"}}}, "", nil},
		"a whiteout of what is above": {[]imagetest.Layer{{{Name: ".wh..."}}}, `takes away what is not in its folder`, nil},
		"the same further down":       {[]imagetest.Layer{{{Name: "a/b/.wh..."}}}, `takes away what is not in its folder`, nil},
		"a whiteout of the root":      {[]imagetest.Layer{{{Name: ".wh.."}}}, `takes away what is not in its folder`, nil},
		"a whiteout of no name":       {[]imagetest.Layer{{{Name: "bin/.wh."}}}, `takes away what is not in its folder`, nil},
		"links in a circle":           {[]imagetest.Layer{{{Name: "a", Kind: tar.TypeSymlink, Link: "b"}, {Name: "b", Kind: tar.TypeSymlink, Link: "a"}, {Name: "a/x", Text: "x"}}}, `its entry "a/x"`, nil},
		"no shell":                    {[]imagetest.Layer{{{Name: "bin/.wh.sh"}}}, "no /bin/sh", nil},
		"etc as a link out":           {[]imagetest.Layer{{{Name: "etc", Kind: tar.TypeSymlink, Link: up + "tmp"}, {Name: "home", Kind: tar.TypeSymlink, Link: "OUTSIDE"}}}, "", []string{"etc=folder", "home/build=folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			for _, l := range c.layers {
				for i := range l {
					l[i].Link = strings.ReplaceAll(l[i].Link, "OUTSIDE", r.outside)
					l[i].Name = strings.ReplaceAll(l[i].Name, "OUTSIDE", strings.TrimPrefix(r.outside, "/"))
				}
			}
			root, err := r.root(r.pushed(c.layers...))
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("%v", err)
				}
				if left, err := os.ReadDir(filepath.Join(r.dir, "whole")); err != nil || len(left) != 0 {
					t.Errorf("half of it stays: %v, %v", left, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := tree(t, root.Dir)
			for _, has := range c.has {
				name, text, _ := strings.Cut(has, "=")
				if name = strings.ReplaceAll(name, "OUTSIDE", strings.TrimPrefix(r.outside, "/")); got[name] != text {
					t.Errorf("%s is %q, want %q", name, got[name], text)
				}
			}
		})
	}
}

func TestALayerThatIsAnotherIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.pushed(imagetest.Layer{{Name: "a", Text: "a"}})
	whole, err := r.store.cfg.Source.Image(t.Context(), w.Of, w.Digest, here)
	if err != nil {
		t.Fatal(err)
	}
	whole.Layers[1].Plain = document.Sum([]byte("something else"))
	r.store.cfg.Source = lying{r.store.cfg.Source, whole}
	if _, err := r.root(w); err == nil || !strings.Contains(err.Error(), "and the image says") {
		t.Fatalf("%v", err)
	}
}

// lying is a source whose image is another.
type lying struct {
	Source
	image remote.Image
}

func (l lying) Image(ctx context.Context, _ image.Reference, _ document.Digest, _ string) (remote.Image, error) {
	return l.image, ctx.Err()
}

func TestWhatWasNotUsedForLongestGoesFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := strings.Repeat("x", 100_000)
	r.most = 250_000
	r.open()
	var all []Root
	var wanted []Wanted
	for _, name := range []string{"one", "two", "three"} {
		w := r.pushed(imagetest.Layer{{Name: name, Text: text}})
		if name == "three" {
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(filepath.Dir(all[1].Dir), "about.json"), old, old); err != nil {
				t.Fatal(err)
			}
		}
		root, err := r.root(w)
		if err != nil {
			t.Fatal(err)
		}
		all, wanted = append(all, root), append(wanted, w)
	}
	for i, want := range []bool{true, false, true} {
		if _, err := os.Stat(all[i].Dir); (err == nil) != want {
			t.Errorf("%d: %v", i, err)
		}
	}
	if again, err := r.root(wanted[1]); err != nil || !again.Pulled {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := r.root(r.pushed(imagetest.Layer{{Name: "big", Text: strings.Repeat("y", 300_000)}})); err == nil || !strings.Contains(err.Error(), "keeps no more") {
		t.Errorf("one that is larger than all may be: %v", err)
	}
}

func TestAFullDiskLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.pushed(imagetest.Layer{{Name: "a", Text: "a"}})
	r.free = 1 << 60
	r.open()
	_, err := r.root(w)
	if err == nil || !strings.Contains(err.Error(), "no space") && !strings.Contains(err.Error(), "full") {
		t.Fatalf("%v", err)
	}
	if left, err := os.ReadDir(filepath.Join(r.dir, "whole")); err != nil || len(left) != 0 {
		t.Errorf("half of it stays: %v, %v", left, err)
	}
	r.free = 0
	r.open()
	if _, err := r.root(w); err != nil {
		t.Error(err)
	}
}

func TestKilledWhileItUnpacked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.pushed(imagetest.Layer{{Name: "a", Text: "a"}})
	half := filepath.Join(r.dir, "begun", w.name(), "root", "half")
	if err := errors.Join(os.MkdirAll(half, 0o755), os.WriteFile(filepath.Join(r.dir, "begun", w.name(), "about.json"), []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	r.open()
	if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half of an image is still there: %v", err)
	}
	root, err := r.root(w)
	if err != nil || tree(t, root.Dir)["half"] != "" {
		t.Fatalf("%v", err)
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.pushed(imagetest.Layer{{Name: "a", Text: "a"}})
	for _, c := range []struct {
		code int
		kind fault.Kind
	}{{404, fault.NotFound}, {401, fault.Denied}, {429, fault.Unavailable}, {500, fault.Unavailable}} {
		r.images.Status(c.code)
		if _, err := r.root(w); fault.KindOf(err) != c.kind {
			t.Errorf("%d: %v", c.code, err)
		}
	}
	r.images.Answer(nil)
	w.Platform = "linux/arm64"
	if _, err := r.root(w); !errors.Is(err, remote.NoPlatform) {
		t.Errorf("%v", err)
	}
}
