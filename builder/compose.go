package builder

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"noxmesh/builder/layer"
	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/remote"
	"noxmesh/manifest"
)

// typeImage is an artifact that containers are made of.
const typeImage = "image"

// packImage makes an image of a folder, on top of another or of nothing.
func (o *order) packImage(ctx context.Context, name string, made manifest.Artifact, dir *os.Root) error {
	if err := noPointers(dir); err != nil {
		return err
	}
	base, err := o.base(ctx, made.Base)
	if err != nil {
		return environment("%s", said(fault.Add(err, "artifact %q: stand on the image %s", name, made.Base)))
	}
	top, own, err := o.layer(name, func(out *os.File) (layer.Layer, error) {
		return layer.Write(ctx, dir, made.At, made.Base == "", out)
	})
	if err != nil {
		return err
	}
	layers := layersOf(base)
	for i := range layers {
		o.carry(blob{name + ".base", layers[i].Media, layers[i].Digest, layers[i].Size, o.basePath(layers[i].Digest)})
	}
	layers = append(layers, top)
	o.carry(blob{name + ".tar.gz", layer.Media, top.Digest, top.Size, own})
	return o.compose(name, layer.Says{Platform: o.request.Platform, Base: base.Config, Command: made.Command, Env: made.Env}, layers)
}

// layer writes the layer that is an image's own, and says where it is.
func (o *order) layer(name string, write func(*os.File) (layer.Layer, error)) (top layer.Layer, own string, err error) {
	own = filepath.Join(o.bench.packed(), "layer-"+name)
	err = effect.Do("builder.layer.write", func() error {
		file, err := os.OpenFile(own, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fault.Wrap(fault.Unavailable, err, "make %q", own)
		}
		top, err = write(file)
		return errors.Join(err, file.Close())
	})
	if err != nil {
		return top, own, fault.Add(disk.Say(err, own), "pack the artifact %q", name)
	}
	return top, own, nil
}

// compose keeps an image of these layers to be published.
func (o *order) compose(name string, says layer.Says, layers []layer.Layer) error {
	text, err := layer.Config(says, layers)
	if err != nil {
		return err
	}
	config, err := o.bytes(name+".config.json", oci.MediaConfig, text)
	if err != nil {
		return err
	}
	m := oci.Manifest{Config: oci.Descriptor{MediaType: config.media, Digest: config.digest, Size: config.size}}
	for _, l := range layers {
		m.Layers = append(m.Layers, oci.Descriptor{MediaType: l.Media, Digest: l.Digest, Size: l.Size})
	}
	if text, _, err = m.Encode(); err != nil {
		return err
	}
	// The build names it among its blobs, so that all of it is there while the build is.
	is, err := o.bytes(name+".json", oci.MediaManifest, text)
	if err != nil {
		return err
	}
	o.packed.composed = append(o.packed.composed, m)
	o.packed.images = append(o.packed.images, manifest.Image{Artifact: name, Digest: is.digest, Size: is.size})
	o.log.Note("%s: an image of %d layers, its own has %d entries, %s", name, len(layers), layers[len(layers)-1].Files, is.digest)
	return nil
}

// carry takes a blob to those that are published with the build, once.
func (o *order) carry(b blob) {
	if _, there := o.packed.where.Blobs[b.digest]; !there {
		o.packed.blobs = append(o.packed.blobs, b)
		o.packed.where.Blobs[b.digest] = b.size
	}
}

// bytes keeps a small blob and carries it.
func (o *order) bytes(title, media string, data []byte) (blob, error) {
	b := blob{title: title, media: media, digest: document.Sum(data), size: int64(len(data))}
	b.path = filepath.Join(o.bench.packed(), "image-"+b.digest.Hex())
	err := effect.Do("builder.image.keep", func() error { return os.WriteFile(b.path, data, 0o600) })
	if err != nil {
		return blob{}, fault.Wrap(fault.Unavailable, disk.Say(err, b.path), "keep %q", title)
	}
	o.carry(b)
	return b, nil
}

func (o *order) basePath(d document.Digest) string {
	return filepath.Join(o.bench.packed(), "base-"+d.Hex())
}

// base is what an image stands on, with its layers on the bench. Its digest stands
// in the manifest, or is that of the image which the module is built in, or what
// another module has made.
func (o *order) base(ctx context.Context, named string) (remote.Image, error) {
	of, _ := image.Parse(named)
	digest := document.Digest(of.Digest)
	switch {
	case named == "":
		return remote.Image{}, nil
	case o.images == nil:
		return remote.Image{}, fault.New(fault.Unavailable, "this builder has no way to images")
	case digest == "":
		tagged, _ := o.request.Base(of)
		digest = cmp.Or(tagged, o.request.In())
	}
	var base remote.Image
	source, made, err := o.sourceOf(of)
	if err != nil {
		return base, err
	}
	digest = cmp.Or(made, digest)
	err = o.patiently(ctx, func() (err error) {
		base, err = source.Image(ctx, of, digest, o.request.Platform)
		return err
	})
	if err != nil {
		return base, err
	}
	for _, l := range base.Layers {
		err := o.patiently(ctx, func() error {
			return effect.Do("builder.base.pull", func() error {
				f, err := os.OpenFile(o.basePath(l.Digest), os.O_RDWR|os.O_CREATE, 0o600)
				if err != nil {
					return disk.Say(err, o.bench.dir)
				}
				return errors.Join(source.Pull(ctx, of, l.Blob, f), f.Close())
			})
		})
		if err != nil {
			return base, err
		}
	}
	return base, nil
}

// layersOf is the layers of an image as an image on top of it has them.
func layersOf(i remote.Image) []layer.Layer {
	media := map[remote.Compression]string{remote.Plain: "", remote.Gzip: "+gzip", remote.Zstd: "+zstd"}
	all := make([]layer.Layer, len(i.Layers))
	for n, l := range i.Layers {
		all[n] = layer.Layer{Media: "application/vnd.oci.image.layer.v1.tar" + media[l.Compression], Digest: l.Digest, Size: l.Size, Plain: l.Plain}
	}
	return all
}
