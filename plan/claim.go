package plan

import (
	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	"noxmesh/manifest"
)

// Conflicts is which of the modules that belong on a node claim what another one
// has there: each by the build that is declared, and before there is one by its
// source. It tells of a conflict before anything is declared; Compile tells of
// those among what is. A capability that the node has said it does not have is
// named likewise.
func Conflicts(f Facts) []Reason {
	c := newCompiler(f)
	var out []Reason
	for _, name := range c.inTurn() {
		if l := c.lacks(name); l.why != "" {
			out = append(out, Reason{Module: name, Why: l.why, Host: l.host})
		}
		w := c.claimed(name)
		if w == nil {
			continue
		}
		if why := c.ground.conflict(w); why != "" {
			out = append(out, Reason{Module: name, Why: why})
			continue
		}
		c.ground.take(w)
	}
	return out
}

// claimed is a module with what it would claim, or nil where that cannot be told
// yet: Compile will say why.
func (c *compiler) claimed(name string) *worked {
	built, any := c.modules[name].counts()
	if !any {
		return nil
	}
	v := c.values(name, built)
	w := &worked{module: name, build: &artifact.Build{Manifest: manifest.Built{Claims: built.Claims}}}
	if w.work(v) != "" {
		return nil
	}
	for _, r := range built.Resources {
		path, err := manifest.Fill(r.Path, v.of)
		if err != nil {
			return nil
		}
		out := declaration.Resource{ID: name + "/" + r.ID, Type: declaration.Type(r.Type), Path: path}
		if traits(r, &out, v.of) != "" {
			return nil
		}
		w.resources = append(w.resources, out)
	}
	return w
}

// outline is a source in the form that a build has, without what only a build
// knows.
func outline(s manifest.Source) manifest.Built {
	b := manifest.Built{
		Module: s.Module, Provides: s.Provides, Requires: s.Requires, Instances: s.Instances, Grants: s.Grants,
		Claims: s.Claims, Capabilities: s.Capabilities, Settings: s.Settings, Secrets: s.Secrets,
	}
	for _, r := range s.Resources {
		b.Resources = append(b.Resources, manifest.BuiltResource{ID: r.ID, Type: r.Type, Path: r.Path, Content: r.Content, Target: r.Target, After: r.After, Traits: r.Traits})
	}
	return b
}
