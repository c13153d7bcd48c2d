package builder

import (
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

func decodeSource(data []byte) (manifest.Source, error) {
	return document.Decode[manifest.Source](manifest.Name, data, manifest.Limits)
}

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

type fileMade struct {
	Digest document.Digest
	Size   int64
}

func (o *order) derive() (manifest.Built, error) {
	m, r := o.manifest, o.request
	b := manifest.Built{
		Format: 1, Module: m.Module, Summary: m.Summary, Provides: m.Provides, Requires: m.Requires, Claims: m.Claims, Settings: m.Settings,
		Built: manifest.Provenance{Commit: r.Commit, Tree: r.Tree, Platform: r.Platform, Closure: r.Closure},
	}
	for _, x := range m.Resources {
		y := manifest.BuiltResource{ID: x.ID, Type: x.Type, Path: x.Path, Mode: x.Mode, Content: x.Content, Target: x.Target}
		if x.From != "" {
			y.Digest, y.Size = o.packed.files[x.From].Digest, o.packed.files[x.From].Size
		}
		if x.Artifact != "" {
			y.Digest = o.packed.archives[x.Artifact]
		}
		b.Resources = append(b.Resources, y)
	}
	return b, nil
}
