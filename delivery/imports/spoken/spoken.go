// Package spoken is the languages that the mesh reads, in one list (pure).
package spoken

import (
	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/container"
	"noxmesh/delivery/imports/golang"
	"noxmesh/delivery/imports/javascript"
	"noxmesh/delivery/imports/python"
	"noxmesh/delivery/imports/rust"
)

// Languages is every language that is read, by name.
func Languages() []imports.Language {
	return []imports.Language{container.Language{}, golang.Language{}, javascript.Language{}, python.Language{}, rust.Language{}}
}
