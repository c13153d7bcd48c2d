package host

import (
	"noxmesh/declaration"
	"noxmesh/document"
)

func decodeDeclaration(name string, b []byte) (declaration.Declaration, error) {
	return document.Decode[declaration.Declaration](name, b, declaration.Limits)
}
