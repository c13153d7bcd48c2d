package registry

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

// repositories is where the registry behind keeps which manifests and blobs each
// repository has: a link for each.
const repositories = "docker/registry/v2/repositories"

// Named is what one repository must keep.
type Named struct {
	Manifests map[document.Digest]bool // with all that they name, and what has one of them as its subject
	Busy      bool                     // somebody may be publishing there: everything stays
}

// Collecting is what a collection goes by.
type Collecting struct {
	// Names is what a repository must keep. It is asked while no write is under
	// way, and none begins before what it does not name has left the repository.
	Names  func(ctx context.Context, repository string) (Named, error)
	Before time.Time // what came later stays
	Look   bool      // take nothing away
}

// Collected is what a collection took away, or with Look would.
type Collected struct {
	Manifests int      // that nothing named
	Blobs     int      // that no manifest needed
	Bytes     int64    // of them
	Kept      int      // blobs
	KeptBytes int64    // of them
	Busy      []string // the repositories of which nothing was taken
}

// Collect takes away what nothing names: first out of each repository, the
// manifests before what they name, and then the blobs that no repository has any
// more. Ended at any point it leaves blobs that nobody sees, and the next one
// takes them; nothing that is named is ever gone. What is being read is read to
// its end. One call at a time.
func (g *Registry) Collect(ctx context.Context, c Collecting) (Collected, error) {
	s := &sweep{registry: g, Collecting: c, marked: map[string]bool{}}
	g.fresh.begin()
	defer g.fresh.end()
	names, err := g.repositories()
	if err != nil {
		return s.done, err
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return s.done, ctx.Err()
		}
		if err := g.Still(func() error { return s.repository(ctx, name) }); err != nil {
			return s.done, fault.Add(err, "collect from %q", name)
		}
	}
	return s.done, s.blobs(ctx)
}

// sweep is one collection.
type sweep struct {
	Collecting
	registry *Registry
	marked   map[string]bool // the hex of each blob that some repository keeps
	done     Collected
}

// repositories is the name of each one that anything was ever pushed to.
func (g *Registry) repositories() (names []string, err error) {
	root := g.path(repositories)
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fault.Wrap(fault.Unavailable, disk.Say(err, path), "look through the registry's folder %q", root)
		case !e.IsDir():
			return nil
		case strings.HasPrefix(e.Name(), "_"):
			name := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), root+string(filepath.Separator)))
			if n := len(names); n == 0 || names[n-1] != name {
				names = append(names, name)
			}
			return fs.SkipDir
		}
		return nil
	})
	return names, err
}

func (g *Registry) path(parts ...string) string {
	return filepath.Join(append([]string{g.cfg.Dir}, parts...)...)
}

// repository takes out of one repository what it need not keep, and marks the rest.
func (s *sweep) repository(ctx context.Context, name string) error {
	named, err := s.Names(ctx, name)
	if err != nil {
		return err
	}
	revisions := s.registry.path(repositories, name, "_manifests", "revisions", "sha256")
	layers := s.registry.path(repositories, name, "_layers", "sha256")
	manifests, err := links(revisions)
	if err != nil {
		return err
	}
	blobs, err := links(layers)
	if err != nil {
		return err
	}
	if named.Busy {
		s.done.Busy = append(s.done.Busy, name)
		s.mark(manifests, blobs)
		return nil
	}
	needed, unread := s.keep(manifests, named)
	out, err := s.takeManifests(ctx, room{name, revisions, manifests}, needed)
	if err != nil {
		return err
	}
	s.mark(manifests, nil)
	gone, err := s.takeLayers(ctx, room{name, layers, blobs}, needed, unread)
	if err != nil {
		return err
	}
	s.mark(nil, blobs)
	if out+gone == 0 || s.Look {
		return nil
	}
	return s.settle(name, len(manifests)+len(blobs) == 0, revisions, layers)
}

// keep is all that the manifests which stay need, by hex, themselves among it.
// Unread: one of them cannot be read, so that nobody knows what it needs.
func (s *sweep) keep(manifests map[string]time.Time, named Named) (needed map[string]bool, unread bool) {
	needed = map[string]bool{}
	subjects := map[string]string{}
	read := map[string]oci.Manifest{}
	for hex := range manifests {
		m, err := s.registry.manifest(hex)
		if err != nil {
			unread = unread || named.Manifests[digestOf(hex)]
			continue
		}
		read[hex] = m
		if m.Subject != nil {
			subjects[hex] = m.Subject.Digest.Hex()
		}
	}
	for hex, came := range manifests {
		if came.Before(s.Before) && !s.names(hex, subjects, manifests, named) {
			continue
		}
		needed[hex] = true
		m, ok := read[hex]
		if !ok {
			unread = true
			continue
		}
		for _, d := range append([]oci.Descriptor{m.Config}, m.Layers...) {
			needed[d.Digest.Hex()] = true
		}
	}
	return needed, unread
}

// names reports whether a manifest is named, or what it is about stays: it stays
// and goes with that. A circle has no beginning, and a chain that long no use.
func (s *sweep) names(hex string, subjects map[string]string, manifests map[string]time.Time, named Named) bool {
	for of, steps := hex, 0; of != "" && steps < 8; of, steps = subjects[of], steps+1 {
		came, there := manifests[of]
		if there && (named.Manifests[digestOf(of)] || !came.Before(s.Before)) {
			return true
		}
	}
	return false
}

