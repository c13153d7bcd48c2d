package controller

import (
	"maps"
	"slices"

	"noxmesh/api"
	"noxmesh/manifest"
	"noxmesh/plan"
)

// instances is what a module needs made for it, each with the modules that grant
// it by what is known now.
func (v *view) instances(m manifest.Source) []api.Instance {
	modules, _ := v.known.Near([]string{m.Module}, nil)
	var out []api.Instance
	for _, name := range slices.Sorted(maps.Keys(m.Instances)) {
		kind := m.Instances[name].Of
		out = append(out, api.Instance{Name: name, Of: kind, GrantedBy: plan.GrantedBy(modules, kind)})
	}
	return out
}

func grants(m manifest.Source) []api.Grant {
	var out []api.Grant
	for _, kind := range slices.Sorted(maps.Keys(m.Grants)) {
		out = append(out, api.Grant{Kind: kind, Says: m.Grants[kind].Says, Takes: slices.Sorted(maps.Keys(m.Grants[kind].With)), Gives: m.Grants[kind].Gives})
	}
	return out
}
