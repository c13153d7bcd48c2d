package builder

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"noxmesh/builder/rootfs"
	"noxmesh/image"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci/remote"
)

// images is where root file systems come from.
type images interface {
	// Root is the root file system of an image, pulled and unpacked where it is not
	// there yet. It stays until another one is asked for.
	Root(ctx context.Context, w rootfs.Wanted) (rootfs.Root, error)
	// Source is where images come from, for one that is taken as it is.
	Source() rootfs.Source
}

// openImages is the store of images of the builder with this workshop: beside it,
// where the sandbox's user can get there too.
func openImages(c Config, w *workshop) (images, error) {
	dir := w.dir + imagesBeside
	s, err := rootfs.Open(rootfs.Config{
		Dir: dir, Most: c.Limits.Images, Free: c.Limits.Free, Source: remote.New(remote.Config{PlainHosts: c.PlainHosts}),
	})
	if err != nil {
		return nil, err
	}
	return s, w.owns(dir)
}

// owns says of a folder beside the workshop whose it is. As a workshop, it is
// nobody's once the state is gone.
func (w *workshop) owns(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, ofFile), []byte(w.state), 0o600); err != nil {
		return fault.Wrap(fault.Unavailable, err, "say whose %q is", dir)
	}
	return nil
}

// imagesBeside is how the folder of images is called beside a workshop.
const imagesBeside = "-images"

// inside makes sure of the image that commands run in. That it cannot be had is
// never the module's fault.
func (o *order) inside(ctx context.Context, _ *made) error {
	e := o.request.Environment
	if o.images == nil {
		return environment("this builder keeps no images to build in")
	}
	of, _ := image.Parse(e.Image)
	var root rootfs.Root
	var final error // that trying again at once does not help
	from, _, err := o.sourceOf(of)
	if err == nil {
		err = o.patiently(ctx, func() (err error) {
			root, err = o.images.Root(ctx, rootfs.Wanted{Of: of, Digest: e.Digest, Platform: o.request.Platform, From: from})
			if disk.Refused(err) || fault.KindOf(err) == fault.Denied && !of.IsOwn() {
				final, err = err, nil
			}
			return err
		})
	}
	if err = cmp.Or(err, final); err != nil {
		return environment("%s", said(fault.Add(err, "build in the image %s@%s", e.Image, e.Digest)))
	}
	if root.Pulled {
		o.log.Note("pulled and unpacked, %d MiB", root.Size>>20)
	}
	o.root = root
	return nil
}

// inWhat is the image that commands run in, for people.
func (o *order) inWhat() string {
	if e := o.request.Environment; e != nil {
		return e.Image + "@" + string(e.Digest)
	}
	return ""
}

// hasCommands reports whether a build runs anything of the module.
func (o *order) hasCommands() bool {
	b := o.manifest.Build
	return b != nil && len(b.Run)+len(b.Test) > 0
}

// agreed refuses a request that names another environment than the module does.
func (o *order) agreed() error {
	in := ""
	if o.manifest.Build != nil {
		in = o.manifest.Build.In
	}
	asked := ""
	if o.request.Environment != nil {
		asked = o.request.Environment.Image
	}
	named := ""
	if r, ok := image.Parse(in); ok {
		named = r.Name()
	}
	switch {
	case named == asked:
		return nil
	case asked == "":
		return environment("the module is built in the image %q, and the request names none: upgrade the controller", in)
	}
	return environment("the module is built in %q, and the request names the image %q", in, asked)
}

// mountsOf are bubblewrap's words for what is below /: an image's, or the
// programs of this machine where there is none. Beside are the names directly
// below the root at which something else will be.
func (s *sandbox) mountsOf(r rootfs.Root, beside []string) ([]string, error) {
	if r.Dir == "" {
		return append(systemMounts(), s.etcMounts()...), nil
	}
	all, err := os.ReadDir(r.Dir)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "look at the root file system %q", r.Dir)
	}
	var a []string
	for _, e := range all {
		name := e.Name()
		if slices.Contains(notOfImages(), name) || slices.Contains(beside, name) {
			continue
		}
		if to, err := os.Readlink(filepath.Join(r.Dir, name)); err == nil {
			a = append(a, "--symlink", to, "/"+name)
			continue
		}
		a = append(a, "--ro-bind", filepath.Join(r.Dir, name), "/"+name)
	}
	for _, name := range rootfs.Files() {
		a = append(a, "--ro-bind", s.etc+"/"+name, "/etc/"+name)
	}
	return a, nil
}

// notOfImages is what is directly below the root and comes from no image.
func notOfImages() []string { return []string{"build", "dev", "mesh", "proc", "sys", "tmp"} }

// environmentOf is what commands are told of their surroundings: what the image
// says, but for who they are and what time it is.
func environmentOf(r rootfs.Root) [][2]string {
	own := sandboxEnvironment()
	if r.Dir == "" {
		return own
	}
	ours := []string{"HOME", "USER", "TZ", "SOURCE_DATE_EPOCH"}
	said := slices.DeleteFunc(slices.Clone(r.Env), func(e [2]string) bool { return slices.Contains(ours, e[0]) })
	return append(own, said...)
}
