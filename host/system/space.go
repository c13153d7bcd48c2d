package system

import (
	"os"
	"path"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
)

// Space is what is free on a file system for this process.
type Space struct {
	Total, Bytes int64 // of all, and of what is free
	Block        int64 // what a file takes is a multiple of it
	Files        int64 // inodes that are free
	Counted      bool  // it has a fixed number of them
}

// Space is that of the file system which holds this directory.
func (d *Dir) Space() (Space, error) {
	var s unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(d.fd, &s) }); err != nil {
		return Space{}, d.failed("statfs", "", err)
	}
	free := s.Bavail
	if unix.Geteuid() == 0 {
		free = s.Bfree // what is kept back is kept for root
	}
	block := max(s.Frsize, 1)
	return Space{int64(s.Blocks) * block, int64(free) * block, block, int64(s.Ffree), s.Files > 0}, nil
}

// Lacks is why there is no room for so many bytes, in whole blocks, and so many new
// names; nil where there is.
func (s Space) Lacks(bytes, files int64) error {
	switch {
	case bytes > s.Bytes:
		return fault.Wrap(fault.Conflict, syscall.ENOSPC, "it takes %s", disk.Size(bytes))
	case s.Counted && files > s.Files:
		takes := "an inode"
		if files > 1 {
			takes = strconv.FormatInt(files, 10) + " inodes"
		}
		return fault.Wrap(fault.Conflict, syscall.ENOSPC, "it takes %s, and %d are free", takes, max(s.Files, 0))
	}
	return nil
}

// SyncDisk puts everything of the file system that holds a directory on the disk, by a way of
// its own: others may use the Root meanwhile. One that is not there has nothing to put.
func (r *Root) SyncDisk(p string) error {
	dir, err := os.Open(path.Join(r.dir, p))
	if err != nil {
		if Absent(err) {
			return nil
		}
		return err
	}
	defer dir.Close()
	return retry(func() error { return unix.Syncfs(int(dir.Fd())) })
}
