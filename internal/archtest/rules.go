package archtest

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pure reports whether a package is a function of values: no clock, no files, no
// network, no database.
func pure(row Row) bool { return row.Tier == Nouns || row.Tier == Rules }

// impure is what no pure package imports.
func impure(name string) bool {
	switch name {
	case "os", "os/exec", "io/ioutil", "net/http", "database/sql", "math/rand", "math/rand/v2", "syscall", "unsafe", "sync", "log", "testing":
		return true
	}
	return strings.HasPrefix(name, "os/")
}

// purity checks one file of a pure package.
func (c *check) purity(f File) {
	for _, i := range f.Imports {
		if impure(i.Path) {
			c.find(f.Path, i.Line, "imports %s, but what is decided here depends on values alone", i.Path)
		}
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			c.find(f.Path, c.line(g), "starts a goroutine, but what is decided here depends on values alone")
		}
		of, name := selected(n)
		if of == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}, name) {
			c.find(f.Path, c.line(n), "reads the clock (time.%s): now is an argument", name)
		}
		return true
	})
}

func (c *check) line(n ast.Node) int { return c.tree.Set.Position(n.Pos()).Line }

// shared are the third-party modules that more than one package may stand on:
// the key format of the broker, on both of its ends.
func shared(module string) bool { return module == "github.com/nats-io/nkeys" }

// suiteOf is the package that a conformance suite belongs to (x for x/xtest), and
// the package itself for every other.
func suiteOf(folder string) string {
	parent := path.Dir(folder)
	if path.Base(folder) == path.Base(parent)+"test" {
		return parent
	}
	return folder
}

// outside checks that each third-party module has one importing package.
func (c *check) outside() {
	users := map[string][]string{}
	for folder, p := range c.tree.Packages {
		for _, f := range p.Files {
			for _, i := range f.Imports {
				m, ok := c.tree.module(i.Path)
				room := suiteOf(folder)
				if ok && !f.Test && !strings.HasPrefix(m, "golang.org/x/") && !slices.Contains(users[m], room) {
					users[m] = append(users[m], room)
				}
			}
		}
	}
	for m, folders := range users {
		if len(folders) > 1 && !shared(m) {
			slices.Sort(folders)
			c.find("go.mod", 0, "%s is imported by %s: one module, one importing package", m, strings.Join(folders, " and "))
		}
	}
}

// effects checks that each effect has a name of its own, "room.thing.verb".
func (c *check) effects() {
	form := regexp.MustCompile(`^[a-z]+(\.[a-z-]+){1,3}$`)
	first := map[string]string{}
	for _, folder := range c.folders() {
		for _, f := range c.tree.Packages[folder].Files {
			if f.Test || folder == "internal/effect" {
				continue
			}
			calls(f, "effect", func(call *ast.CallExpr, name string) {
				if name == "Do" && len(call.Args) == 2 {
					c.effect(f, call, form, first)
				}
			})
		}
	}
}

func (c *check) effect(f File, call *ast.CallExpr, form *regexp.Regexp, first map[string]string) {
	line := c.line(call)
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		c.find(f.Path, line, "the name of an effect is a constant that stands at the call")
		return
	}
	name, err := strconv.Unquote(literal.Value)
	if err != nil || !form.MatchString(name) {
		c.find(f.Path, line, "effect %s is not named room.thing.verb", literal.Value)
		return
	}
	if at, twice := first[name]; twice {
		c.find(f.Path, line, "effect %q stands at %s too: the crash runner tells them apart by name", name, at)
		return
	}
	first[name] = f.Path + ":" + strconv.Itoa(line)
}

// questions checks that what goes out over HTTP goes through internal/intime, but
// for the proxy of builds, which judges no answer and passes on what comes.
func (c *check) questions() {
	for folder, p := range c.tree.Packages {
		for _, f := range p.Files {
			if f.Test || folder == "builder/gateway" {
				continue
			}
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				literal, ok := n.(*ast.CompositeLit)
				if !ok {
					return true
				}
				of, name := selected(literal.Type)
				if of == "http" && name == "Transport" {
					c.find(f.Path, c.line(n), "asks past intime.Transport: an answer to a question that was given up would be taken for one")
				}
				return of != "intime" || name != "Transport" // the one within that is as it should be
			})
		}
	}
}

// selected is the two names of what is written of.name, as what a package has is; none for all else.
func selected(n ast.Node) (of, name string) {
	if selector, ok := n.(*ast.SelectorExpr); ok {
		if id, ok := selector.X.(*ast.Ident); ok {
			return id.Name, selector.Sel.Name
		}
	}
	return "", ""
}

func (c *check) folders() []string {
	var folders []string
	for folder := range c.tree.Packages {
		folders = append(folders, folder)
	}
	slices.Sort(folders)
	return folders
}

// decisions checks that each decision record names tests that there are.
func (c *check) decisions() error {
	records, err := filepath.Glob(filepath.Join(c.tree.Root, "docs", "decisions", "[0-9]*.md"))
	if err != nil {
		return err
	}
	for _, record := range records {
		text, err := os.ReadFile(record)
		if err != nil {
			return err
		}
		c.decision(path.Join("docs/decisions", filepath.Base(record)), string(text))
	}
	return nil
}

func (c *check) decision(name, text string) {
	named := 0
	for i, line := range strings.Split(text, "\n") {
		tests, ok := strings.CutPrefix(line, "Checked by:")
		if !ok {
			continue
		}
		for _, test := range strings.Fields(strings.NewReplacer("`", "", ",", " ", ".", " ").Replace(tests)) {
			named++
			if !c.tree.Tests[test] {
				c.find(name, i+1, "checked by %s, but there is no such test", test)
			}
		}
	}
	if named == 0 {
		c.find(name, 0, "no test holds this decision: end with a line \"Checked by: TestX\"")
	}
}
