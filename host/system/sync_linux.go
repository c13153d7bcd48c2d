package system

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func syncfs(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := conn.Control(func(fd uintptr) { result = unix.Syncfs(int(fd)) }); err != nil {
		return err
	}
	return result
}

func device(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Dev
	}
	return 0
}
