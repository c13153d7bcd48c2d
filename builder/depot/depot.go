package depot

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"noxmesh/builder/lock"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Config is where files are kept, and how much of them.
type Config struct {
	Dir  string
	Most int64 // bytes of all together
	Free int64 // bytes that the disk keeps free
}

// Depot is the files of one builder. It is safe for concurrent use, but for two
// that put the same file.
type Depot struct {
	cfg Config

	mu   sync.Mutex // guards what follows
	all  map[string]kept
	size int64 // of all together
}

type kept struct {
	size int64
	used time.Time
}

const (
	whole = "whole" // under the names of their hashes
	begun = "begun" // those that are on their way; emptied at the start
)

// Open makes sure of a depot. What a killed builder had begun is gone.
func Open(cfg Config) (*Depot, error) {
	d := &Depot{cfg: cfg, all: map[string]kept{}}
	if err := effect.Do("builder.depot.open", d.open); err != nil {
		return nil, fault.Wrap(fault.Unavailable, disk.Say(err, cfg.Dir), "make the folder %q", cfg.Dir)
	}
	return d, nil
}

func (d *Depot) open() error {
	if err := os.RemoveAll(d.path(begun)); err != nil {
		return err
	}
	for _, dir := range []string{"", whole, begun} {
		if err := os.MkdirAll(d.path(dir), 0o700); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(d.path(whole))
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		d.all[e.Name()] = kept{info.Size(), info.ModTime()}
		d.size += info.Size()
	}
	return nil
}

func (d *Depot) path(parts ...string) string {
	return filepath.Join(append([]string{d.cfg.Dir}, parts...)...)
}

// File is one that is open for reading. Its bytes have the hash that it was asked for by.
type File struct {
	*os.File
	Size int64
}

// Have is a file that has one of these hashes, or nil where none is kept. An error
// is one that was kept and no longer was what its name says: it is gone now.
func (d *Depot) Have(hashes []lock.Hash) (*File, error) {
	for _, h := range hashes {
		f, err := os.Open(d.path(whole, h.String()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "open what is kept as %q", h)
		}
		file, err := proven(f, h)
		if err != nil {
			err = fault.Add(err, "what was kept as %q is not what it was", h)
			return nil, errors.Join(err, f.Close(), d.drop(h.String()))
		}
		d.use(h.String(), file.Size)
		return file, nil
	}
	return nil, nil //nolint:nilnil // none is kept
}

// proven is a file whose bytes have this hash.
func proven(f *os.File, of ...lock.Hash) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	_, err = lock.Check(of, f, info.Size())
	return &File{f, info.Size()}, err
}

// use notes that a file was used now.
func (d *Depot) use(name string, size int64) {
	now := time.Now()
	_ = os.Chtimes(d.path(whole, name), now, now) // how old it looks decides only what goes first
	d.mu.Lock()
	defer d.mu.Unlock()
	d.size += size - d.all[name].size
	d.all[name] = kept{size, now}
}

// Put has a file written, of so many bytes at most, and keeps it where its bytes
// have one of these hashes. What was not used for longest makes room for it.
func (d *Depot) Put(hashes []lock.Hash, most int64, write func(io.Writer) error) (*File, error) {
	var f *os.File
	err := effect.Do("builder.depot.fill", func() (err error) {
		if f, err = os.CreateTemp(d.path(begun), ""); err != nil {
			return fault.Wrap(fault.Unavailable, disk.Say(err, d.cfg.Dir), "make a file in %q", d.path(begun))
		}
		return write(&filling{to: f, left: most, most: most, depot: d})
	})
	if err != nil && fault.KindOf(err) == fault.Unknown {
		err = fault.Wrap(fault.Unavailable, disk.Say(err, d.cfg.Dir), "write a file in %q", d.path(begun))
	}
	if f == nil {
		return nil, err
	}
	var file *File
	if err == nil {
		file, err = d.keep(f, hashes)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the next start removes it
		return nil, errors.Join(err, f.Close())
	}
	return file, nil
}

// keep gives a file its name.
func (d *Depot) keep(f *os.File, hashes []lock.Hash) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "look at %q", f.Name())
	}
	has, err := lock.Check(hashes, f, info.Size())
	if err != nil {
		return nil, err
	}
	err = effect.Do("builder.depot.keep", func() error { return os.Rename(f.Name(), d.path(whole, has.String())) })
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, disk.Say(err, d.cfg.Dir), "keep %q", has)
	}
	d.use(has.String(), info.Size())
	return &File{f, info.Size()}, d.prune(has.String())
}

// prune removes what was not used for longest, until all together is not too much.
func (d *Depot) prune(but string) error {
	for {
		oldest := d.oldest(but)
		if oldest == "" {
			return nil
		}
		if err := d.drop(oldest); err != nil {
			return err
		}
	}
}

// oldest is what is to go next, or "".
func (d *Depot) oldest(but string) (name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.size <= d.cfg.Most {
		return ""
	}
	for n, k := range d.all {
		if n != but && (name == "" || k.used.Before(d.all[name].used)) {
			name = n
		}
	}
	return name
}

func (d *Depot) drop(name string) error {
	err := effect.Do("builder.depot.drop", func() error { return os.Remove(d.path(whole, name)) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.Unavailable, disk.Say(err, d.cfg.Dir), "remove what is kept as %q", name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.size -= d.all[name].size
	delete(d.all, name)
	return nil
}

// filling is a file that is written, as long as there is room.
type filling struct {
	to         *os.File
	left, most int64
	since      int64 // bytes since it was looked at how full the disk is
	depot      *Depot
}

const lookEvery = 8 << 20

func (w *filling) Write(p []byte) (int, error) {
	if w.left -= int64(len(p)); w.left < 0 {
		return 0, fault.New(fault.Invalid, "it has more than %d MiB, and no more is taken", w.most>>20)
	}
	if w.since -= int64(len(p)); w.since < 0 {
		w.since = lookEvery
		if err := w.depot.room(); err != nil {
			return 0, err
		}
	}
	n, err := w.to.Write(p)
	if err != nil {
		err = fault.Wrap(fault.Unavailable, disk.Say(err, w.depot.cfg.Dir), "write in %q", w.depot.path(begun))
	}
	return n, err
}

// room refuses what would leave the disk less than it keeps free.
func (d *Depot) room() error {
	if err := disk.Room(d.cfg.Dir, lookEvery, d.cfg.Free); disk.Refused(err) {
		return fault.Wrap(fault.Unavailable, err, "keep what a build takes from outside")
	}
	return nil
}

// Each gives the names of all that is kept.
func (d *Depot) Each() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := range d.all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
