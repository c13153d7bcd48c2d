package shelf

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Config is where folders are kept, and how much of them.
type Config struct {
	Dir  string
	Most int64 // bytes of all together
	Free int64 // bytes that the disk keeps free
}

// Shelf is the folders of one builder. One goroutine at a time asks it.
type Shelf struct {
	cfg  Config
	seen map[string]bool // those that were looked through since the builder began
}

// About is what is known of a folder beside it.
type About struct {
	Env     [][2]string `json:"env,omitempty"`
	Size    int64       `json:"size"`
	Entries int64       `json:"entries"`
}

// Folder is one that is kept. It is whole, and stays until something else is put
// on the shelf that is not to keep it.
type Folder struct {
	Dir string
	About
}

const (
	whole   = "whole"      // NAME/root, and NAME/about.json beside it
	begun   = "begun"      // those that are not; emptied at the start
	inside  = "root"       // the folder itself
	about   = "about.json" // what is known of it
	through = 0o711        // of folders that the sandbox's user goes through
)

// Open makes sure of a shelf, with more folders of the caller's own in it. What
// a killed builder had begun is gone.
func Open(cfg Config, more ...string) (*Shelf, error) {
	s := &Shelf{cfg: cfg, seen: map[string]bool{}}
	err := effect.Do("builder.shelf.open", func() error {
		if err := removeAll(s.path(begun)); err != nil {
			return err
		}
		for _, dir := range append([]string{"", whole, begun}, more...) {
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
		return nil, fault.Wrap(fault.Unavailable, disk.Say(err, cfg.Dir), "make the folder %q", cfg.Dir)
	}
	return s, nil
}

func (s *Shelf) path(parts ...string) string {
	return filepath.Join(append([]string{s.cfg.Dir}, parts...)...)
}

// Have is a folder that is there and whole. One that is not, which only somebody
// else's hand can bring about, is made anew by Put.
func (s *Shelf) Have(name string) (Folder, bool) {
	dir := s.path(whole, name)
	text, err := os.ReadFile(filepath.Join(dir, about))
	var a About
	if err != nil || json.Unmarshal(text, &a) != nil {
		return Folder{}, false
	}
	if !s.seen[name] {
		if entries, err := count(filepath.Join(dir, inside)); err != nil || entries != a.Entries {
			return Folder{}, false
		}
		s.seen[name] = true
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, about), now, now) // how old it looks decides only what goes first
	return Folder{filepath.Join(dir, inside), a}, true
}

// count is how many entries there are below a folder.
func count(root string) (n int64, err error) {
	err = filepath.WalkDir(root, func(_ string, _ fs.DirEntry, err error) error {
		n++
		return err
	})
	return n, err
}

// Room refuses what would leave the disk less than it keeps free.
func (s *Shelf) Room(size int64) error {
	if err := disk.Room(s.cfg.Dir, size, s.cfg.Free); disk.Refused(err) {
		return err
	}
	return nil
}

// Put has a folder made, and keeps it. What was not used for longest makes room
// for it, but for what is used now.
func (s *Shelf) Put(name string, used func(name string) bool, made func(dir string) (About, error)) (Folder, error) {
	tmp := s.path(begun, name)
	root := filepath.Join(tmp, inside)
	err := effect.Do("builder.shelf.begin", func() error {
		return errors.Join(removeAll(tmp), os.MkdirAll(root, 0o755), os.Chmod(root, 0o755), os.Chmod(tmp, through))
	})
	if err != nil {
		return Folder{}, errors.Join(disk.Say(err, s.cfg.Dir), removeAll(tmp))
	}
	a, err := made(root)
	if err != nil {
		return Folder{}, errors.Join(err, removeAll(tmp))
	}
	err = effect.Do("builder.shelf.keep", func() error { return s.keep(tmp, name, a) })
	if err != nil {
		return Folder{}, errors.Join(fault.Wrap(fault.Unavailable, disk.Say(err, s.cfg.Dir), "keep %q", name), removeAll(tmp))
	}
	if err := s.prune(func(other string) bool { return other == name || used(other) }); err != nil {
		return Folder{}, err
	}
	f, ok := s.Have(name)
	if !ok {
		return f, fault.New(fault.Broken, "what was kept as %q is gone as soon as it was made", name)
	}
	return f, nil
}

// keep brings everything to the disk, and then the name.
func (s *Shelf) keep(tmp, name string, a About) error {
	var err error
	if a.Entries, err = count(filepath.Join(tmp, inside)); err != nil {
		return err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, about), text, 0o600); err != nil {
		return err
	}
	if err := syncAll(tmp); err != nil {
		return err
	}
	if err := s.drop(name); err != nil {
		return err
	}
	if err := os.Rename(tmp, s.path(whole, name)); err != nil {
		return err
	}
	return disk.Place(s.path(whole)).Sync()
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
func (s *Shelf) prune(used func(name string) bool) error {
	type one struct {
		name string
		size int64
		used time.Time
	}
	var all []one
	var sum int64
	entries, err := os.ReadDir(s.path(whole))
	if err != nil {
		return disk.Say(err, s.cfg.Dir)
	}
	for _, e := range entries {
		o := one{name: e.Name()}
		var a About
		info, err := os.Stat(s.path(whole, e.Name(), about))
		text, readErr := os.ReadFile(s.path(whole, e.Name(), about))
		if err == nil && readErr == nil && json.Unmarshal(text, &a) == nil {
			o.size, o.used = a.Size, info.ModTime()
		}
		sum += o.size
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b one) int { return a.used.Compare(b.used) })
	for _, o := range all {
		if sum <= s.cfg.Most {
			break
		}
		if used(o.name) {
			continue
		}
		err := effect.Do("builder.shelf.drop", func() error { return s.drop(o.name) })
		if err != nil {
			return fault.Wrap(fault.Unavailable, disk.Say(err, s.cfg.Dir), "remove what was not used for longest")
		}
		sum -= o.size
	}
	return nil
}

// drop removes a folder that may be there: first its name, so that half of one
// has none.
func (s *Shelf) drop(name string) error {
	delete(s.seen, name)
	gone := s.path(begun, "gone-"+name)
	if err := removeAll(gone); err != nil {
		return err
	}
	if err := os.Rename(s.path(whole, name), gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
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
