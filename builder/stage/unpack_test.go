package stage_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/builder/stage"
)

// packed is a tar of these headers, each with its name as its text.
func packed(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		text := ""
		if h.Typeflag == 0 || h.Typeflag == tar.TypeReg {
			text, h.Typeflag = h.Name, tar.TypeReg
			if h.Size == 0 {
				h.Size = int64(len(text))
			}
			if h.Mode == 0 {
				h.Mode = 0o644
			}
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), make([]byte, 1024)...)
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// added is a stage to which a file of these bytes was added, and what is outside of it.
func added(t testing.TB, text []byte) (dir, outside string, err error) {
	t.Helper()
	outside = t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "victim"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "a"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := stage.Begin(t.Context(), filepath.Join(t.TempDir(), "s"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.Dir, outside, s.Copy(t.Context(), stage.Taking{Root: from, Words: []string{"a"}, To: "/to/in", Into: true, Unpack: true, Most: 1 << 20})
}

func TestAnArchiveIsUnpacked(t *testing.T) {
	t.Parallel()
	text := packed(t, tar.Header{Name: "./d/", Typeflag: tar.TypeDir, Mode: 0o700}, tar.Header{Name: "d/run", Mode: 0o711, Uid: 7}, tar.Header{Name: "/top"}, tar.Header{Name: "deep/er/x"},
		tar.Header{Name: "again", Typeflag: tar.TypeLink, Linkname: "d/run"}, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "d"}, tar.Header{Name: "l/through"}, tar.Header{Name: "top"})
	for name, text := range map[string][]byte{"plain": text, "gzip": gzipped(t, text)} {
		dir, _, err := added(t, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for file, want := range map[string]string{"d/run": "d/run", "top": "top", "deep/er/x": "deep/er/x", "again": "d/run", "d/through": "l/through"} {
			if got, err := os.ReadFile(filepath.Join(dir, "to/in", file)); err != nil || string(got) != want {
				t.Errorf("%s: %s is %q, %v", name, file, got, err)
			}
		}
		for file, want := range map[string]fs.FileMode{"d": 0o755, "d/run": 0o755, "again": 0o755, "top": 0o644} {
			if info, err := os.Lstat(filepath.Join(dir, "to/in", file)); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %s: %v %v", name, file, info, err)
			}
		}
	}
	for name, text := range map[string]string{"text": "no archive", "empty": "", "gzip of text": string(gzipped(t, []byte("text"))), "a beginning of gzip": "\x1f\x8b", "an empty archive": string(make([]byte, 1024))} {
		dir, _, err := added(t, []byte(text))
		if got, read := os.ReadFile(filepath.Join(dir, "to/in/a")); err != nil || read != nil || string(got) != text {
			t.Errorf("%s is not copied as it is: %q %v %v", name, got, err, read)
		}
	}
}

// hostile is archives that would do what no archive may.
func hostile(t testing.TB) map[string][]byte {
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
	}
	whole := packed(t, tar.Header{Name: "a"}, tar.Header{Name: "b"})
	return map[string][]byte{
		"leads out":               packed(t, tar.Header{Name: "../../victim"}),
		"leads out below":         packed(t, tar.Header{Name: "a/../../../victim"}),
		"is another name of":      packed(t, tar.Header{Name: "x", Typeflag: tar.TypeLink, Linkname: "../victim"}),
		"which is no file":        packed(t, link("l", "/etc/passwd"), tar.Header{Name: "x", Typeflag: tar.TypeLink, Linkname: "gone"}),
		"neither a file (pipe)":   packed(t, tar.Header{Name: "p", Typeflag: tar.TypeFifo}),
		"neither a file (device)": packed(t, tar.Header{Name: "p", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}),
		"neither a file (disk)":   packed(t, tar.Header{Name: "p", Typeflag: tar.TypeBlock}),
		"as its owner":            packed(t, tar.Header{Name: "su", Mode: 0o4755}),
		"its group":               packed(t, tar.Header{Name: "sg", Mode: 0o2755}),
		"leads nowhere":           packed(t, link("l", "")),
		"has no name":             packed(t, tar.Header{Name: "./."}),
		"is a folder":             packed(t, tar.Header{Name: "d/x"}, tar.Header{Name: "d"}),
		"is no folder":            packed(t, tar.Header{Name: "d"}, tar.Header{Name: "d/x"}),
		"more than a build":       packed(t, tar.Header{Name: "big", Size: 3})[:512],
		"unexpected EOF":          whole[:len(whole)-1024-600],
		"no file system":          packed(t, tar.Header{Name: strings.Repeat("a", 5000)}),
		"compressed with xz":      []byte("\xfd7zXZ\x00\x00\x00"),
		"links into links":        packed(t, link("l", "../../../../.."), tar.Header{Name: "l/to"}, tar.Header{Name: "l/to/in/x"}, tar.Header{Name: "l/to/in"}),
	}
}

// No archive gets out of the stage, or leaves in it what no image can have; what is
// wrong with one is named by its entry.
func TestAHostileArchiveIsNamed(t *testing.T) {
	t.Parallel()
	for name, text := range hostile(t) {
		if name == "more than a build" {
			h := tar.Header{Name: "big", Typeflag: tar.TypeReg, Size: 2 << 20, Mode: 0o644}
			var b bytes.Buffer
			if err := tar.NewWriter(&b).WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			text = b.Bytes()
		}
		dir, outside, err := added(t, text)
		want, _, _ := strings.Cut(name, " (")
		want = strings.TrimSuffix(want, " below")
		switch want {
		case "links into links":
			want = ""
		case "is another name of":
			want = "leads out"
		}
		if err == nil && want != "" || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		unharmed(t, name, dir, outside)
	}
}

func unharmed(t testing.TB, name, dir, outside string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(outside, "victim")); err != nil || string(got) != "mine" {
		t.Errorf("%s: what is outside is %q, %v", name, got, err)
	}
	above, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(above) != 1 {
		t.Errorf("%s: beside the stage is %v, %v", name, above, err)
	}
	err = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() && d.Type() != fs.ModeSymlink {
			t.Errorf("%s: %s is a %s", name, at, d.Type())
		}
		return err
	})
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// FuzzAdd: whatever is added, nothing gets out of the stage.
func FuzzAdd(f *testing.F) {
	seeds := hostile(f)
	if len(seeds) != 18 {
		f.Fatal("a seed is missing")
	}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dir, outside, _ := added(t, text)
		unharmed(t, "it", dir, outside)
	})
}
