package folder_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/cli/folder"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

func write(t interface{ Fatal(...any) }, dir string, files map[string]string) {
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever lies in a folder, what is drafted for it is good.
func TestADraftIsGood(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(top, "a") //nolint:usetesting // one for each try, all in that of the test
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{
			"public/index.html": "", "dist/index.html": "", ".gitignore": "dist/\n", "site.service": "", "systemd/site.service": "", "Über@.socket": "",
			"go.mod": "module x\n", "main.go": "package main\n", "cmd/x/main.go": "package main\n", "vendor/modules.txt": "", "broken.go": "pack",
		}
		chosen := map[string]string{}
		for name, text := range all {
			if rapid.Bool().Draw(t, name) {
				chosen[name] = text
			}
		}
		write(t, dir, chosen)
		d, err := folder.Draft(dir, "site")
		if err != nil {
			t.Fatal(err)
		}
		again, err := folder.Draft(dir, "site")
		if err != nil || again.Text != d.Text {
			t.Fatalf("drafted twice: %v\n%s\n%s", err, d.Text, again.Text)
		}
		write(t, dir, map[string]string{manifest.Name: d.Text})
		c, err := folder.Check(dir)
		if err != nil || !c.Good || c.Module != "site" {
			t.Fatalf("%v %+v\n%s", err, c, d.Text)
		}
		if _, err := folder.Draft(dir, "site"); fault.KindOf(err) != fault.Conflict {
			t.Fatalf("drafted over one that is there: %v", err)
		}
	})
}

// A program that takes others' modules in is drafted where the tree says which: a
// build fetches what go.sum names. Without that, what to do is said.
func TestAProgramThatAsksForModulesIsDrafted(t *testing.T) {
	t.Parallel()
	for sums, drafted := range map[string]bool{"go.sum": true, "vendor/modules.txt": true, "other.sum": false} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"go.mod": "module x\n\nrequire example.org/y v1.0.0\n", "main.go": "package main\n", sums: ""})
		d, err := folder.Draft(dir, "site")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(d.Text, `"artifact": "bin"`); got != drafted {
			t.Errorf("with %s, drafted: %v\n%s", sums, got, d.Text)
		}
		if got := strings.Contains(strings.Join(d.Left, "\n"), "go mod tidy"); got == drafted {
			t.Errorf("with %s, it says: %q", sums, d.Left)
		}
	}
}

// Another look sees the manifest and the files, and what it finds counts.
func TestAnotherLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{manifest.Name: `{"module": "site"}`, "a": "b"})
	c, err := folder.Check(dir, func(c *folder.Checked, m manifest.Source, files fs.FS) error {
		if b, err := fs.ReadFile(files, "a"); err != nil || string(b) != "b" || m.Module != "site" {
			t.Errorf("%q, %v, %+v", b, err, m)
		}
		c.Problems = append(c.Problems, folder.Problem{File: "a", Line: 1, Column: 1, What: "it is b"})
		return nil
	})
	if err != nil || c.Good || len(c.Problems) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if c.Problems[0].String() != "a:1:1: it is b" {
		t.Errorf("%s", c.Problems[0])
	}
	write(t, dir, map[string]string{manifest.Name: `{"module": 1}`})
	if c, err = folder.Check(dir, func(*folder.Checked, manifest.Source, fs.FS) error { t.Error("looked at what is refused"); return nil }); err != nil || c.Good {
		t.Errorf("%+v, %v", c, err)
	}
}

// A module.json that is no file of its own is not read: a commit would hold a link.
func TestALinkIsNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"other.json": `{"module": "site"}`})
	if err := os.Symlink("other.json", filepath.Join(dir, manifest.Name)); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Check(dir); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("got %v", err)
	}
}
