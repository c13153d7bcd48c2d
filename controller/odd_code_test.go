package controller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"noxmesh/api"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
)

// What git holds and no language can read is a named fault of its file, kept and
// read back from the record, and takes no edge of any other file away; two names
// that differ only in case are two files.
func TestOddFilesOfRealCode(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := func(imports string) string { return "package site\n\nimport _ \"" + imports + "\"\n" }
	r.commit("site", map[string]string{
		"module.json": moduleJSON("site", "first"), "go.mod": "module example.org/site\n\ngo 1.26\n",
		"a.go": file("example.org/one"), "A.go": file("example.org/two"), "caf\xe9.go": file("example.org/three"), "lfs.go": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
		"crlf.go": strings.ReplaceAll(file("example.org/four"), "\n", "\r\n"), ".gitattributes": "*.go text=auto\ncrlf.go -text\n", "hidden/real.go": file("example.org/five"),
	})
	for name, to := range map[string]string{"in.go": "hidden/real.go", "out.go": "/etc/passwd", "up.go": "../../other/x.go"} {
		r.must(os.Symlink(to, filepath.Join(r.root, "site", name)))
	}
	r.git("site", "add", ".")
	r.git("site", "commit", "-qm", "links")
	r.add("site", api.ModuleAddIn{Repository: r.address("site")})
	r.step("site")
	r.restart()
	var s source.Source
	r.tx(func(tx *db.Tx) (err error) { s, err = deliverystore.Source(tx, "site"); return err })
	if s.State != source.Read {
		t.Fatalf("%s: %s", s.State, s.Why)
	}
	found := s.Code.Says.Found()["go"]
	asked := map[string]bool{}
	for _, i := range found.Imports {
		asked[strings.TrimPrefix(i.Name, "example.org/")] = true
	}
	for name, want := range map[string]bool{"one": true, "two": true, "three": false, "four": true, "five": true} {
		if asked[name] != want {
			t.Errorf("asks for %s: %v, want %v", name, asked[name], want)
		}
	}
	why := map[string]string{}
	for _, f := range found.Faults {
		if !utf8.ValidString(f.At.File) || !utf8.ValidString(f.Why) {
			t.Errorf("%q: %q", f.At.File, f.Why)
		}
		why[f.At.File] = f.Why
	}
	for name, want := range map[string]string{"lfs.go": "Git LFS", "out.go": "outside", "up.go": "outside"} {
		if !strings.Contains(why[name], want) {
			t.Errorf("%s: %q, want %q", name, why[name], want)
		}
	}
	if len(why) != 4 || !strings.Contains(strings.Join([]string{why["caf\uFFFD.go"], why["caf?.go"], why[`caf\xe9.go`]}, ""), "not UTF-8") {
		t.Errorf("%q", why)
	}
}
