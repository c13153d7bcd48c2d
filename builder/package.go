package builder

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"noxmesh/builder/deb"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// typePackage is an artifact that a machine's own package manager installs.
const typePackage = "package"

// packPackage makes a package of a folder that stands for the root of a machine.
func (o *order) packPackage(ctx context.Context, name string, made manifest.Artifact, dir *os.Root) error {
	if err := noPointers(dir); err != nil {
		return err
	}
	p := deb.Package{
		Name: made.PackageName(name), Version: made.Version, Architecture: deb.Architecture(o.request.Platform),
		Depends: made.Depends, Module: o.manifest.Module, Summary: o.manifest.Summary,
	}
	body := filepath.Join(o.bench.packed(), "package-"+name)
	var w deb.Written
	err := effect.Do("builder.package.write", func() (err error) {
		w, err = writePackage(ctx, p, dir, body)
		return err
	})
	if err != nil {
		return fault.Add(disk.Say(err, body), "pack the artifact %q", name)
	}
	o.packed.packages = append(o.packed.packages, manifest.Package{Artifact: name, Name: p.Name, Version: p.Version, Digest: w.Digest, Size: w.Size})
	o.log.Note("%s: %s, %d entries, %d bytes packed, %s", name, p.FileName(), w.Files, w.Size, w.Digest)
	if _, there := o.packed.where.Blobs[w.Digest]; !there {
		o.packed.blobs = append(o.packed.blobs, blob{p.FileName(), deb.Media, w.Digest, w.Size, body})
		o.packed.where.Blobs[w.Digest] = w.Size
	}
	return nil
}

// writePackage writes a package to a new file, with another beside it meanwhile.
func writePackage(ctx context.Context, p deb.Package, dir *os.Root, body string) (w deb.Written, err error) {
	var files [2]*os.File
	for i, name := range []string{body + ".data", body} {
		if files[i], err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return w, fault.Wrap(fault.Unavailable, err, "make %q", name)
		}
		defer func() { err = errors.Join(err, files[i].Close()) }()
	}
	if w, err = p.Write(ctx, dir, files[0], files[1]); err != nil {
		return w, err
	}
	return w, os.Remove(files[0].Name())
}
