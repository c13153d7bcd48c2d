package builder

import (
	"bytes"
	"context"
	"io"
	"os"

	"noxmesh/builder/rootfs"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/remote"
)

// ownImages is the images that modules of the mesh have made, in its registry, as
// far as the request is open to them: each lies under its module's name.
type ownImages struct {
	registry Registry
	laid     build.Laid
}

// laidImage is the image of another module that a name asks for, of those that the
// request is built against.
func (o *order) laidImage(of image.Reference) (build.Laid, error) {
	module, artifact, _ := of.Module()
	for _, l := range o.request.Laid {
		if l.IsImage() && l.Module == module && (artifact == "" || l.Artifact == artifact) {
			return l, nil
		}
	}
	return build.Laid{}, fault.New(fault.Invalid, "no module of the mesh makes an image that is called %s, or its controller does not know of one", image.OfModule(module, artifact)).
		With("mesh graph %s shows what the module is built against; where the image is there, upgrade the controller", o.request.Module)
}

// sourceOf is where an image comes from, and which one it is where the mesh says that.
func (o *order) sourceOf(of image.Reference) (rootfs.Source, document.Digest, error) {
	if !of.IsOwn() {
		return o.images.Source(), "", nil
	}
	l, err := o.laidImage(of)
	return ownImages{o.registry, l}, l.Digest, err
}

// Image is what an image is made of. Of an image of the mesh the builder knows the
// digest, and so what it is.
func (m ownImages) Image(ctx context.Context, _ image.Reference, digest document.Digest, platform string) (remote.Image, error) {
	if digest != m.laid.Digest {
		return remote.Image{}, fault.New(fault.Invalid, "the request names the image %s of module %q, and is built in %s", m.laid.Digest, m.laid.Module, digest)
	}
	manifest, err := m.small(ctx, remote.Blob{Digest: digest, Size: m.laid.Packed.Size})
	if err != nil {
		return remote.Image{}, err
	}
	config, err := remote.ConfigOf(manifest)
	if err != nil {
		return remote.Image{}, err
	}
	says, err := m.small(ctx, config)
	if err != nil {
		return remote.Image{}, err
	}
	return remote.Read(manifest, says, platform)
}

func (m ownImages) small(ctx context.Context, b remote.Blob) ([]byte, error) {
	const most = 4 << 20
	if b.Size > most {
		return nil, fault.New(fault.Invalid, "%s has %d bytes, at most %d are read", b.Digest, b.Size, most)
	}
	var text bytes.Buffer
	err := m.registry.PullBlob(ctx, m.blob(b), &text)
	return text.Bytes(), err
}

// Pull brings a blob into a file, from its beginning.
func (m ownImages) Pull(ctx context.Context, _ image.Reference, b remote.Blob, file *os.File) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fault.Wrap(fault.Unavailable, err, "begin %q", file.Name())
	}
	if err := file.Truncate(0); err != nil {
		return fault.Wrap(fault.Unavailable, err, "begin %q", file.Name())
	}
	return m.registry.PullBlob(ctx, m.blob(b), file)
}

func (m ownImages) blob(b remote.Blob) oci.Blob {
	return oci.Blob{Repository: m.laid.Module, Digest: b.Digest, Size: b.Size}
}
