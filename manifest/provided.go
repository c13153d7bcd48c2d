package manifest

import (
	"reflect"

	"noxmesh/document"
)

// Provided is one thing that other modules may require, and how far it is good.
// It is written as its name alone where it is good for the node it is on.
type Provided struct {
	Name  string `json:"name"`
	Scope Scope  `json:"scope,omitempty"`
}

// Scope is how far a thing that is provided is good.
type Scope string

// The scopes. NodeScope is written by leaving it out: to assign the module that
// requires such a thing brings the one that provides it along. A thing of
// MeshScope is needed on some node, whichever.
const (
	NodeScope Scope = ""
	MeshScope Scope = "mesh"
)

// nodeScope is how NodeScope is spelled where somebody does.
const nodeScope = "node"

// whole is a Provided that is written as an object.
type whole Provided

// Whole is the form that an object has.
func (Provided) Whole() reflect.Type { return reflect.TypeFor[whole]() }

// MarshalJSON is p in the shortest form that says all of it.
func (p Provided) MarshalJSON() ([]byte, error) {
	if p.Scope == NodeScope {
		return document.Canonical(p.Name)
	}
	return document.Canonical(whole(p))
}

// UnmarshalJSON reads p in either form.
func (p *Provided) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		name, err := document.Decode[string]("name", b, Limits)
		*p = Provided{Name: name}
		return err
	}
	w, err := document.Decode[whole]("provided", b, Limits)
	*p = Provided(w)
	if p.Scope == nodeScope {
		p.Scope = NodeScope
	}
	return err
}

// OnNode is these names, each good for the node that it is on.
func OnNode(names ...string) []Provided {
	var out []Provided
	for _, name := range names {
		out = append(out, Provided{Name: name})
	}
	return out
}

// Scoped is the names of those that are good this far.
func Scoped(all []Provided, scope Scope) []string {
	var names []string
	for _, p := range all {
		if p.Scope == scope {
			names = append(names, p.Name)
		}
	}
	return names
}

// provides checks what the module provides; a name is there once, whatever its scope.
func (c *checker) provides(all []Provided) {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	c.nameList("provides", names)
	for i, p := range all[:min(len(all), listLimit)] {
		if p.Scope != NodeScope && p.Scope != MeshScope {
			want := document.Nearest(string(p.Scope), []string{nodeScope, string(MeshScope)}, "want node or mesh")
			c.Fault(document.At("provides", i)+".scope", want, "%q is not a scope", document.Short(string(p.Scope)))
		}
	}
}
