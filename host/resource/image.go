package resource

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"runtime"
	"strings"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/container"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci/remote"
)

// bringImages has the runner have the image of each: those of different names side by
// side, and one that is of several once, and found there by the others.
func bringImages(ctx context.Context, p *pass, all []*holding) {
	var first []*holding
	same := map[string][]*holding{}
	for _, h := range all {
		c, _ := h.found.memory.(*contained)
		name := localName(c.of)
		if len(same[name]) == 0 {
			first = append(first, h)
		}
		same[name] = append(same[name], h)
	}
	together(ctx, imageLimit, imagesOnce, first, func(ctx context.Context, h *holding) error {
		c, _ := h.found.memory.(*contained)
		whole := false
		each(ctx, imageLimit, same[localName(c.of)], func(ctx context.Context, h *holding) error {
			c, _ := h.found.memory.(*contained)
			c.unsure = c.unsure && !whole
			err := c.bring(ctx, p)
			whole = whole || err == nil
			return err
		})
		return nil // each has its own
	})
}

// fetch takes in an image that the mesh has made. It comes the way that every other
// blob comes, with the login of this host, and the runner is given the bytes and no
// more. What it has then is the declared image where it knows it by the digest of the
// manifest, or by that of the configuration which that manifest names: that one says
// in turn by its digests what each layer is, and the runner takes in no other.
func (c *contained) fetch(ctx context.Context, p *pass) (container.Image, error) {
	i := fetching{pass: p, digest: document.Digest(c.of.Digest), name: localName(c.of)}
	if err := i.read(ctx); err != nil {
		return container.Image{}, err
	}
	check, err := container.ParseCheck(i.config)
	if err != nil {
		return container.Image{}, err
	}
	config := string(document.Sum(i.config))
	if err := c.dropUnsure(ctx, p, localName(c.of), c.want.Image, config); err != nil {
		return container.Image{}, err
	}
	is, err := c.declared(ctx, config)
	if err != nil {
		return is, err
	}
	if is.ID == "" {
		if err := c.by.Load(ctx, i.name, func(a *container.Archive) error { return i.write(ctx, a) }); err != nil {
			return is, err
		}
		if is, err = c.readBack(ctx, config); err != nil {
			return is, err
		}
	}
	is.Check = check
	return is, nil
}

// sealImage puts on the disk what the runner has taken in. Of an image it syncs what says
// that it is there, and nothing of what it is made of: a power cut would leave one that is
// there, and empty.
func (c *contained) sealImage(p *pass) error {
	for _, at := range c.by.Stores() {
		if err := effect.Do("resource.image.seal", func() error { return p.sys.SyncDisk(at) }); err != nil {
			return fault.Wrap(fault.Conflict, p.sys.Say(system.Cause(err), at), "put the image %q on the disk", localName(c.of))
		}
	}
	return nil
}

// dropUnsure removes an image that the host was about to bring when it was ended, and has not
// put on the disk: it may have been the power that went. Any of these may be what it is
// called, and nothing but its digests where its name has not come with it.
func (c *contained) dropUnsure(ctx context.Context, p *pass, names ...string) error {
	if !c.unsure || p.hasWhole(has(c.by, c.want.Image)) {
		return nil
	}
	for _, name := range names {
		is, there, err := c.by.Image(ctx, name)
		if err == nil && there {
			err = c.drop(ctx, p, is.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *contained) drop(ctx context.Context, p *pass, id string) error {
	units, err := p.manager(ctx)
	if err == nil {
		err = stop(ctx, units, c.service().unit, c.unit.want.Unit)
	}
	if err == nil && c.is.ID != "" {
		err = c.by.RemoveContainer(ctx, c.name())
	}
	if err == nil {
		err = c.by.RemoveImage(ctx, id)
	}
	if err != nil {
		return err
	}
	if _, there, err := c.by.Image(ctx, id); err != nil || there {
		return fault.New(fault.Conflict, "the image %q may not be whole, and %s keeps it", localName(c.of), c.by.Name()).With("remove what uses it: it is fetched anew then")
	}
	c.image, c.service().idle = container.Image{}, true
	return nil
}

// hasWhole reports whether a container of the host has had this image put on the disk.
func (p *pass) hasWhole(image string) bool {
	for subject, hold := range p.record.Holds {
		if strings.HasPrefix(subject, string(declaration.Container)+" ") && readContainerNote(hold.Note).Of == image {
			return true
		}
	}
	return false
}

// fetching is an image on its way to a runner.
type fetching struct {
	*pass
	name             string
	digest           document.Digest
	manifest, config []byte
	is               remote.Image
}

// read fetches what says what the image is made of.
func (i *fetching) read(ctx context.Context) error {
	var err error
	if i.manifest, err = i.part(ctx, remote.Blob{Digest: i.digest}); err != nil {
		return err
	}
	config, err := remote.ConfigOf(i.manifest)
	if err != nil {
		return err
	}
	if i.config, err = i.part(ctx, config); err != nil {
		return err
	}
	i.is, err = remote.Read(i.manifest, i.config, "linux/"+runtime.GOARCH)
	return err
}

// write is the whole image as a runner reads it.
func (i *fetching) write(ctx context.Context, a *container.Archive) error {
	for _, small := range [][]byte{i.manifest, i.config} {
		if err := a.Blob(document.Sum(small), int64(len(small)), fillText(string(small))); err != nil {
			return err
		}
	}
	done := map[document.Digest]bool{}
	layers := make([]document.Digest, 0, len(i.is.Layers))
	for _, layer := range i.is.Layers {
		layers = append(layers, layer.Digest)
		if done[layer.Digest] {
			continue
		}
		done[layer.Digest] = true
		if err := a.Blob(layer.Digest, layer.Size, func(w io.Writer) error { return i.layer(ctx, layer.Digest, layer.Size, w) }); err != nil {
			return fault.Add(err, "fetch a layer of the image %q", i.name)
		}
	}
	return a.End(container.Manifest{Name: i.name, Digest: i.digest, Size: int64(len(i.manifest)), Config: document.Sum(i.config), Layers: layers})
}

// layer writes a layer, checked: where it is another one, what says that the image is
// whole is not written any more.
func (i *fetching) layer(ctx context.Context, digest document.Digest, size int64, w io.Writer) error {
	sum := sha256.New()
	if err := i.source.Part(ctx, i.digest, digest, size, io.MultiWriter(w, sum)); err != nil {
		return err
	}
	return refuseOther(document.FromHash(sum.Sum(nil)), digest)
}

// refuseOther refuses other bytes than those that were asked for.
func refuseOther(is, declared document.Digest) error {
	if is == declared {
		return nil
	}
	return fault.New(fault.Invalid, "the bytes that came have the digest %s, declared is %s", is.Short(), declared.Short())
}

// part is a small part of an image, checked.
func (i *fetching) part(ctx context.Context, b remote.Blob) ([]byte, error) {
	const most = 4 << 20
	if b.Size > most {
		return nil, fault.New(fault.Invalid, "%s has %d bytes, at most %d are read", b.Digest.Short(), b.Size, most)
	}
	var text bytes.Buffer
	if err := i.source.Part(ctx, i.digest, b.Digest, b.Size, &text); err != nil {
		return nil, fault.Add(err, "fetch the image %q", i.name)
	}
	return text.Bytes(), refuseOther(document.Sum(text.Bytes()), b.Digest)
}
