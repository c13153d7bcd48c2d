package archtest

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// runs matches what a line of the Makefile runs of a room's tests: the pattern of their names.
var runs = regexp.MustCompile(`-(?:test\.)?run '?([^' ]+)`)

// Unrun is the tests that "make test" leaves out, since only a build with tags has
// them, and that no other line of the Makefile runs.
func (t *Tree) Unrun() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(t.Root, "Makefile"))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(expanded(string(text)), "\n")
	var found []string
	for folder, p := range t.Packages {
		for _, f := range p.Files {
			for _, name := range f.tests() {
				if !slices.ContainsFunc(lines, func(line string) bool { return run(line, folder, name) }) {
					found = append(found, fmt.Sprintf("%s: no line of the Makefile runs %s", folder, name))
				}
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// expanded is a Makefile with the values of its variables in the places of their names.
func expanded(text string) string {
	for _, v := range regexp.MustCompile(`(?m)^(\w+) *:= (.*)$`).FindAllStringSubmatch(text, -1) {
		text = strings.ReplaceAll(text, "$("+v[1]+")", v[2])
	}
	return strings.ReplaceAll(text, "$$", "$")
}

// run reports whether a line runs the test of this name in this folder, which it
// names, or the program of whose tests it names.
func run(line, folder, name string) bool {
	pattern := runs.FindStringSubmatch(line)
	if pattern == nil {
		return false
	}
	named := slices.ContainsFunc(strings.Fields(line), func(word string) bool {
		under, all := strings.CutSuffix(strings.TrimSuffix(word, ";"), "/...")
		return under == "./"+folder || all && strings.HasPrefix("./"+folder, under+"/") || path.Base(word) == path.Base(folder)+".test"
	})
	matched, err := regexp.MatchString(pattern[1], name)
	return named && err == nil && matched
}

// tests is the names of the tests that only a build with tags finds in a file.
func (f File) tests() (names []string) {
	if !f.Test || !f.tagged() {
		return nil
	}
	for _, d := range f.Syntax.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain" {
			names = append(names, fn.Name.Name)
		}
	}
	return names
}

// tagged reports whether a file is in no build without tags.
func (f File) tagged() bool {
	return slices.ContainsFunc(f.Syntax.Comments, func(group *ast.CommentGroup) bool {
		return group.Pos() < f.Syntax.Package && slices.ContainsFunc(group.List, func(c *ast.Comment) bool {
			x, err := constraint.Parse(c.Text)
			return err == nil && !x.Eval(func(tag string) bool { return tag == "linux" })
		})
	})
}
