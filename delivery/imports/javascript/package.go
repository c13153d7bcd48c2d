package javascript

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// pack is a package.json: what names mean in the files below its folder.
type pack struct {
	folder       string
	imports      *patterns
	dependencies map[string]dependency
}

// dependency is what a package.json takes a name for: a version, or another name or place.
type dependency struct{ text, folder string }

// above is the packages that a folder lies in, the nearest first.
func (p *project) above(folder string) []*pack {
	if known, is := p.packs[folder]; is {
		return known
	}
	var all []*pack
	if folder != "." {
		all = p.above(path.Dir(folder))
	}
	if v, is := p.json(path.Join(folder, "package.json")); is {
		all = append([]*pack{newPack(folder, v)}, all...)
	}
	p.packs[folder] = all
	return all
}

func newPack(folder string, v value) *pack {
	k := &pack{folder: folder, imports: newPatterns(v.get("imports").fields), dependencies: map[string]dependency{}}
	for _, list := range []string{"peerDependencies", "optionalDependencies", "devDependencies", "dependencies"} {
		for _, f := range v.get(list).fields {
			if f.value.isText {
				k.dependencies[f.name] = dependency{f.value.text, folder}
			}
		}
	}
	return k
}

// own keeps the names of the module's packages: of those that lie in no other, and of
// the members of their workspaces. What else lies in a package is an example or a fixture.
func (p *project) own() {
	folders := p.manifests()
	spaces, owned := map[string]*workspace{}, map[string]bool{}
	for _, folder := range folders {
		member, outermost := false, true
		for d := folder; d != "." && !member; {
			d = path.Dir(d)
			if spaces[d] != nil {
				outermost = false
				member = owned[d] && spaces[d].has(strings.TrimPrefix(strings.TrimPrefix(folder, d), "/"))
			}
		}
		inside, _ := p.within(folder)
		owned[folder] = member || outermost && !forTests(inside+"/x")
		v, is := p.json(path.Join(folder, "package.json"))
		spaces[folder] = p.workspace(folder, v)
		if name := v.get("name"); is && owned[folder] && packageOf(name.text) == name.text && name.text != "" {
			at := imports.Place{File: path.Join(folder, "package.json"), Line: name.line}
			p.found.Owns = append(p.found.Owns, imports.Own{Name: name.text, At: at})
		}
	}
}

// manifests is the folders of the module with a package.json or a workspace, the outer ones first.
func (p *project) manifests() []string {
	var all []string
	for file := range p.texts {
		base := path.Base(file)
		if _, within := p.within(file); within && (base == "package.json" || base == "pnpm-workspace.yaml") {
			all = append(all, path.Dir(file))
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), strings.Compare(a, b))
	})
	return slices.Compact(all)
}

func depth(folder string) int {
	if folder == "." {
		return 0
	}
	return 1 + strings.Count(folder, "/")
}
