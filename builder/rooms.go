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
	return document.Decode[build.Request]("build request", data, build.Limits)
}

type fileMade struct {
	Digest document.Digest
	Size   int64
}

func (o *order) derive() (manifest.Built, error) {
	return manifest.Built{}, fault.New(fault.Broken, "not there")
}

func (b *builder) gitSource() Source { return nil }

func (b *builder) meshRegistry(build.Request) Registry { return nil }