// manifest reads one as it lies on the disk.
func (g *Registry) manifest(hex string) (oci.Manifest, error) {
	b, err := os.ReadFile(g.path(blobs, hex[:2], hex, "data"))
	if err != nil {
		return oci.Manifest{}, fault.Wrap(fault.Unavailable, err, "read manifest %s", hex)
	}
	return oci.DecodeManifest(b)
}

// links is what a folder of links names, by hex, and when each came.
func links(dir string) (map[string]time.Time, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Wrap(fault.Unavailable, disk.Say(err, dir), "look through %q", dir)
	}
	out := map[string]time.Time{}
	for _, e := range entries {
		if len(e.Name()) != 64 {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name(), "link"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out[e.Name()] = time.Time{} // a folder that a collection was ended in
		case err != nil:
			return nil, fault.Wrap(fault.Unavailable, disk.Say(err, dir), "look at %q", dir)
		default:
			out[e.Name()] = info.ModTime()
		}
	}
	return out, nil
}

func (s *sweep) mark(lists ...map[string]time.Time) {
	for _, list := range lists {
		for hex := range list {
			s.marked[hex] = true
		}
	}
}

// room is the links of one kind in a repository.
type room struct {
	repository string
	dir        string
	list       map[string]time.Time // by hex: when each came
}

// takeManifests takes away those that are not needed, and out of the list.
func (s *sweep) takeManifests(ctx context.Context, r room, needed map[string]bool) (n int, err error) {
	for hex := range r.list {
		if needed[hex] {
			continue
		}
		err := s.take(func() error {
			if err := s.registry.behind.dropManifest(ctx, r.repository, hex); err != nil {
				return err
			}
			return effect.Do("registry.manifest.collect", func() error { return os.RemoveAll(filepath.Join(r.dir, hex)) })
		})
		if err != nil {
			return n, untaken(err, r.dir, "take away manifest %s", hex)
		}
		delete(r.list, hex)
		s.done.Manifests++
		n++
	}
	return n, nil
}

// takeLayers does the same for blobs. What came lately stays: its manifest may follow.
func (s *sweep) takeLayers(ctx context.Context, r room, needed map[string]bool, unread bool) (n int, err error) {
	for hex, came := range r.list {
		if needed[hex] || unread || !came.Before(s.Before) {
			s.elsewhere(r, hex, false)
			continue
		}
		s.elsewhere(r, hex, true)
		err := s.take(func() error {
			if err := s.registry.behind.dropBlob(ctx, r.repository, hex); err != nil {
				return err
			}
			return effect.Do("registry.layer.collect", func() error { return os.RemoveAll(filepath.Join(r.dir, hex)) })
		})
		if err != nil {
			return n, untaken(err, r.dir, "take away the link to blob %s", hex)
		}
		delete(r.list, hex)
		n++
	}
	return n, nil
}

// untaken is why something could not be taken away, here or from where it is kept.
func untaken(err error, dir, what, hex string) error {
	if fault.KindOf(err) != fault.Unknown {
		return fault.Add(err, what, hex)
	}
	return fault.Wrap(fault.Unavailable, disk.Say(err, dir), what, hex)
}

func (s *sweep) take(remove func() error) error {
	if s.Look {
		return nil
	}
	return remove()
}

// settle makes it durable that the links are gone, before their blobs go. Of a
// repository that is empty nothing stays.
func (s *sweep) settle(name string, empty bool, dirs ...string) error {
	err := effect.Do("registry.repository.settle", func() error {
		for _, dir := range dirs {
			if err := syncFolder(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if !empty {
			return nil
		}
		for _, part := range []string{"_manifests", "_layers", "_uploads"} {
			if err := os.RemoveAll(s.registry.path(repositories, name, part)); err != nil {
				return err
			}
		}
		_ = os.Remove(s.registry.path(repositories, name)) // where another's name begins with it, it stays
		return nil
	})
	if err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, s.registry.path(repositories, name)), "settle repository %q", name)
	}
	return nil
}

// blobs takes away what no repository has any more.
func (s *sweep) blobs(ctx context.Context) error {
	root := s.registry.path(blobs)
	folders, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.Unavailable, disk.Say(err, root), "look through %q", root)
	}
	for _, folder := range folders {
		dir := filepath.Join(root, folder.Name())
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fault.Wrap(fault.Unavailable, disk.Say(err, dir), "look through %q", dir)
		}
		for _, e := range entries {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := s.blob(dir, e.Name()); err != nil {
				return fault.Wrap(fault.Unavailable, disk.Say(err, dir), "take away blob %s", e.Name())
			}
		}
	}
	return nil
}

func (s *sweep) blob(dir, hex string) error {
	info, err := os.Stat(filepath.Join(dir, hex, "data"))
	size, came := int64(0), time.Time{}
	switch {
	case err == nil:
		size, came = info.Size(), info.ModTime()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	took := false
	if !s.marked[hex] && came.Before(s.Before) {
		// Whoever found it there since the marks were set has linked it, or is to be let finish.
		if err := s.registry.Still(func() error {
			if s.registry.fresh.has(hex) {
				return nil
			}
			took = true
			return s.take(func() error {
				return effect.Do("registry.blob.collect", func() error { return os.RemoveAll(filepath.Join(dir, hex)) })
			})
		}); err != nil {
			return err
		}
	}
	if took {
		s.done.Blobs, s.done.Bytes = s.done.Blobs+1, s.done.Bytes+size
		return nil
	}
	s.done.Kept, s.done.KeptBytes = s.done.Kept+1, s.done.KeptBytes+size
	return nil
}
