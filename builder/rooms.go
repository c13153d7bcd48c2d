package builder

import (
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

func decodeRequest(data []byte) (build.Request, error) {
	r, err := document.Decode[build.Request]("build request", data, build.Limits)
	if err != nil {
		return r, err
	}
	if id, err := r.Identity(); err != nil || id != r.ID {
		return r, fault.New(fault.Invalid, "build request %q: its id is %q", r.ID, id)
	}
	return r, nil
}
