package builder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"noxmesh/archive"
	"noxmesh/builder/shelf"
	"noxmesh/delivery/build"
	"noxmesh/delivery/imports"
	"noxmesh/image"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

const (
	laidAt = "/mesh"  // where commands see what is laid out: MODULE/LANGUAGE
	wired  = ".wired" // in it: what makes that known to a language's tools
)

// laid is what commands find beside their tree.
type laid struct {
	dir string            // becomes /mesh; empty where nothing is laid out
	lib map[string]string // by MODULE/LANGUAGE: the library that is seen there, read-only as all of it
	top map[string]string // links by name directly below the root
	env [][2]string
}

// mounts are bubblewrap's words for it.
func (l laid) mounts() []string {
	if l.dir == "" {
		return nil
	}
	a := []string{"--ro-bind", l.dir, laidAt}
	for _, at := range slices.Sorted(maps.Keys(l.lib)) {
		a = append(a, "--ro-bind", l.lib[at], path.Join(laidAt, at))
	}
	for _, name := range slices.Sorted(maps.Keys(l.top)) {
		a = append(a, "--symlink", l.top[name], "/"+name)
	}
	return a
}

// against is what the request is built against, for people.
func (o *order) against() string {
	libraries := len(o.libs())
	images := len(o.request.Laid) - libraries
	counted := func(n int, one, many string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", n, many)
	}
	switch {
	case images == 0:
		return counted(libraries, "library", "libraries")
	case libraries == 0:
		return counted(images, "image", "images")
	}
	return counted(libraries, "library", "libraries") + " and " + counted(images, "image", "images")
}

// libs is the libraries that the request is built against: images are nothing that
// commands find beside their tree.
func (o *order) libs() []build.Laid {
	return slices.DeleteFunc(slices.Clone(o.request.Laid), build.Laid.IsImage)
}

// lay lays out what the request is built against, outside of the tree, and wires
// it in each language's own way. What cannot be had is never the module's fault.
func (o *order) lay(ctx context.Context, _ *made) error {
	for _, l := range o.request.Laid {
		if l.IsImage() {
			o.log.Note("%s: image %s, %s", image.OfModule(l.Module, ""), l.Artifact, l.Digest)
		}
	}
	if len(o.libs()) == 0 {
		return nil
	}
	o.laid.lib = map[string]string{}
	for _, l := range o.libs() {
		if err := o.layOne(ctx, l); err != nil {
			return environment("%s", said(fault.Add(err, "lay out %q of %q, %s", l.Artifact, l.Module, l.Digest)))
		}
		o.log.Note("%s: %s, %s", path.Join(laidAt, l.Module, l.Language), l.Artifact, l.Digest)
	}
	o.laid.dir = o.bench.laid()
	for _, language := range o.languages() {
		if err := o.wire(language); err != nil {
			return fault.Add(err, "wire what is built against in %s", language)
		}
	}
	if err := settle(o.bench.laid()); err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, o.bench.dir), "settle what is laid out")
	}
	return nil
}

// languages is those that anything is laid out in.
func (o *order) languages() []string {
	var all []string
	for _, l := range o.libs() {
		all = append(all, l.Language)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// layOne makes sure of the place at which one library is seen, and that it is on
// the shelf. What is there was held against the digest that the closure names.
func (o *order) layOne(ctx context.Context, l build.Laid) error {
	if libraryIn(l.Language) == nil {
		return fault.New(fault.Unavailable, "this builder lays out no libraries in %q", l.Language).With("upgrade the builder")
	}
	at := filepath.Join(o.bench.laid(), l.Module, l.Language)
	err := effect.Do("builder.laid.make", func() error { return makeOpen(o.bench.dir, at) })
	if err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, at), "make %q", at)
	}
	f, there := o.shelf.Have(l.Digest.Hex())
	if !there {
		if f, err = o.shelve(ctx, l); err != nil {
			return err
		}
	}
	o.laid.lib[path.Join(l.Module, l.Language)] = f.Dir
	return nil
}

// shelve fetches one library, holds it against its digest, and unpacks it once
// for all builds.
func (o *order) shelve(ctx context.Context, l build.Laid) (shelf.Folder, error) {
	index, err := o.fetchIndex(ctx, l)
	if err != nil {
		return shelf.Folder{}, err
	}
	size := index.Size()
	if size > o.limits.Tree {
		return shelf.Folder{}, fault.New(fault.Unavailable, "it has %d MiB, and a build may take %d of the disk", size>>20, o.limits.Tree>>20)
	}
	if err := o.shelf.Room(size); err != nil {
		return shelf.Folder{}, err
	}
	body := filepath.Join(o.bench.packed(), "input")
	if err := o.fetchBody(ctx, l, body); err != nil {
		return shelf.Folder{}, err
	}
	file, err := os.Open(body)
	if err != nil {
		return shelf.Folder{}, fault.Wrap(fault.Unavailable, err, "open what was fetched")
	}
	defer file.Close()
	return o.shelf.Put(l.Digest.Hex(), o.uses, func(dir string) (shelf.About, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return shelf.About{}, fault.Wrap(fault.Unavailable, err, "open %q", dir)
		}
		defer root.Close()
		err = archive.Unpack(ctx, index, archive.Local(file, l.Packed.Size), root)
		if err == nil {
			err = settle(dir)
		}
		return shelf.About{Size: size}, disk.Say(err, dir)
	})
}

