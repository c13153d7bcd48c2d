package controller

import (
	"slices"
	"strings"

	"noxmesh/delivery/build"
	"noxmesh/delivery/environment"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/container"
	"noxmesh/delivery/recipe"
	"noxmesh/delivery/source"
	"noxmesh/image"
	"noxmesh/manifest"
)

// withBases puts down, beside what the code asks for, the names with a tag that those
// container files stand on which images are made as: what they mean is a part of what
// the build is made of. Whatever another container file in the folder stands on is not.
func withBases(found map[string]imports.Found, in imports.Input, m manifest.Source) map[string]imports.Found {
	is := found[build.InImages]
	for _, f := range in.Files {
		name := strings.TrimPrefix(strings.TrimPrefix(f.Path, in.Folder), "/")
		if f.Link != "" || !m.MadeAs(name) {
			continue
		}
		for _, base := range recipe.Bases(name, f.Text, in.Platform) {
			is.Imports = append(is.Imports, imports.Import{Name: base, At: imports.Place{File: f.Path}})
		}
	}
	if len(is.Imports) > 0 {
		found[build.InImages] = is.Sorted(container.Language{}.Owners)
	}
	return found
}

// basesIn is those names again, of a source, sorted. One that is named just as the
// image that commands run in is that.
func basesIn(s source.Source) (all []string) {
	if s.Commit == "" || !s.Manifest.HasFiles() {
		return nil
	}
	in, _ := image.Parse(s.Manifest.Build.In)
	for w := range s.Code.Says.Words(make([]byte, 0, 256)) {
		if w.Language != build.InImages || w.Owned || w.Path {
			continue
		}
		name := string(w.Text)
		if of, ok := image.Parse(name); ok && of.String() == name && of.Digest == "" && !of.IsOwn() && of != in {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// bases is what is known of what a module's container files stand on by a tag.
func (v *view) bases(m *moduleView) (all []environment.Wanted) {
	for _, name := range m.bases {
		all = append(all, environment.Wanted{In: name, Stands: true, Image: v.images[environment.Key(name, v.platform)]})
	}
	return all
}
