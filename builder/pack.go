package builder

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"noxmesh/archive"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/manifest"
)

// maxFile bounds one file that a resource takes from the repository; what is
// larger belongs in an archive.
const maxFile = 256 << 20

// packed is what a build made, beside the tree and out of the sandbox's reach.
type packed struct {
	files    map[string]manifest.Resolved // by the path in from
	archives map[string]document.Digest   // by the artifact's name: its index
	packages []manifest.Package           // by artifact
	images   []manifest.Image
	composed []oci.Manifest // the manifests of these, pushed before the build is
	where    build.Where
	blobs    []blob // in the order in which they are published
}

// blob is bytes that wait on the bench to be published.
type blob struct {
	title  string // what it is called where files have names
	media  string
	digest document.Digest
	size   int64
	path   string
}

// keepFiles puts aside the files that resources name, as the repository has
// them: a command that ran later has no part in them.
func (o *order) keepFiles() error {
	o.packed = packed{
		files:    map[string]manifest.Resolved{},
		archives: map[string]document.Digest{},
		where:    build.Where{Blobs: map[document.Digest]int64{}, Archives: map[document.Digest]build.Packed{}},
	}
	root, err := os.OpenRoot(o.bench.tree())
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open the tree")
	}
	defer root.Close()
	for _, r := range o.manifest.Resources {
		if r.From == "" {
			continue
		}
		if _, ok := o.packed.files[r.From]; ok {
			continue
		}
		data, err := readRegular(root, r.From, maxFile)
		if err != nil {
			return fault.Add(err, "resource %q: from", r.ID)
		}
		if err := noPointer(r.From, data); err != nil {
			return fault.Add(err, "resource %q: from", r.ID)
		}
		b, err := o.keep(r.From, oci.MediaFile, data)
		if err != nil {
			return err
		}
		o.packed.files[r.From] = manifest.Resolved{Digest: b.digest, Size: b.size}
		o.packed.where.Blobs[b.digest] = b.size
	}
	return nil
}

// keep puts bytes on the bench to be published.
func (o *order) keep(title, media string, data []byte) (blob, error) {
	b := blob{title: title, media: media, digest: document.Sum(data), size: int64(len(data))}
	b.path = filepath.Join(o.bench.packed(), b.digest.Hex())
	err := effect.Do("builder.blob.keep", func() error { return os.WriteFile(b.path, data, 0o600) })
	if err != nil {
		return blob{}, fault.Wrap(fault.Unavailable, err, "keep %q", title)
	}
	o.packed.blobs = append(o.packed.blobs, b)
	return b, nil
}

// pack makes each artifact of what the build left in the tree.
func (o *order) pack(ctx context.Context, _ *made) error {
	if o.manifest.Build == nil || len(o.manifest.Build.Artifacts) == 0 {
		o.log.Note("no artifacts")
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(o.manifest.Build.Artifacts)) {
		if err := o.packOne(ctx, name, o.manifest.Build.Artifacts[name]); err != nil {
			return fault.Add(err, "artifact %q", name)
		}
	}
	return nil
}

func (o *order) packOne(ctx context.Context, name string, made manifest.Artifact) error {
	dir, err := openFolder(o.bench.tree(), cmp.Or(made.Path, "."))
	if err != nil {
		return err
	}
	defer dir.Close()
	switch made.Type {
	case typeLibrary:
		return o.packLibrary(ctx, name, made.Language, dir)
	case typePackage:
		return o.packPackage(ctx, name, made, dir)
	case typeImage:
		if made.File != "" {
			return o.packFile(ctx, name, dir)
		}
		return o.packImage(ctx, name, made, dir)
	}
	return o.packFolder(ctx, name, dir)
}

func (o *order) packFolder(ctx context.Context, name string, dir *os.Root) error {
	if err := noPointers(dir); err != nil {
		return err
	}
	body := filepath.Join(o.bench.packed(), "artifact-"+name)
	var a archive.Packed
	err := effect.Do("builder.archive.pack", func() error {
		file, err := os.OpenFile(body, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fault.Wrap(fault.Unavailable, err, "make %q", body)
		}
		if a, err = archive.Pack(ctx, dir, file); err != nil {
			return errors.Join(err, file.Close())
		}
		if err := file.Close(); err != nil {
			return fault.Wrap(fault.Unavailable, err, "make %q", body)
		}
		return nil
	})
	if err != nil {
		return fault.Add(disk.Say(err, body), "pack the artifact %q", name)
	}
	return o.keepArchive(name, a.Index, blob{name + ".tar.zst", oci.MediaArchive, a.Blob, a.Size, body})
}

func (o *order) keepArchive(name string, index archive.Index, body blob) error {
	id, err := index.Digest()
	if err != nil {
		return err
	}
	o.packed.archives[name] = id
	o.log.Note("%s: %d entries, %d bytes packed, %s", name, len(index.Entries), body.size, id)
	if _, ok := o.packed.where.Archives[id]; ok {
		return nil // two artifacts with one content
	}
	small, err := archive.CompressIndex(index)
	if err != nil {
		return err
	}
	listed, err := o.keep(name+".index.zst", oci.MediaIndex, small)
	if err != nil {
		return err
	}
	o.packed.blobs = append(o.packed.blobs, body)
	o.packed.where.Archives[id] = build.Packed{Index: listed.digest, IndexSize: listed.size, Blob: body.digest, Size: body.size}
	return nil
}

// image is the image that an artifact was packed as; empty where it was none.
func (p packed) image(artifact string) document.Digest {
	for _, i := range p.images {
		if i.Artifact == artifact {
			return i.Digest
		}
	}
	return ""
}

// derive is the built manifest of what was packed.
func (o *order) derive() (manifest.Built, error) {
	resolved := map[string]manifest.Resolved{}
	for _, r := range o.manifest.Resources {
		switch {
		case r.From != "":
			resolved[r.ID] = o.packed.files[r.From]
		case r.Artifact != "":
			resolved[r.ID] = manifest.Resolved{Digest: cmp.Or(o.packed.archives[r.Artifact], o.packed.image(r.Artifact))}
		}
	}
	q := o.request
	prov := manifest.Provenance{
		Commit: q.Commit, Tree: q.Tree, Platform: q.Platform, Closure: q.Closure, Libraries: o.libraries(), Packages: o.packed.packages, Images: o.packed.images, Environment: q.In(), Bases: q.Bases,
		Network: o.manifest.Build != nil && o.manifest.Build.Network,
	}
	return manifest.Derive(o.manifest, prov, resolved)
}

// openFolder opens a folder of the tree for reading. A link may lead to it, but
// never out of the tree.
func openFolder(tree, path string) (*os.Root, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "open the tree")
	}
	defer root.Close()
	dir, err := root.OpenRoot(filepath.FromSlash(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "there is no folder %q after the build", path).
			With("build.artifacts names the folder that the commands leave behind")
	case err != nil:
		return nil, fault.Wrap(fault.Invalid, err, "open the folder %q", path)
	}
	return dir, nil
}

// readRegular reads a file of the tree whole: a regular one, at most this large.
func readRegular(root *os.Root, name string, most int64) ([]byte, error) {
	name = filepath.FromSlash(name)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "there is no file %q in the module's folder", name)
	case err != nil:
		return nil, fault.Wrap(fault.Invalid, err, "look at %q", name)
	case !info.Mode().IsRegular():
		return nil, fault.New(fault.Invalid, "%q is no regular file", name)
	case info.Size() > most:
		return nil, fault.New(fault.Invalid, "%q has %d bytes, at most %d are taken", name, info.Size(), most)
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "read %q", name)
	}
	return data, nil
}