// uses reports whether this build is made against a library, by its name on the shelf.
func (o *order) uses(name string) bool {
	return slices.ContainsFunc(o.request.Laid, func(l build.Laid) bool { return l.Digest.Hex() == name })
}

// librariesBeside is how the folder of libraries is called beside a workshop.
const librariesBeside = "-libraries"

// openLibraries is the shelf of libraries of the builder with this workshop:
// beside it, as the images are.
func openLibraries(c Config, w *workshop) (*shelf.Shelf, error) {
	dir := w.dir + librariesBeside
	s, err := shelf.Open(shelf.Config{Dir: dir, Most: c.Limits.Libraries, Free: c.Limits.Free})
	if err != nil {
		return nil, err
	}
	return s, w.owns(dir)
}

// fetchIndex is the index of a library, which is what its digest is of.
func (o *order) fetchIndex(ctx context.Context, l build.Laid) (archive.Index, error) {
	if l.Packed.IndexSize > archive.MaxIndex {
		return archive.Index{}, fault.New(fault.Invalid, "its index has %d bytes, at most %d are read", l.Packed.IndexSize, archive.MaxIndex)
	}
	var small bytes.Buffer
	err := o.patiently(ctx, func() error {
		small.Reset()
		return o.registry.PullBlob(ctx, oci.Blob{Repository: l.Module, Digest: l.Packed.Index, Size: l.Packed.IndexSize}, &small)
	})
	if err != nil {
		return archive.Index{}, err
	}
	index, err := archive.DecompressIndex(small.Bytes())
	if err != nil {
		return archive.Index{}, err
	}
	switch is, err := index.Digest(); {
	case err != nil:
		return archive.Index{}, err
	case is != l.Digest:
		return archive.Index{}, fault.New(fault.Invalid, "the index %s is that of %s", l.Packed.Index, is)
	}
	return index, nil
}

// fetchBody fetches the bytes of a library into a file.
func (o *order) fetchBody(ctx context.Context, l build.Laid, file string) error {
	return o.patiently(ctx, func() error {
		return effect.Do("builder.input.fetch", func() error {
			out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
			if err != nil {
				return fault.Wrap(fault.Unknown, err, "make %q", file)
			}
			err = o.registry.PullBlob(ctx, oci.Blob{Repository: l.Module, Digest: l.Packed.Blob, Size: l.Packed.Size}, out)
			return errors.Join(err, out.Close())
		})
	})
}

// makeOpen makes a folder below dir, and those between, which everybody may look into.
func makeOpen(dir, path string) error {
	if path == dir {
		return nil
	}
	if err := makeOpen(dir, filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(path, 0o755)
}

// wire makes what is laid out in one language known to that language's tools.
func (o *order) wire(language string) error {
	tree, err := os.OpenRoot(o.bench.tree())
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open the tree")
	}
	defer tree.Close()
	laying := imports.Laying{Tree: imports.Folder{At: "/build", Files: tree.FS()}, Made: path.Join(laidAt, wired, language)}
	for _, l := range o.request.Laid {
		if l.Language != language {
			continue
		}
		root, err := os.OpenRoot(o.laid.lib[path.Join(l.Module, language)])
		if err != nil {
			return fault.Wrap(fault.Unavailable, err, "open what is laid out")
		}
		defer root.Close()
		laying.Laid = append(laying.Laid, imports.Folder{At: path.Join(laidAt, l.Module, language), Files: root.FS()})
	}
	w, err := libraryIn(language).Wire(laying)
	if err != nil {
		return err
	}
	o.laid.env = append(o.laid.env, w.Env...)
	if o.laid.top == nil {
		o.laid.top = map[string]string{}
	}
	maps.Copy(o.laid.top, w.Top)
	made := filepath.Join(o.bench.laid(), wired, language)
	err = effect.Do("builder.wiring.write", func() error { return o.writeWiring(made, w) })
	if err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, made), "write %q", made)
	}
	return nil
}

func (o *order) writeWiring(made string, w imports.Wiring) error {
	if err := makeOpen(o.bench.dir, made); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(w.Files)) {
		file := filepath.Join(made, filepath.FromSlash(name))
		if err := makeOpen(o.bench.dir, filepath.Dir(file)); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(w.Files[name]), 0o600); err != nil {
			return err
		}
		if err := os.Chmod(file, 0o644); err != nil {
			return err
		}
	}
	links := map[string]string{}
	for name, to := range w.Links {
		links[filepath.Join(made, filepath.FromSlash(name))] = to
	}
	for name, to := range w.Beside {
		links[filepath.Join(o.bench.laid(), name)] = to
	}
	for _, link := range slices.Sorted(maps.Keys(links)) {
		if err := makeOpen(o.bench.dir, filepath.Dir(link)); err != nil {
			return err
		}
		if err := os.Symlink(links[link], link); err != nil {
			return err
		}
	}
	return nil
}

// settle gives all that is laid out one time, as the tree has it.
func settle(dir string) error {
	return effect.Do("builder.laid.settle", func() error {
		return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return dated(path)
		})
	})
}
