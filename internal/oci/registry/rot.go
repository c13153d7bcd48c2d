package registry

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/distribution/distribution/v3/registry/storage/driver/filesystem"

	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
)

// blobs is where the registry behind keeps what it has, each under its digest.
const blobs = "docker/registry/v2/blobs/sha256"

// Weed reads all that the registry keeps, at most so many bytes a second, and
// takes away each blob whose bytes are no longer those of its digest, or cannot
// be read: whoever asks for it hears from then on that it is gone, so that it is
// made and published again. Found is called with each. One call at a time.
func (g *Registry) Weed(ctx context.Context, perSecond int64, found func(document.Digest)) error {
	if g.behind != nil {
		return nil // whoever keeps them looks after them
	}
	root := filepath.Join(g.cfg.Dir, filepath.FromSlash(blobs))
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // nothing was published yet, or it has gone meanwhile
		case err != nil:
			return fault.Wrap(fault.Unavailable, disk.Say(err, root), "look through the registry's folder %q", root)
		case e.IsDir() || e.Name() != "data":
			return nil
		}
		name := filepath.Base(filepath.Dir(path))
		rotten, err := isRotten(ctx, path, name, perSecond)
		if err != nil || !rotten {
			return err
		}
		if err := g.drop(ctx, name); err != nil {
			return err
		}
		found(digestOf(name))
		return nil
	})
}

// isRotten reads a blob, and once more where it is not what it should be: what
// was wrong may have been the memory that it was read into.
func isRotten(ctx context.Context, path, name string, perSecond int64) (bool, error) {
	for range 2 {
		sum, err := slowSum(ctx, path, perSecond)
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err == nil && strings.TrimPrefix(string(sum), "sha256:") == name, errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil && !disk.Refused(err):
			return false, fault.Wrap(fault.Unavailable, err, "read %q", path)
		}
	}
	return true, nil
}

func slowSum(ctx context.Context, path string, perSecond int64) (document.Digest, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	for {
		began := time.Now()
		n, err := io.CopyN(sum, f, 1<<20)
		if errors.Is(err, io.EOF) {
			return document.FromHash(sum.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
		wait := time.NewTimer(time.Duration(n)*time.Second/time.Duration(perSecond) - time.Since(began))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return "", ctx.Err()
		}
	}
}

// drop takes a blob away while no write is under way, which could take it for one
// that is there.
func (g *Registry) drop(ctx context.Context, name string) error {
	d := &driver{StorageDriver: filesystem.New(filesystem.DriverParameters{RootDirectory: g.cfg.Dir, MaxThreads: 25}), root: g.cfg.Dir, kept: g.cfg.Kept, short: g.short}
	path := "/" + blobs + "/" + name[:min(2, len(name))] + "/" + name
	err := g.Still(func() error { return d.Delete(ctx, path) })
	if err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, d.full(path)), "take away %q, which is not what its name says", d.full(path))
	}
	return nil
}
