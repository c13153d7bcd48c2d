//go:build meshcrash

package line

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// real is a Go module that nobody here wrote, as far as the linters that this
// project's tools are made of need its packages; and what the go command says
// of it, which is the truth that the mesh is held against.
type real struct {
	path    string // the Go module's
	name    string // the mesh's module
	files   files
	compile map[string]bool // the names of the modules that its packages import
	tests   map[string]bool // of those that only their tests import
}

// listed is what go list says of one package.
type listed struct {
	ImportPath, Dir string
	Module          *struct{ Path, Dir, GoMod string }

	GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles, SFiles, HFiles, CFiles []string
	EmbedFiles, TestEmbedFiles, XTestEmbedFiles                                          []string
	Imports, TestImports, XTestImports                                                   []string
}

func (p listed) files() []string {
	return slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles, p.SFiles, p.HFiles, p.CFiles,
		p.EmbedFiles, p.TestEmbedFiles, p.XTestEmbedFiles)
}

// realModules is what the linters of tools/go.mod are made of, by the modules'
// names. They lie where the go command keeps modules, or it fetches them.
func realModules(t *testing.T) map[string]*real {
	t.Helper()
	fields := "ImportPath,Dir,Module,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,SFiles,HFiles,CFiles,EmbedFiles,TestEmbedFiles,XTestEmbedFiles,Imports,TestImports,XTestImports"
	cmd := exec.CommandContext(t.Context(), "go", "list", "-modfile=tools/go.mod", "-deps", "-json="+fields, "tool")
	cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=", "GOWORK=off")
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, wrong.String())
	}
	byPath := map[string]*real{}
	packages := map[string]string{} // of the Go modules, by import path: the module's path
	var all []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil {
			all = append(all, p)
			packages[p.ImportPath] = p.Module.Path
			if byPath[p.Module.Path] == nil {
				byPath[p.Module.Path] = newReal(t, p)
			}
		}
	}
	modules := map[string]*real{}
	for _, p := range all {
		m := byPath[p.Module.Path]
		modules[m.name] = m
		m.take(t, p)
		for _, asked := range p.Imports {
			m.ask(m.compile, byPath[packages[asked]])
		}
		for _, asked := range slices.Concat(p.TestImports, p.XTestImports) {
			m.ask(m.tests, byPath[owner(byPath, asked)])
		}
	}
	if len(modules) != len(byPath) {
		t.Fatalf("%d modules have %d names", len(byPath), len(modules))
	}
	for _, m := range modules {
		maps.DeleteFunc(m.tests, func(to string, _ bool) bool { return m.compile[to] })
	}
	return modules
}

func newReal(t *testing.T, p listed) *real {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(p.Module.Path))
	m := &real{path: p.Module.Path, name: name, files: files{}, compile: map[string]bool{}, tests: map[string]bool{}}
	text, err := os.ReadFile(p.Module.GoMod)
	must(t, err)
	m.files["go.mod"] = string(text)
	m.files["module.json"] = `{"module": "` + name + `", "build": {"artifacts": {"packages": {"type": "library", "language": "go"}}}}`
	return m
}

// take takes the files of one of its packages.
func (m *real) take(t *testing.T, p listed) {
	t.Helper()
	folder, err := filepath.Rel(p.Module.Dir, p.Dir)
	must(t, err)
	for _, file := range p.files() {
		text, err := os.ReadFile(filepath.Join(p.Dir, file))
		must(t, err)
		m.files[path.Join(filepath.ToSlash(folder), file)] = string(text)
	}
}

func (m *real) ask(whom map[string]bool, of *real) {
	if of != nil && of != m {
		whom[of.name] = true
	}
}

// owner is the path of the Go module that an import path is of: the longest.
func owner(modules map[string]*real, asked string) string {
	for at := asked; at != "."; at = path.Dir(at) {
		if modules[at] != nil {
			return at
		}
	}
	return ""
}

// leads reports whether one leads to another, by these edges.
func leads(from, to string, next func(string) []string) bool {
	seen := map[string]bool{}
	for todo := []string{from}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at == to {
			return true
		}
		if !seen[at] {
			seen[at] = true
			todo = append(todo, next(at)...)
		}
	}
	return false
}

// laidFor reports whether the build of one has another laid out: it leads there,
// with its first step by what only its tests import, unless that is led back.
func laidFor(all map[string]*real, m *real, to string) bool {
	compiled := func(at string) []string { return slices.Collect(maps.Keys(all[at].compile)) }
	asked := func(at string) []string { return append(compiled(at), slices.Collect(maps.Keys(all[at].tests))...) }
	for first := range m.compile {
		if leads(first, to, compiled) {
			return true
		}
	}
	for first := range m.tests {
		if !leads(first, m.name, asked) && leads(first, to, compiled) {
			return true
		}
	}
	return false
}

// reached is every module that is built again when what one gives to others
// moves, and that one, sorted.
func reached(all map[string]*real, changed string) []string {
	names := []string{changed}
	for name, m := range all {
		if name != changed && laidFor(all, m, changed) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// imported makes a bare repository with one commit, or one more commit on a
// branch of it, in one go: there are hundreds.
func (f *forge) imported(name, branch string, tree files) (commit string) {
	f.t.Helper()
	dir, parent := f.bare(name), ""
	if _, err := os.Stat(dir); err != nil {
		f.git(f.dir, "init", "-q", "--bare", "-b", "main", dir)
	} else {
		parent = "from " + f.git(dir, "rev-parse", "refs/heads/main") + "\n"
	}
	var stream strings.Builder
	fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter a <a@example.org> 1700000000 +0000\ndata 6\nchange\n%s", branch, parent)
	for _, file := range slices.Sorted(maps.Keys(tree)) {
		fmt.Fprintf(&stream, "M 100644 inline %q\ndata %d\n%s\n", file, len(tree[file]), tree[file])
	}
	cmd := exec.CommandContext(f.t.Context(), "git", "fast-import", "--quiet", "--force")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stream.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("git fast-import: %v\n%s", err, out)
	}
	return f.git(dir, "rev-parse", "refs/heads/"+branch)
}
