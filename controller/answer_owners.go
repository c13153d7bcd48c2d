package controller

import (
	"context"

	mesh "noxmesh"
	"noxmesh/api"
	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/spoken"
	"noxmesh/internal/fault"
)

// answerOwners is the edges of code that nobody has committed yet. Of a module
// that the mesh does not know the repository is not known, and so no path in it.
func (c *Controller) answerOwners(ctx context.Context, _ api.Who, in api.OwnersIn) (api.OwnersOut, error) {
	out := api.OwnersOut{Module: in.Module, Edges: []api.Edge{}, Against: []string{}}
	if !mesh.ValidModuleName(in.Module) {
		return out, fault.New(fault.Invalid, "%q is not the name of a module", in.Module)
	}
	is := graph.Code{Module: in.Module, Says: imports.Say(foundOf(in))}
	builds := graph.NewBuilds(spoken.Languages())
	err := c.with(ctx, func(v *view) error {
		for _, name := range v.names {
			code := v.modules[name].code
			if name == in.Module {
				out.Known, is.Repository, is.Folder = true, code.Repository, code.Folder
				continue
			}
			builds.Set(code)
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	builds.Set(is)
	out.Edges = edgesIn(builds.Edges(in.Module))
	out.Against = append(out.Against, builds.Against(in.Module)...)
	return out, nil
}

func foundOf(in api.OwnersIn) map[string]imports.Found {
	all := map[string]imports.Found{}
	for _, o := range in.Owns {
		f := all[o.Language]
		f.Owns = append(f.Owns, imports.Own{Name: o.Name, At: imports.Place{File: o.File, Line: o.Line}})
		all[o.Language] = f
	}
	for _, a := range in.Asks {
		f := all[a.Language]
		f.Imports = append(f.Imports, imports.Import{Name: a.Name, Path: a.Path, Test: a.Test, At: imports.Place{File: a.File, Line: a.Line}})
		all[a.Language] = f
	}
	return all
}
