package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	storage "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/factory"
	"github.com/distribution/distribution/v3/registry/storage/driver/filesystem"

	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// driverName is what the registry behind calls the driver of this file.
const driverName = "mesh"

// staging is the folder, beside what the registry behind keeps, in which a file
// is written before it gets its name. What a killed process left in it is gone
// at the next start.
const staging = "staging"

// The registry behind knows its drivers by name, in a map that whoever serves one
// reads and nobody guards. So the name is in it before anything runs.
func init() { factory.Register(driverName, maker{}) } //nolint:gochecknoinits // as the drivers of the registry behind do

type maker struct{}

func (maker) Create(_ context.Context, parameters map[string]any) (storage.StorageDriver, error) {
	root := fmt.Sprint(parameters["rootdirectory"])
	behind, err := filesystem.FromParameters(parameters)
	if err != nil {
		return nil, err
	}
	d := &driver{StorageDriver: behind, root: root, kept: func(error) {}, short: new(atomic.Int64)}
	if kept, ok := parameters["kept"].(func(error)); ok {
		d.kept = kept
	}
	if short, ok := parameters["short"].(*atomic.Int64); ok {
		d.short = short
	}
	return d, nil
}

// driver is the folder on disk. It reads as the one behind does. What it writes
// goes through the hook, is on the disk before anybody is told, and is there
// whole or not at all.
type driver struct {
	storage.StorageDriver
	root string
	kept func(error) // told of each write that could not be made, and with nil of each blob that was

	short *atomic.Int64 // how many bytes the last upload that could not be written had come to
}

// tell tells of a write that could not be made: the registry behind answers with
// a status alone.
func (d *driver) tell(path string, err error) error {
	var absent storage.PathNotFoundError // what is to be removed may be gone
	if err != nil && !errors.As(err, &absent) {
		d.kept(fault.Wrap(fault.Unavailable, disk.Why(err, d.full(path)), "write %q", d.full(path)))
	}
	return err
}

func (d *driver) full(path string) string { return filepath.Join(d.root, path) }

// passing reports whether a path is of an upload that is under way: after a
// power cut nobody asks for it again.
func passing(path string) bool { return strings.Contains(path, "/_uploads/") }

// PutContent writes a small file as a whole.
func (d *driver) PutContent(_ context.Context, path string, content []byte) error {
	return d.tell(path, d.put(path, content))
}

func (d *driver) put(path string, content []byte) error {
	var temp string
	err := effect.Do("registry.content.stage", func() (err error) {
		temp, err = d.stage(content, passing(path))
		return err
	})
	if err != nil {
		return err
	}
	if err := d.makeFolder(path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	err = effect.Do("registry.content.commit", func() error { return os.Rename(temp, d.full(path)) })
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return d.seal(path)
}

func (d *driver) stage(content []byte, passing bool) (name string, err error) {
	f, err := os.CreateTemp(d.full(staging), "")
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil && !passing {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// makeFolder makes the folder that a file will lie in, and the names of those
// above it durable.
func (d *driver) makeFolder(path string) error {
	dir := filepath.Dir(d.full(path))
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	return effect.Do("registry.folder.make", func() error { return d.makeAll(dir, passing(path)) })
}

func (d *driver) makeAll(dir string, passing bool) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for above := dir; !passing && above != filepath.Clean(d.root); {
		above = filepath.Dir(above)
		if err := syncFolder(above); err != nil {
			return errors.Join(err, os.Remove(dir)) // whoever finds it there takes its name for durable
		}
	}
	return nil
}

// seal makes a name durable.
func (d *driver) seal(path string) error {
	if passing(path) {
		return nil
	}
	return effect.Do("registry.folder.seal", func() error { return syncFolder(filepath.Dir(d.full(path))) })
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Writer opens an upload.
func (d *driver) Writer(ctx context.Context, path string, again bool) (w storage.FileWriter, err error) {
	err = effect.Do("registry.upload.open", func() error {
		w, err = d.StorageDriver.Writer(ctx, path, again)
		return err
	})
	if err != nil {
		return nil, d.tell(path, err)
	}
	return writer{w, d, path}, nil
}

type writer struct {
	storage.FileWriter
	driver *driver
	path   string
}

func (w writer) Write(p []byte) (n int, err error) {
	err = effect.Do("registry.upload.write", func() error {
		n, err = w.FileWriter.Write(p)
		return err
	})
	if err != nil {
		w.driver.short.Store(w.Size() + int64(len(p)))
	}
	return n, w.driver.tell(w.path, err)
}

// Commit makes the bytes durable; they have no name yet that anybody asks for.
func (w writer) Commit(ctx context.Context) error {
	return w.driver.tell(w.path, effect.Do("registry.upload.commit", func() error { return w.FileWriter.Commit(ctx) }))
}

// Move gives a whole blob its name.
func (d *driver) Move(ctx context.Context, from, to string) error {
	err := d.tell(to, d.move(ctx, from, to))
	if err == nil {
		d.kept(nil)
	}
	return err
}

func (d *driver) move(ctx context.Context, from, to string) error {
	if err := d.makeFolder(to); err != nil {
		return err
	}
	err := effect.Do("registry.blob.move", func() error { return d.StorageDriver.Move(ctx, from, to) })
	if err != nil {
		return err
	}
	return d.seal(to)
}

// Delete removes an upload that has ended, or a blob that has rotted.
func (d *driver) Delete(ctx context.Context, path string) error {
	return d.tell(path, effect.Do("registry.upload.remove", func() error { return d.StorageDriver.Delete(ctx, path) }))
}
