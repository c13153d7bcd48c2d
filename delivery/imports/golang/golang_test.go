package golang_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/golang"
)

// read reads what Wants wants of a tree in which each file begins with a line
// "-- path --", in several orders, and shows it one thing a line.
func read(t *testing.T, folder, platform, tree string) string {
	t.Helper()
	lang := golang.Language{}
	in := imports.Input{Platform: platform, Folder: folder, Files: files(tree)}
	in.Files = slices.DeleteFunc(in.Files, func(f imports.File) bool {
		rest, inside := strings.CutPrefix(f.Path, folder+"/")
		if inside = inside || folder == ""; folder == "" {
			rest = f.Path
		}
		return !lang.Wants(rest, !inside)
	})
	first := show(lang.Read(in))
	for seed := range uint64(5) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(in.Files), func(i, j int) { in.Files[i], in.Files[j] = in.Files[j], in.Files[i] })
		if d := cmp.Diff(first, show(lang.Read(in))); d != "" {
			t.Errorf("in another order: %s", d)
		}
	}
	return first
}

func files(tree string) (all []imports.File) {
	for text := range strings.SplitSeq("\n"+tree, "\n-- ") {
		if name, rest, ok := strings.Cut(text, " --\n"); ok {
			all = append(all, imports.File{Path: name, Text: []byte(rest + "\n")})
		}
	}
	return all
}

func show(f imports.Found) string {
	var b strings.Builder
	for _, o := range f.Owns {
		fmt.Fprintln(&b, "owns", o.Name, o.At)
	}
	for _, i := range f.Imports {
		kind := "asks"
		if i.Test {
			kind = "test"
		}
		if i.Name == "" {
			fmt.Fprintln(&b, kind, "./"+i.Path, i.At)
		} else {
			fmt.Fprintln(&b, kind, i.Name, i.At)
		}
	}
	for _, x := range f.Faults {
		fmt.Fprintln(&b, "fault", x.At, x.Why)
	}
	return b.String()
}

type story struct {
	folder, platform string
	tree, want       string
}

func (s story) check(t *testing.T) {
	t.Helper()
	platform := s.platform
	if platform == "" {
		platform = "linux/amd64"
	}
	if d := cmp.Diff(strings.TrimLeft(s.want, "\n"), read(t, s.folder, platform, strings.TrimLeft(s.tree, "\n"))); d != "" {
		t.Error(d)
	}
}

func TestTheStandardLibraryIsKnown(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"linux/amd64", "js/wasm"} {
		os, arch, _ := strings.Cut(target, "/")
		list := exec.CommandContext(t.Context(), "go", "list", "std")
		list.Env = append(list.Environ(), "GOOS="+os, "GOARCH="+arch, "CGO_ENABLED=1")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		names := slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool {
			return strings.HasPrefix(name, "vendor/") || slices.Contains(strings.Split(name, "/"), "internal")
		})
		if len(names) < 150 {
			t.Fatalf("%s has only %d packages", target, len(names))
		}
		for _, name := range names {
			if got := read(t, "", target, "-- a.go --\npackage a\nimport "+`"`+name+`"`); got != "" {
				t.Errorf("%s is taken for somebody's: %s", name, got)
			}
		}
	}
}

// Each name that is taken for the library's is in it: else a module of that name
// could not be imported.
func TestNothingElseIsTheStandardLibrary(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-find", "-f", "{{.Standard}} {{.ImportPath}}"}, golang.Standard()...)...)
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "true ") {
			t.Errorf("go list says of a name taken for the library's: %s", line)
		}
	}
	if n := strings.Count(string(out), "\n"); n < 170 {
		t.Errorf("go list answered for %d names", n)
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff([]string{"a.b/c/d", "a.b/c", "a.b"}, golang.Language{}.Owners("a.b/c/d")); d != "" {
		t.Error(d)
	}
}

func TestWants(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"go.mod": "in above", "go.work": "in above", "a.go": "in", "a/b/a_test.go": "in", "testdata/a.go": "in", "_a/a.go": "in",
		"x/go.mod": "in above", "vendor/a.go": "in", "vendor/x/a.go": "", "a/vendor/x/go.mod": "above", "_a.go": "", ".a.go": "",
		"go.sum": "", "a.s": "", "a.go.tmpl": "", "myvendor/x/a.go": "in", "vendor/modules.txt": "",
	} {
		var got []string
		if (golang.Language{}).Wants(file, false) {
			got = append(got, "in")
		}
		if (golang.Language{}).Wants(file, true) {
			got = append(got, "above")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", file, got, want)
		}
	}
}
