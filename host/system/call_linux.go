package system

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Info is what is at a name, as far as it decides anything. The zero Info is of nothing.
type Info struct {
	Mode fs.FileMode
	Size int64

	UID, GID uint32 // whose it is
	links    uint32 // how many names it has

	modified      int64 // nanoseconds since 1970
	device, inode uint64
}

// Modified is when what it is of was last changed.
func (i Info) Modified() time.Time { return time.Unix(0, i.modified) }

// Tied reports whether a file has other names, perhaps in places that nobody here
// has been asked to change.
func (i Info) Tied() bool { return i.links > 1 && !i.Mode.IsDir() }

// Same reports whether both are of one and the same thing.
func (i Info) Same(j Info) bool { return i.inode == j.inode && i.device == j.device && i.inode != 0 }

func infoOf(s *unix.Stat_t) Info {
	i := Info{Mode: fs.FileMode(s.Mode & 0o777), Size: s.Size, UID: s.Uid, GID: s.Gid, links: uint32(s.Nlink), modified: s.Mtim.Nano(), device: s.Dev, inode: s.Ino}
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		i.Mode |= fs.ModeDir
	case unix.S_IFLNK:
		i.Mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		i.Mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		i.Mode |= fs.ModeSocket
	case unix.S_IFCHR:
		i.Mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		i.Mode |= fs.ModeDevice
	default:
		i.Mode |= fs.ModeIrregular
	}
	for _, bit := range []struct {
		raw  uint32
		mode fs.FileMode
	}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}} {
		if s.Mode&bit.raw != 0 {
			i.Mode |= bit.mode
		}
	}
	return i
}

// bitsOf is a mode as the kernel has it.
func bitsOf(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	if mode&fs.ModeSetuid != 0 {
		bits |= unix.S_ISUID
	}
	if mode&fs.ModeSetgid != 0 {
		bits |= unix.S_ISGID
	}
	if mode&fs.ModeSticky != 0 {
		bits |= unix.S_ISVTX
	}
	return bits
}

// The calls below are the kernel's, begun again where a signal came in between.

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR { //nolint:errorlint // a bare number
			return err
		}
	}
}

func openat(at int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(at, name, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func lstat(at int, name string) (Info, error) {
	var s unix.Stat_t
	for {
		err := unix.Fstatat(at, name, &s, unix.AT_SYMLINK_NOFOLLOW)
		if err != unix.EINTR {
			return infoOf(&s), err
		}
	}
}

func statOf(fd int) (Info, error) {
	var s unix.Stat_t
	for {
		err := unix.Fstat(fd, &s)
		if err != unix.EINTR {
			return infoOf(&s), err
		}
	}
}

func readlink(at int, name string, b []byte) (int, error) {
	for {
		n, err := unix.Readlinkat(at, name, b)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// Reserve gives a file room on the disk without writing to it.
func Reserve(f *os.File, size int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := conn.Control(func(fd uintptr) {
		result = retry(func() error { return unix.Fallocate(int(fd), 0, 0, size) })
	}); err != nil {
		return err
	}
	return result
}
