package javascript

import (
	"path"
	"strings"

	"noxmesh/delivery/imports"
)

// asker is a file of code, and turns what it asks for into imports.
type asker struct {
	*project
	file   string
	test   bool
	above  []*pack // the packages that it lies in, the nearest first
	config *config // that TypeScript has for it
}

// longest is how long a name may be that leads anywhere.
const longest = 1024

// ask keeps what one name asks for.
func (a asker) ask(what ask) {
	name, _, _ := strings.Cut(what.name, "?") // ./icon.svg?raw
	switch {
	case name == "", len(name) > longest:
	case what.file, name == ".", name == "..", strings.HasPrefix(name, "./"), strings.HasPrefix(name, "../"):
		a.path(path.Join(path.Dir(a.file), name), what.line)
	case a.mapped(name, what.line):
	case strings.HasPrefix(name, "#"):
		a.internal(name, what.line)
	default:
		a.name(name, what.line)
	}
}

// path keeps a path that leads out of the module's folder, and stays in the repository.
func (a asker) path(to string, line int) {
	if _, within := a.within(to); within || to == ".." || strings.HasPrefix(to, "../") {
		return
	}
	if i := strings.LastIndex("/"+to+"/", "/node_modules/"); i >= 0 {
		a.name(strings.TrimPrefix(to[min(i+len("node_modules"), len(to)):], "/"), line)
		return
	}
	a.keep(imports.Import{Path: to}, line)
}

func (a asker) keep(i imports.Import, line int) {
	i.Test, i.At = a.test, imports.Place{File: a.file, Line: line}
	a.found.Imports = append(a.found.Imports, i)
}

// name keeps the name of a package, or of something in one, as the manifests map it.
func (a asker) name(name string, line int) {
	name = strings.TrimPrefix(name, "npm:")
	owner := packageOf(untagged(name))
	if owner == "" || builtin(name) {
		return
	}
	name = owner + untagged(name)[len(owner):]
	spec := a.dependency(owner)
	protocol, target, found := strings.Cut(spec.text, ":")
	if !found {
		a.keep(imports.Import{Name: name}, line)
		return
	}
	switch protocol {
	case "npm", "workspace":
		if strings.HasPrefix(target, "./") || strings.HasPrefix(target, "../") {
			a.path(path.Join(spec.folder, target), line)
			return
		}
		if alias := packageOf(untagged(target)); alias != "" && strings.HasPrefix(untagged(target), alias) && aliased(target) {
			name = alias + name[len(owner):]
		}
	case "file", "link", "portal":
		a.path(path.Join(spec.folder, target), line)
		return
	}
	a.keep(imports.Import{Name: name}, line)
}

// untagged is a name without the version behind it: y of y@1, and @a/b/c of @a/b@1/c.
func untagged(name string) string {
	if name == "" {
		return ""
	}
	at := strings.IndexByte(name[1:], '@') + 1
	if at == 0 {
		return name
	}
	if slash := strings.IndexByte(name[at:], '/'); slash >= 0 {
		return name[:at] + name[at+slash:]
	}
	return name[:at]
}

// aliased reports whether what stands behind npm: or workspace: is a name and no version.
func aliased(target string) bool {
	c := target[0]
	return c == '@' || 'a' <= c && c <= 'z' && target != "latest" || 'A' <= c && c <= 'Z'
}

// internal keeps what a name with # leads to, by the imports of the nearest package.json.
func (a asker) internal(name string, line int) {
	if len(a.above) == 0 {
		return
	}
	if target, _, found := a.above[0].imports.match(name); found {
		a.targets(target, a.above[0].folder, line)
	}
}

// targets keeps each target of a name with #, whatever its condition.
func (a asker) targets(v value, folder string, line int) {
	switch {
	case v.isText && strings.HasPrefix(v.text, "./"):
		a.path(path.Join(folder, v.text), line)
	case v.isText && !strings.HasPrefix(v.text, "#"):
		a.name(v.text, line)
	}
	for _, each := range v.list {
		a.targets(each, folder, line)
	}
	for _, f := range v.fields {
		a.targets(f.value, folder, line)
	}
}

// elements keeps the package that makes the elements of a file, where the file or its configuration says so.
func (a asker) elements(src *parser) {
	if src.runtime.name != "" {
		a.ask(ask{name: src.runtime.name + "/jsx-runtime", line: src.runtime.line})
		return
	}
	if source := a.config.elements(); source != "" {
		a.ask(ask{name: source + "/jsx-runtime", line: src.element})
	}
}

// dependency is what the nearest package that knows the name takes it for.
func (a asker) dependency(name string) dependency {
	for _, each := range a.above {
		if d, is := each.dependencies[name]; is {
			return d
		}
	}
	return dependency{}
}

// mapped reports whether TypeScript's configuration leads a name somewhere else than
// to a package, and keeps where it leads.
func (a asker) mapped(name string, line int) bool {
	for c := a.config; c != nil; c = c.after {
		if a.mappedBy(c, name, line) {
			return true
		}
	}
	return false
}

func (a asker) mappedBy(c *config, name string, line int) bool {
	target, all, found := c.paths.match(name)
	outside := ""
	for _, each := range target.texts() {
		to := path.Join(c.place(c.pathsFolder), each.text)
		if strings.HasPrefix(each.text, configFolder) {
			to = c.resolve(each.text, "")
		}
		switch _, within := a.within(to); {
		case within && a.exists(to):
			return true
		case strings.Contains("/"+to+"/", "/node_modules/"):
			return false
		case !within && outside == "":
			outside = to
		}
	}
	switch {
	case found && !all && outside != "":
		a.path(outside, line)
		return true
	case found && !all:
		return true
	}
	return c.base != nil && a.exists(path.Join(*c.base, name))
}

// exists reports whether a name without its ending leads to a file of the module. Of
// what is no code only the folder is known.
func (a asker) exists(to string) bool {
	if _, within := a.within(to); !within {
		return false
	}
	stem := to
	switch ending := path.Ext(to); {
	case code(to):
		stem = strings.TrimSuffix(to, ending)
	case ending != "" && a.folders[path.Dir(to)]:
		return true
	}
	for _, each := range []string{to, stem} {
		for _, ending := range []string{"", ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".json", ".mts", ".cts", ".mjs", ".cjs"} {
			if a.texts[each+ending] != nil || ending != "" && a.texts[each+"/index"+ending] != nil {
				return true
			}
		}
	}
	return a.texts[to+"/package.json"] != nil
}
