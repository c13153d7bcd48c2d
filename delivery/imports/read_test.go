package imports_test

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
)

// words is a language: each line of a .w file asks for a name, and a file
// "owns" says what is owned.
type words struct{}

func (words) Name() string { return "words" }

func (words) Wants(file string, above bool) bool {
	return path.Base(file) == "owns" || !above && path.Ext(file) == ".w"
}

func (words) Read(in imports.Input) (f imports.Found) {
	for _, file := range in.Files {
		for i, line := range strings.Split(string(file.Text), "\n") {
			at := imports.Place{File: file.Path, Line: i + 1}
			switch {
			case line == "":
			case path.Base(file.Path) == "owns":
				f.Owns = append(f.Owns, imports.Own{Name: line, At: at})
			default:
				f.Imports = append(f.Imports, imports.Import{Name: line, At: at})
			}
		}
	}
	return f
}

func (words) Owners(name string) []string { return imports.Prefixes(name, "/") }

func files(all ...string) (out []imports.File) {
	for i := 0; i < len(all); i += 2 {
		f := imports.File{Path: all[i], Text: []byte(all[i+1])}
		if link, is := strings.CutPrefix(all[i+1], "-> "); is {
			f.Text, f.Link = nil, link
		}
		out = append(out, f)
	}
	return out
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		folder string
		files  []imports.File
		want   map[string]imports.Found
	}{
		"nothing":            {files: files("module.json", "{}"), want: map[string]imports.Found{}},
		"not its language's": {files: files("a.txt", "b"), want: map[string]imports.Found{}},
		"both ends": {
			files: files("module.json", "{}", "owns", "m", "x/a.w", "n\nm/x"),
			want:  map[string]imports.Found{"words": {Owns: []imports.Own{{"m", at("owns:1")}}, Imports: []imports.Import{{Name: "m/x", At: at("x/a.w:2")}, {Name: "n", At: at("x/a.w:1")}}}},
		},
		"above it": {
			folder: "a/b", files: files("owns", "m", "a/owns", "m/a", "a/b/x.w", "n"),
			want: map[string]imports.Found{"words": {Owns: []imports.Own{{"m", at("owns:1")}, {"m/a", at("a/owns:1")}}, Imports: []imports.Import{{Name: "n", At: at("a/b/x.w:1")}}}},
		},
		"another module in it": {
			files: files("module.json", "{}", "a.w", "n", "b/module.json", "{}", "b/a.w", "o", "b/c/a.w", "p", "bb/a.w", "q"),
			want:  map[string]imports.Found{"words": {Imports: []imports.Import{{Name: "n", At: at("a.w:1")}, {Name: "q", At: at("bb/a.w:1")}}}},
		},
		"a module in a module's folder": {
			folder: "b", files: files("b/module.json", "{}", "b/a.w", "o", "b/c/module.json", "{}", "b/c/a.w", "p"),
			want: map[string]imports.Found{"words": {Imports: []imports.Import{{Name: "o", At: at("b/a.w:1")}}}},
		},
		"links": {
			folder: "b", files: files("b/a.w", "n", "b/in.w", "-> c/up.w", "b/c/up.w", "-> ../a.w", "b/out.w", "-> ../x.w", "b/abs.w", "-> /etc/passwd",
				"b/on.w", "-> on.w", "b/none.w", "-> a.x"),
			want: map[string]imports.Found{"words": {
				Imports: []imports.Import{{Name: "n", At: at("b/a.w:1")}},
				Faults: []imports.Fault{
					{At: at("b/abs.w"), Why: `it is a link to "/etc/passwd", outside of the module's folder: commit the file itself`},
					{At: at("b/none.w"), Why: `it is a link to "a.x", which is nothing that is read: commit the file itself`},
					{At: at("b/on.w"), Why: `it is a link to "on.w", and that leads on and on: commit the file itself`},
					{At: at("b/out.w"), Why: `it is a link to "../x.w", outside of the module's folder: commit the file itself`},
				},
			}},
		},
		"large": {
			files: []imports.File{{Path: "a.w", Text: bytes.Repeat([]byte("\n"), imports.FileLimit+1)}},
			want:  map[string]imports.Found{"words": {Faults: []imports.Fault{{At: at("a.w"), Why: "it has more than 4 MiB, and is not read"}}}},
		},
		"a pointer": {
			files: files("a.w", "version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
			want: map[string]imports.Found{"words": {Faults: []imports.Fault{
				{At: at("a.w"), Why: "it is a pointer of Git LFS, and what it points to is not in the repository: commit the file itself"},
			}}},
		},
		"a name that is no text": {
			files: files("\xff.w", "n"), want: map[string]imports.Found{"words": {Faults: []imports.Fault{{At: at("\ufffd.w"), Why: "its name is not UTF-8"}}}},
		},
	} {
		got := imports.Read([]imports.Language{words{}}, imports.Input{Folder: c.folder, Files: c.files})
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestWants(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]bool{"module.json": true, "a/module.json": true, "a.w": true, "^owns": true, "^module.json": false, "^a.w": false, "a": false} {
		name, above := strings.CutPrefix(file, "^")
		if got := imports.Wants([]imports.Language{words{}}, name, above); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
	if a, b := imports.Key("linux/amd64", "a", "b"), imports.Key("linux/amd64", "", "a b"); a == b || !strings.HasPrefix(a, imports.Key("linux/amd64", "a", "")) {
		t.Errorf("%s, %s", a, b)
	}
}
