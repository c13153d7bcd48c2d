package host

import (
	"noxmesh/host/keep"
	"noxmesh/host/resource"
	"noxmesh/sealed"
)

// A member opens what is sealed to its node.
var _ resource.Opener = (*member)(nil)

// Open is the value of a secret of a module, which was sealed to this node.
func (m *member) Open(module, name, text string) ([]byte, error) {
	v, err := m.keys.seal.Open(text, sealed.For{Mesh: m.mesh, Node: m.node, Module: module, Name: name})
	return v.Value, err
}

// Mark is what the host's record knows files with secrets by.
func (m *member) Mark() []byte { return keep.Mark(m.keys.seal) }
