package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// The sizes of the house. A file that says one thing fits; 84 to 98 of a hundred
// files in the code bases that we learnt from obey this.
const (
	maxLines     = 400
	maxTestLines = 800
	maxMainLines = 40
)

// Finding is one difference between the tree and its rules.
type Finding struct {
	Path string
	Line int // zero where the whole file or folder is meant
	Says string
}

// String is the finding as an editor can follow it.
func (f Finding) String() string {
	if f.Line == 0 {
		return f.Path + ": " + f.Says
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Says)
}

// check is the tree, its table, and what has been found so far.
type check struct {
	tree  *Tree
	rows  map[string]Row
	found []Finding
}

// Check compares the tree below root with its ARCHITECTURE.md and with the
// rules of the house.
func Check(root string) ([]Finding, error) {
	tree, err := Read(root)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		return nil, err
	}
	table, err := Table(string(text))
	if err != nil {
		return nil, err
	}
	c := &check{tree: tree, rows: map[string]Row{}}
	for _, row := range table {
		c.rows[row.Path] = row
	}
	for _, row := range table {
		c.row(row)
	}
	for path, p := range tree.Packages {
		c.pkg(path, p)
	}
	c.outside()
	c.effects()
	c.questions()
	if err := c.decisions(); err != nil {
		return nil, err
	}
	slices.SortFunc(c.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Says, b.Says))
	})
	return c.found, nil
}

func (c *check) find(path string, line int, format string, args ...any) {
	c.found = append(c.found, Finding{Path: path, Line: line, Says: fmt.Sprintf(format, args...)})
}

// row checks a line of the table for itself.
func (c *check) row(row Row) {
	if c.tree.Packages[row.Path] == nil {
		c.find("ARCHITECTURE.md", row.Line, "%q is no package: remove the line, or write the package", row.Path)
	}
	if !sort.StringsAreSorted(row.Imports) {
		c.find("ARCHITECTURE.md", row.Line, "what %q may import is not in order", row.Path)
	}
	for _, name := range row.Imports {
		to, ok := c.rows[name]
		switch {
		case !ok:
			c.find("ARCHITECTURE.md", row.Line, "%q may import %q, which is in no line", row.Path, name)
		case !allowed(row, to):
			c.find("ARCHITECTURE.md", row.Line, "%q (%s) may not import %q (%s): arrows point from programs to rules to nouns", row.Path, row.Tier, name, to.Tier)
		}
	}
}

// allowed reports whether the tiers let one package import another at all. What
// is beside the flow (Rim) is used by programs and stores; the middle knows only
// internal/fault of it. Contexts don't import each other: plan composes several
// and status answers from several, and nobody else.
func allowed(from, to Row) bool {
	if to.Path == "internal/fault" || to.Tier == Nouns {
		return true
	}
	switch from.Tier {
	case Nouns:
		return false
	case Tools:
		return to.Tier == Tools || to.Path == "internal/effect"
	case Rules:
		several := from.Path == "plan" || from.Path == "status"
		return to.Tier == Rules && (several || context(from) == context(to))
	case Stores:
		return to.Tier == Tools || to.Tier == Rim || context(from) == context(to)
	case Rim:
		return to.Tier == Tools || to.Tier == Rim || from.Path == "internal/demo" || from.Path == "internal/observe"
	case Programs:
		return true
	}
	return false
}

// context is the folder at the root that a package belongs to.
func context(row Row) string {
	root, _, _ := strings.Cut(row.Path, "/")
	return root
}

// pkg checks one package against its line.
func (c *check) pkg(path string, p *Package) {
	row, ok := c.rows[path]
	if !ok {
		c.find(path, 0, "this package has no line in ARCHITECTURE.md")
	} else {
		c.comment(p, row)
	}
	used := map[string]bool{}
	for _, f := range p.Files {
		c.size(f)
		if f.Test {
			continue
		}
		for _, i := range f.Imports {
			c.imports(f, i, row, ok, used)
		}
		if ok && pure(row) {
			c.purity(f)
		}
	}
	for _, name := range slices.Concat(row.Imports, row.Outside) {
		if ok && !used[name] {
			c.find("ARCHITECTURE.md", row.Line, "%q does not import %q: take it off the line", path, name)
		}
	}
}

// imports checks one import of a file that is no test.
func (c *check) imports(f File, i Import, row Row, known bool, used map[string]bool) {
	name, ours := c.tree.ours(i.Path)
	list := row.Imports
	if !ours {
		list = row.Outside
		if name = c.guarded(i.Path); name == "" {
			return
		}
	}
	used[name] = true
	if known && !slices.Contains(list, name) {
		c.find(f.Path, i.Line, "imports %s, which the line of %q in ARCHITECTURE.md does not allow", i.Path, row.Path)
	}
}

// guarded is the name under which something from outside our module must stand
// in the table, or "" when it need not.
func (c *check) guarded(path string) string {
	if path == "os/exec" || path == "database/sql" || path == "net/http" {
		return path
	}
	if m, ok := c.tree.module(path); ok && !strings.HasPrefix(m, "golang.org/x/") {
		return m
	}
	return ""
}

// comment checks that the package says of itself what the table says of it.
func (c *check) comment(p *Package, row Row) {
	for _, f := range p.Files {
		if f.Test || f.Syntax.Doc == nil {
			continue
		}
		got := sentence(f.Syntax.Doc.Text())
		kind := "Package " + p.Name
		if p.Name == "main" {
			kind = "Command " + filepath.Base(p.Path)
		}
		if got != kind+" is "+row.Is+"." && got != kind+" "+row.Is+"." {
			c.find(f.Path, 1, "the package comment begins %q, and ARCHITECTURE.md says %q", got, row.Is)
		}
		return
	}
	c.find(p.Path, 0, "no file has a package comment: doc.go begins %q", "Package "+p.Name+" is "+row.Is+".")
}

// sentence is the first sentence of a comment, on one line.
func sentence(text string) string {
	paragraph, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	line := strings.Join(strings.Fields(paragraph), " ")
	if i := strings.Index(line, ". "); i >= 0 {
		return line[:i+1]
	}
	return line
}

func (c *check) size(f File) {
	limit := maxLines
	switch {
	case f.Test:
		limit = maxTestLines
	case strings.HasPrefix(f.Path, "cmd/") && filepath.Base(f.Path) == "main.go":
		limit = maxMainLines
	}
	if f.Lines > limit {
		c.find(f.Path, 0, "%d lines, and the limit is %d", f.Lines, limit)
	}
}

// calls finds each call of one of pkg's functions in a file.
func calls(f File, pkg string, visit func(call *ast.CallExpr, name string)) {
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if of, name := selected(call.Fun); of == pkg {
				visit(call, name)
			}
		}
		return true
	})
}
