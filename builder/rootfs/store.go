package rootfs

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

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
	cfg  Config
	mu   sync.Mutex
	seen map[string]bool // those that were looked through since the builder began
}

// Wanted names one image for one platform.
type Wanted struct {
	Of       image.Reference
	Digest   document.Digest
	Platform string
}

// Root is one root file system. It is whole, and stays while nobody asks for
// another one.
type Root struct {
	Dir    string      // to be the root
	Env    [][2]string // what the image says of its environment
	Pulled bool        // it was not there yet
	Size   int64
}

// kept is what stands beside a root file system.
type kept struct {
	Env     [][2]string `json:"env"`
	Size    int64       `json:"size"`
	Entries int64       `json:"entries"`
}

const (
	blobs   = "blobs" // layers on their way, by digest
	roots   = "roots" // DIGEST/root, and DIGEST/image.json beside it
	begun   = "begun" // roots that are not whole; emptied at the start
	inside  = "root"
	about   = "image.json"
	through = 0o711 // of folders that the sandbox's user goes through
)

// Open makes sure of a store. What a killed builder had begun to unpack is gone;
// what it had begun to pull is not.
func Open(cfg Config) (*Store, error) {
	s := &Store{cfg: cfg, seen: map[string]bool{}}
	err := effect.Do("builder.images.open", func() error {
		if err := removeAll(s.path(begun)); err != nil {
			return err
		}
		for _, dir := range []string{"", blobs, roots, begun} {
			if err := os.MkdirAll(s.path(dir), through); err != nil {
				return err
			}
			if err := os.Chmod(s.path(dir), through); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, disk.Say(err, cfg.Dir), "make the folder of images %q", cfg.Dir)
	}
	return s, nil
}

// Source is where images come from, for whoever wants one as it is.
func (s *Store) Source() Source { return s.cfg.Source }

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.cfg.Dir}, parts...)...)
}

// name is where a root file system is: an index of several platforms is one for each.
func (w Wanted) name() string {
	return document.Sum([]byte(string(w.Digest) + " " + w.Platform)).Hex()
}

// Root is the root file system of an image, pulled and unpacked where it is not
// there yet.
func (s *Store) Root(ctx context.Context, w Wanted) (Root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.have(w); ok {
		return r, nil
	}
	i, err := s.cfg.Source.Image(ctx, w.Of, w.Digest, w.Platform)
	if err != nil {
		return Root{}, err
	}
	for _, l := range i.Layers {
		if err := s.pull(ctx, w.Of, l); err != nil {
			return Root{}, err
		}
	}
	if err := s.unpack(ctx, w, i); err != nil {
		return Root{}, err
	}
	if err := s.prune(w); err != nil {
		return Root{}, err
	}
	r, ok := s.have(w)
	if !ok {
		return r, fault.New(fault.Broken, "the root file system of %s is gone as soon as it was made", w.Digest)
	}
	r.Pulled = true
	return r, nil
}

// have is a root file system that is there and whole. That one is not, which only
// somebody else's hand can bring about, removes it.
func (s *Store) have(w Wanted) (Root, bool) {
	name := w.name()
	dir := s.path(roots, name)
	text, err := os.ReadFile(filepath.Join(dir, about))
	var k kept
	if err != nil || json.Unmarshal(text, &k) != nil {
		return Root{}, false
	}
	if !s.seen[name] {
		if entries, err := count(filepath.Join(dir, inside)); err != nil || entries != k.Entries {
			return Root{}, false
		}
		s.seen[name] = true
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, about), now, now) // how old it looks decides only what goes first
	return Root{Dir: filepath.Join(dir, inside), Env: k.Env, Size: k.Size}, true
}

// count is how many entries there are below a folder.
func count(root string) (n int64, err error) {
	err = filepath.WalkDir(root, func(_ string, _ fs.DirEntry, err error) error {
		n++
		return err
	})
	return n, err
}

// pull brings a layer to the disk, and goes on where an earlier try ended.
func (s *Store) pull(ctx context.Context, of image.Reference, l remote.Layer) error {
	var st unix.Statfs_t
	if err := unix.Statfs(s.cfg.Dir, &st); err == nil && int64(st.Bavail)*st.Bsize-l.Size < s.cfg.Free { //nolint:unconvert // of the kernel's own making
		return disk.Say(&fs.PathError{Op: "write", Path: s.cfg.Dir, Err: unix.ENOSPC}, s.cfg.Dir)
	}
	return effect.Do("builder.images.pull", func() error {
		f, err := os.OpenFile(s.path(blobs, l.Digest.Hex()), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return disk.Say(err, s.cfg.Dir)
		}
		if err = errors.Join(s.cfg.Source.Pull(ctx, of, l.Blob, f), f.Close()); disk.Refused(err) {
			return disk.Say(err, s.cfg.Dir)
		}
		return err
	})
}

