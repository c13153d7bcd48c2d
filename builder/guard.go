package builder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
)

// guardEvery is how often the disk is looked at: a build that writes as fast as
// a disk takes it fills no more than a few hundred megabytes in between.
const guardEvery = time.Second

// guard ends a build that takes more of the disk than it may. It returns when
// ctx ends.
func guard(ctx context.Context, dir string, limits Limits, end context.CancelCauseFunc) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "watch the disk")
	}
	defer root.Close()
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for wait := time.Duration(0); ; wait -= guardEvery {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := enoughFree(dir, limits); err != nil {
			end(err)
			return nil
		}
		if wait > 0 {
			continue
		}
		began := time.Now()
		if size := treeSize(ctx, root); size > limits.Tree {
			end(fmt.Errorf("%w: the build takes more than %d MiB of the disk", errTreeLimit, limits.Tree>>20))
			return nil
		}
		wait = 20 * time.Since(began) // a look costs at most a twentieth of one core
	}
}

// enoughFree is nil where the disk under dir has room to build.
func enoughFree(dir string, limits Limits) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fault.Wrap(fault.Unavailable, err, "look at the disk under %q", dir)
	}
	if free := int64(s.Bavail) * s.Bsize; free < limits.Free {
		return fmt.Errorf("%w: %d MiB are free under %q, and %d MiB stay free; make room on %q", errDiskFull, free>>20, dir, limits.Free>>20, disk.Of(dir).Mount)
	}
	if s.Files > 0 && s.Ffree == 0 {
		return fmt.Errorf("%w: no inode is free under %q; remove files on %q", errDiskFull, dir, disk.Of(dir).Mount)
	}
	return nil
}

// treeSize is what the folder takes of the disk. What cannot be read, since it
// moves meanwhile, is left out: the next look sees it.
func treeSize(ctx context.Context, root *os.Root) int64 {
	var size int64
	err := fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil {
			return nil //nolint:nilerr // it moves meanwhile
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it moves meanwhile
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			size += s.Blocks * 512
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return 0
	}
	return size
}
