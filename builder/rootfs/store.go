package rootfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"noxmesh/builder/shelf"
	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci/remote"
)

// Source is where images come from.
type Source interface {
	// Image is what an image is made of.
	Image(ctx context.Context, of image.Reference, digest document.Digest, platform string) (remote.Image, error)
	// Pull brings a blob into a file, and goes on where the file ends.
	Pull(ctx context.Context, of image.Reference, b remote.Blob, file *os.File) error
}

// Config is where root file systems are kept, and how much of them.
type Config struct {
	Dir    string
	Source Source
	Most   int64 // bytes of all together, and of one
	Free   int64 // bytes that the disk keeps free
}

// Store is the root file systems of one builder. One goroutine at a time asks it.
type Store struct {
	cfg   Config
	mu    sync.Mutex
	shelf *shelf.Shelf
}

// Wanted names one image for one platform, and where it comes from: the store's own
// source where that is not said. Wherever it is from, its digest is what it is.
type Wanted struct {
	Of       image.Reference
	Digest   document.Digest
	Platform string
	From     Source
}

// Root is one root file system. It is whole, and stays while nobody asks for
// another one.
type Root struct {
	Dir    string      // to be the root
	Env    [][2]string // what the image says of its environment
	Pulled bool        // it was not there yet
	Size   int64
}

// blobs is layers on their way, by digest. What a killed builder had begun to
// pull is gone on with.
const blobs = "blobs"

// Open makes sure of a store.
func Open(cfg Config) (*Store, error) {
	kept, err := shelf.Open(shelf.Config{Dir: cfg.Dir, Most: cfg.Most, Free: cfg.Free}, blobs)
	return &Store{cfg: cfg, shelf: kept}, err
}

// Source is where images come from, for whoever wants one as it is.
func (s *Store) Source() Source { return s.cfg.Source }

func (s *Store) blob(of document.Digest) string { return filepath.Join(s.cfg.Dir, blobs, of.Hex()) }

// name is where a root file system is: an index of several platforms is one for each.
func (w Wanted) name() string {
	return document.Sum([]byte(string(w.Digest) + " " + w.Platform)).Hex()
}

// Root is the root file system of an image, pulled and unpacked where it is not
// there yet.
func (s *Store) Root(ctx context.Context, w Wanted) (Root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.shelf.Have(w.name()); ok {
		return Root{Dir: f.Dir, Env: f.Env, Size: f.Size}, nil
	}
	if w.From == nil {
		w.From = s.cfg.Source
	}
	i, err := w.From.Image(ctx, w.Of, w.Digest, w.Platform)
	if err != nil {
		return Root{}, err
	}
	for _, l := range i.Layers {
		if err := s.pull(ctx, w, l); err != nil {
			return Root{}, err
		}
	}
	others := func(string) bool { return false }
	f, err := s.shelf.Put(w.name(), others, func(dir string) (shelf.About, error) { return s.unpack(ctx, dir, i) })
	if err != nil {
		return Root{}, err
	}
	return Root{Dir: f.Dir, Env: f.Env, Size: f.Size, Pulled: true}, s.clear(i)
}

// pull brings a layer to the disk, and goes on where an earlier try ended.
func (s *Store) pull(ctx context.Context, w Wanted, l remote.Layer) error {
	if err := s.shelf.Room(l.Size); err != nil {
		return err
	}
	return effect.Do("builder.images.pull", func() error {
		f, err := os.OpenFile(s.blob(l.Digest), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return disk.Say(err, s.cfg.Dir)
		}
		if err = errors.Join(w.From.Pull(ctx, w.Of, l.Blob, f), f.Close()); disk.Refused(err) {
			return disk.Say(err, s.cfg.Dir)
		}
		return err
	})
}

// unpack makes a root file system of layers that are here.
func (s *Store) unpack(ctx context.Context, dir string, i remote.Image) (shelf.About, error) {
	u := &unpacking{root: dir, most: s.cfg.Most, free: s.cfg.Free}
	err := effect.Do("builder.images.unpack", func() error { return s.layers(ctx, u, i) })
	if err == nil && !u.hasShell() {
		err = fault.New(fault.Invalid, "the image has no /bin/sh, which commands are started with")
	}
	return shelf.About{Env: i.Env, Size: u.bytes}, err
}

// clear removes layers that are unpacked: they are of no more use.
func (s *Store) clear(i remote.Image) error {
	return effect.Do("builder.images.clear", func() error {
		for _, l := range i.Layers {
			if err := os.Remove(s.blob(l.Digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

func (s *Store) layers(ctx context.Context, u *unpacking, i remote.Image) error {
	for _, l := range i.Layers {
		f, err := os.Open(s.blob(l.Digest))
		if err != nil {
			return disk.Say(err, s.cfg.Dir)
		}
		if err := errors.Join(u.layer(ctx, l, f), f.Close()); err != nil {
			return err
		}
	}
	return u.finish()
}
