package builder

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/spoken"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// typeLibrary is an artifact that others are built against.
const typeLibrary = "library"

// libraryIn is the language in which libraries are made and laid out, or nil.
func libraryIn(language string) imports.Library {
	for _, l := range spoken.Languages() {
		if library, can := l.(imports.Library); can && l.Name() == language {
			return library
		}
	}
	return nil
}

// librarians is the languages in which there are libraries, for people.
func librarians() string {
	var names []string
	for _, l := range spoken.Languages() {
		if _, can := l.(imports.Library); can {
			names = append(names, l.Name())
		}
	}
	return strings.Join(names, ", ")
}

// packLibrary packs what others compile against, and nothing else of a folder:
// what is changed beside that moves no digest.
func (o *order) packLibrary(ctx context.Context, name, language string, dir *os.Root) error {
	library := libraryIn(language)
	if library == nil {
		return fault.New(fault.Invalid, "a library in %q: this builder makes none in that language", language).
			With("libraries are made in %s", librarians())
	}
	files, err := library.Library(dir.FS())
	if err != nil {
		return fault.Add(err, "a library in %s", language)
	}
	stage := filepath.Join(o.bench.packed(), "library-"+name)
	err = effect.Do("builder.library.gather", func() error { return gather(ctx, dir, files, stage) })
	if err != nil {
		return disk.Say(err, stage)
	}
	staged, err := os.OpenRoot(stage)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open %q", stage)
	}
	defer staged.Close()
	return o.packFolder(ctx, name, staged)
}

// gather copies files of a folder to a new one. A link becomes what it leads to.
func gather(ctx context.Context, from *os.Root, files []string, stage string) error {
	if err := os.Mkdir(stage, 0o700); err != nil {
		return fault.Wrap(fault.Unavailable, err, "make %q", stage)
	}
	to, err := os.OpenRoot(stage)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "open %q", stage)
	}
	defer to.Close()
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := to.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return fault.Wrap(fault.Unavailable, err, "gather %q", file)
		}
		if err := copyFile(from, to, file); err != nil {
			return fault.Wrap(fault.Unavailable, err, "gather %q", file)
		}
	}
	return nil
}

func copyFile(from, to *os.Root, name string) (err error) {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Chmod(0o600 | info.Mode()&0o100)
}

// libraries is what was packed for others, by the artifacts' names.
func (o *order) libraries() []manifest.Library {
	if o.manifest.Build == nil {
		return nil
	}
	var all []manifest.Library
	for _, name := range slices.Sorted(maps.Keys(o.manifest.Build.Artifacts)) {
		if a := o.manifest.Build.Artifacts[name]; a.Type == typeLibrary {
			all = append(all, manifest.Library{Artifact: name, Language: a.Language, Digest: o.packed.archives[name]})
		}
	}
	return all
}
