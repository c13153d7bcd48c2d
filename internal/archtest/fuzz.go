package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// decoder matches the name of what makes a value of text or bytes.
var decoder = regexp.MustCompile(`^([Dd]ecode|[Dd]ecompress|[Pp]arse)($|[A-Z])`)

// Unfuzzed is what a program may be given from outside and no fuzz target of its
// folder reaches: each decoder by its name, and each function that calls the
// strict decoder. It also names the targets that begin with no seed.
func (t *Tree) Unfuzzed() []string {
	var found []string
	for folder, p := range t.Packages {
		bodies, targets := p.bodies(), []string{}
		for name := range bodies {
			if !strings.HasPrefix(name, "Fuzz") || name == "Fuzz" {
				continue
			}
			targets = append(targets, name)
			if seeds := reached(bodies, name); !seeds["Add"] && !seeds["documenttest"] {
				found = append(found, fmt.Sprintf("%s: %s begins with no seed", folder, name))
			}
		}
		// What reads itself is called by the strict decoder, and by nobody's name.
		for name := range bodies {
			if len(targets) > 0 && strings.HasPrefix(name, "Unmarshal") {
				targets = append(targets, name)
			}
		}
		covered := reached(bodies, targets...)
		for _, name := range p.decoders() {
			if t.delivered()[folder] && !covered[name] {
				found = append(found, fmt.Sprintf("%s: %s reads what comes from outside, and no fuzz target calls it", folder, name))
			}
		}
	}
	slices.Sort(found)
	return found
}

// delivered is the packages that the programs are made of.
func (t *Tree) delivered() map[string]bool {
	if t.reach == nil {
		t.reach = map[string]bool{}
		for folder := range t.Packages {
			if !strings.HasPrefix(folder, "cmd/") {
				continue
			}
			for _, path := range t.Reach(folder) {
				t.reach[path] = true
			}
		}
	}
	return t.reach
}

// bodies is the functions of a folder by their names, those of its tests too.
func (p *Package) bodies() map[string][]*ast.FuncDecl {
	bodies := map[string][]*ast.FuncDecl{}
	for _, f := range p.Files {
		for _, d := range f.Syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				bodies[fn.Name.Name] = append(bodies[fn.Name.Name], fn)
			}
		}
	}
	return bodies
}

// reached is every name that stands in these functions, and in the functions of
// the folder that are called one of them.
func reached(bodies map[string][]*ast.FuncDecl, from ...string) map[string]bool {
	seen := map[string]bool{}
	for pending := slices.Clone(from); len(pending) > 0; {
		name := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for _, fn := range bodies[name] {
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
					seen[id.Name] = true
					pending = append(pending, id.Name)
				}
				return true
			})
		}
	}
	for _, name := range from {
		seen[name] = true
	}
	return seen
}

// decoders is the functions of a package that make a value of what comes.
func (p *Package) decoders() []string {
	var names []string
	for _, f := range p.Files {
		for _, d := range f.Syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || f.Test || f.tagged() || fn.Body == nil { // what only test builds read comes from the tests
				continue
			}
			if fn.Recv == nil && decoder.MatchString(fn.Name.Name) && takesText(fn) || decodesStrictly(fn) {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

// takesText reports whether one of a function's parameters is text or bytes.
func takesText(fn *ast.FuncDecl) bool {
	for _, field := range fn.Type.Params.List {
		switch t := field.Type.(type) {
		case *ast.Ident:
			if t.Name == "string" {
				return true
			}
		case *ast.ArrayType:
			if of, ok := t.Elt.(*ast.Ident); ok && of.Name == "byte" && t.Len == nil {
				return true
			}
		}
	}
	return false
}

// decodesStrictly reports whether a function calls document.Decode.
func decodesStrictly(fn *ast.FuncDecl) (calls bool) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		of, name := selected(n)
		calls = calls || of == "document" && (name == "Decode" || name == "Read")
		return true
	})
	return calls
}
