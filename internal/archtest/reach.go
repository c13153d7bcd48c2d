package archtest

import "slices"

// Reach is every package of ours that a program is made of, by path: what it
// imports, and what that imports. Tests have no part in it.
func (t *Tree) Reach(from string) []string {
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		p := t.Packages[path]
		if p == nil || seen[path] {
			return
		}
		seen[path] = true
		for _, f := range p.Files {
			for _, i := range f.Imports {
				if name, ours := t.ours(i.Path); ours && !f.Test {
					visit(name)
				}
			}
		}
	}
	visit(from)
	var paths []string
	for path := range seen {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}
