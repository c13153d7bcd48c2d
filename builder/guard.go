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

// guardEvery is how often the disk is asked how much is free: a build that
// writes as fast as a disk takes it fills no more than some hundred megabytes in
// between.
const guardEvery = 250 * time.Millisecond

// guard ends a build that takes more of the disk than it may. It returns when
// ctx ends.
func guard(ctx context.Context, dir string, limits func() Limits, end context.CancelCauseFunc) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "watch the disk")
	}
	defer root.Close()
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	look, filled, pause := time.Now(), freeOf(dir), leastPause
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, limits := freeOf(dir), limits()
		full := enoughFree(dir, limits)
		// A look costs at most a twentieth of one core, and comes more and more
		// seldom while the build is far from its limits; but where the disk fills as
		// fast as only a build that will be over them fills it, there is one.
		if full == nil && time.Now().Before(look) && filled.bytes-now.bytes < limits.Tree/4 && filled.files-now.files < limits.Files/4 {
			continue
		}
		began := time.Now()
		size := treeSize(ctx, root)
		if over := size.over(limits); over != nil {
			end(over)
			return nil
		}
		if full != nil { // and it is not for this build alone
			end(full)
			return nil
		}
		look, filled = time.Now().Add(max(20*time.Since(began), pause)), now
		if pause *= 2; size.over(Limits{Tree: limits.Tree / 8, Files: limits.Files / 8}) != nil {
			pause = leastPause
		}
		pause = min(pause, mostPause)
	}
}

// room is what a tree takes of a disk, or what is free there.
type room struct{ bytes, files int64 }

// over is the limit that it is over, or nil.
func (r room) over(limits Limits) error {
	switch {
	case r.bytes > limits.Tree:
		return &limit{says: "disk limit: the build takes more than " + sizeWords(limits.Tree) + " of the disk"}
	case r.files > limits.Files:
		return &limit{says: fmt.Sprintf("disk limit: the build has more than %d files and folders", limits.Files)}
	}
	return nil
}

// freeOf is what is free on the disk under dir. One that cannot be asked is
// named by enoughFree.
func freeOf(dir string) room {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return room{}
	}
	return room{int64(s.Bavail) * s.Bsize, int64(s.Ffree)}
}

// What lies between two looks at a tree that is cheap to look at.
const (
	leastPause = time.Second
	mostPause  = 8 * time.Second
)

// fewFiles is how many more files a disk must take.
const fewFiles = 1024

// enoughFree is nil where the disk under dir has room to build.
func enoughFree(dir string, limits Limits) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fault.Wrap(fault.Unavailable, err, "look at the disk under %q", dir)
	}
	if free := int64(s.Bavail) * s.Bsize; free < limits.Free {
		return fmt.Errorf("%w: %d MiB are free under %q, and %d MiB stay free; make room on %q", errDiskFull, free>>20, dir, limits.Free>>20, disk.Of(dir).Mount)
	}
	if s.Files > 0 && s.Ffree < fewFiles {
		return fmt.Errorf("%w: %d inodes are free under %q; remove files on %q", errDiskFull, s.Ffree, dir, disk.Of(dir).Mount)
	}
	return nil
}

// mostCounted is where counting files ends: no disk is given to a build for more.
const mostCounted = 64 << 20

// treeSize is what the folder takes of the disk. What cannot be read, since it
// moves meanwhile, is left out: the next look sees it.
func treeSize(ctx context.Context, root *os.Root) room {
	var size room
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
			size.bytes += s.Blocks * 512
		}
		if size.files++; size.files > mostCounted {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return room{}
	}
	return size
}
