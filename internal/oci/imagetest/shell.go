package imagetest

import (
	"archive/tar"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Shell is a layer with this machine's /bin/sh, and what it needs to run.
func Shell(t testing.TB) Layer {
	t.Helper()
	text := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Skipf("no shell to make an image of: %v", err)
		}
		return string(b)
	}
	l := Layer{{Name: "bin/", Kind: tar.TypeDir}, {Name: "bin/dash", Text: text("/bin/sh")}, {Name: "bin/sh", Kind: tar.TypeSymlink, Link: "/bin/dash"}}
	f, err := elf.Open("/bin/sh")
	if err != nil {
		t.Skipf("no shell to make an image of: %v", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		b := make([]byte, p.Filesz)
		if _, err := p.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		loader := strings.TrimRight(string(b), "\x00")
		l = append(l, Entry{Name: strings.TrimPrefix(loader, "/"), Text: text(loader)})
	}
	needs, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range needs {
		for _, dir := range []string{"/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*", "/lib64", "/usr/lib64", "/lib", "/usr/lib"} {
			if found, _ := filepath.Glob(filepath.Join(dir, name)); len(found) > 0 {
				l = append(l, Entry{Name: strings.TrimPrefix(found[0], "/"), Text: text(found[0])})
				break
			}
		}
	}
	return l
}