// unpack makes a root file system of layers that are here, and gives it its name
// once all of it is on the disk. The layers are then of no more use.
func (s *Store) unpack(ctx context.Context, w Wanted, i remote.Image) error {
	tmp := s.path(begun, w.name())
	u := &unpacking{root: filepath.Join(tmp, inside), most: s.cfg.Most, free: s.cfg.Free}
	err := effect.Do("builder.images.unpack", func() error {
		if err := errors.Join(removeAll(tmp), os.MkdirAll(u.root, 0o755), os.Chmod(tmp, through)); err != nil {
			return disk.Say(err, s.cfg.Dir)
		}
		return s.layers(ctx, u, i)
	})
	if err != nil {
		return errors.Join(err, removeAll(tmp))
	}
	if !u.hasShell() {
		return errors.Join(fault.New(fault.Invalid, "the image has no /bin/sh, which commands are started with"), removeAll(tmp))
	}
	err = effect.Do("builder.images.keep", func() error { return s.keep(tmp, w, u, i) })
	if err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, s.cfg.Dir), "keep the root file system of %s", w.Digest)
	}
	return effect.Do("builder.images.clear", func() error {
		for _, l := range i.Layers {
			if err := os.Remove(s.path(blobs, l.Digest.Hex())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

func (s *Store) layers(ctx context.Context, u *unpacking, i remote.Image) error {
	for _, l := range i.Layers {
		f, err := os.Open(s.path(blobs, l.Digest.Hex()))
		if err != nil {
			return disk.Say(err, s.cfg.Dir)
		}
		if err := errors.Join(u.layer(ctx, l, f), f.Close()); err != nil {
			return err
		}
	}
	return u.finish()
}

// keep brings everything to the disk, and then the name.
func (s *Store) keep(tmp string, w Wanted, u *unpacking, i remote.Image) error {
	entries, err := count(u.root)
	if err != nil {
		return err
	}
	text, err := json.Marshal(kept{Env: i.Env, Size: u.bytes, Entries: entries})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, about), text, 0o600); err != nil {
		return err
	}
	if err := syncAll(tmp); err != nil {
		return err
	}
	to := s.path(roots, w.name())
	delete(s.seen, w.name())
	if err := removeAll(to); err != nil {
		return err
	}
	if err := os.Rename(tmp, to); err != nil {
		return err
	}
	return syncAll(to)
}

// syncAll brings the whole file system to the disk.
func syncAll(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// prune removes what was not used for longest, until all together is not too much.
func (s *Store) prune(but Wanted) error {
	type one struct {
		name string
		size int64
		used time.Time
	}
	var all []one
	var sum int64
	entries, err := os.ReadDir(s.path(roots))
	if err != nil {
		return disk.Say(err, s.cfg.Dir)
	}
	for _, e := range entries {
		o := one{name: e.Name()}
		var k kept
		info, err := os.Stat(s.path(roots, e.Name(), about))
		text, readErr := os.ReadFile(s.path(roots, e.Name(), about))
		if err == nil && readErr == nil && json.Unmarshal(text, &k) == nil {
			o.size, o.used = k.Size, info.ModTime()
		}
		sum += o.size
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b one) int { return a.used.Compare(b.used) })
	for _, o := range all {
		if sum <= s.cfg.Most {
			break
		}
		if o.name == but.name() {
			continue
		}
		err := effect.Do("builder.images.drop", func() error { return s.drop(o.name) })
		if err != nil {
			return fault.Wrap(fault.Unavailable, disk.Say(err, s.cfg.Dir), "remove a root file system")
		}
		sum -= o.size
	}
	return nil
}

// drop removes a root file system: first its name, so that half of one has none.
func (s *Store) drop(name string) error {
	delete(s.seen, name)
	gone := s.path(begun, "gone-"+name)
	if err := errors.Join(removeAll(gone), os.Rename(s.path(roots, name), gone)); err != nil {
		return err
	}
	return removeAll(gone)
}

// removeAll removes path and all below it, folders without permissions included.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	open := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(p, 0o700) //nolint:gosec // nothing runs in it
		}
		return err
	})
	if open != nil && !errors.Is(open, fs.ErrNotExist) {
		return open
	}
	return os.RemoveAll(path)
}
