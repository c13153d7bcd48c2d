package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// System is a file system as it stands.
type System struct {
	Mount      string // where it is mounted; empty where nobody can tell
	Free, Size int64  // bytes; free for an ordinary user
	FreeInodes uint64
	Inodes     uint64 // of all; 0: it has no fixed number of them
	ReadOnly   bool
}

// Refusal is an error of a file system, with which one it was and what to do.
type Refusal struct {
	On  System
	Err error
}

// Refused reports whether err is a file system's own: no room, a quota, shut
// against writing, or a disk that fails.
func Refused(err error) bool { return reason(err) != 0 }

func reason(err error) syscall.Errno {
	for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		if errors.Is(err, no) {
			return no
		}
	}
	return 0
}

// Say adds to a refusal which file system refused, and what to do. It is the
// one that holds path, which need not be there; where path is empty, that of the
// path which err names. Any other error, and one that says it already, is itself.
func Say(err error, path string) error {
	var said *Refusal
	if !Refused(err) || errors.As(err, &said) {
		return err
	}
	if path == "" {
		path = pathOf(err)
	}
	if on := Of(path); on.Mount != "" {
		return &Refusal{on, err}
	}
	return err
}

// Why is Say of the bare reason, for whoever names the path better than err
// does: it may be that of a file with a made-up name, another at each attempt.
func Why(err error, path string) error {
	return Say(bare(err), path)
}

// bare is the innermost error of a file system's own, without what was said about it.
func bare(err error) error {
	if !Refused(err) {
		return err
	}
	var within []error
	switch e := err.(type) { //nolint:errorlint // each layer is taken off by itself
	case interface{ Unwrap() error }:
		within = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		within = e.Unwrap()
	}
	if i := slices.IndexFunc(within, Refused); i >= 0 {
		return bare(within[i])
	}
	return err
}

func pathOf(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) && filepath.IsAbs(p.Path) {
		return p.Path
	}
	var l *os.LinkError
	if errors.As(err, &l) && filepath.IsAbs(l.New) {
		return l.New
	}
	return ""
}

// Error is the cause and then what to do about it.
func (r *Refusal) Error() string { return r.Err.Error() + ": " + r.On.advice(reason(r.Err)) }

// Unwrap is the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// Full reports whether nothing can be written for want of room or of inodes.
func (s System) Full() bool { return s.noInodes() || s.Mount != "" && s.Free == 0 }

func (s System) noInodes() bool { return s.Inodes > 0 && s.FreeInodes == 0 }

// fewInodes reports whether it is the inodes that are scarce, and not the bytes.
// Who found none may have given back a few before anybody could look.
func (s System) fewInodes() bool {
	return s.Inodes > 0 && s.FreeInodes*20 < s.Inodes && s.Free*20 > s.Size
}

func (s System) advice(why syscall.Errno) string {
	switch {
	case why == syscall.EIO && !s.ReadOnly && !s.Full():
		return fmt.Sprintf("the disk under %q does not read or write; dmesg says why", s.Mount)
	case s.ReadOnly || why == syscall.EROFS:
		return fmt.Sprintf("%q is mounted read-only; dmesg may say why, then: mount -o remount,rw %s", s.Mount, s.Mount)
	case why == syscall.EDQUOT:
		return fmt.Sprintf("a quota on %q is used up; raise it or remove files there", s.Mount)
	case s.noInodes(), s.fewInodes():
		return fmt.Sprintf("hardly any of the %d inodes of %q is free; remove files there", s.Inodes, s.Mount)
	}
	return fmt.Sprintf("%s free of %s on %q; make room there", words(s.Free), words(s.Size), s.Mount)
}

// words is a size as a person reads it, and so coarse that one thing that is
// wrong is not another thing at each attempt.
func words(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return "less than 1 MiB"
}

// Size is how much something takes, as a person reads it.
func Size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return words(n)
}

// Room refuses, as a full disk does, so many bytes more where fewer than free would
// be left for the others of its file system. Any other error is that of asking.
func Room(dir string, size, free int64) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return err
	}
	if int64(s.Bavail)*s.Bsize-size < free {
		return Say(&fs.PathError{Op: "write", Path: dir, Err: syscall.ENOSPC}, dir)
	}
	return nil
}

// Of is the file system that holds path, or would hold it.
func Of(path string) System {
	if path == "" {
		return System{}
	}
	here, err := filepath.Abs(path)
	if err != nil {
		return System{}
	}
	device, ok := deviceOf(here)
	for ; !ok && here != "/"; device, ok = deviceOf(here) {
		here = filepath.Dir(here)
	}
	if real, err := filepath.EvalSymlinks(here); err == nil {
		here = real
	}
	for here != "/" {
		above := filepath.Dir(here)
		if d, ok := deviceOf(above); !ok || d != device {
			break
		}
		here = above
	}
	var s syscall.Statfs_t
	if !ok || syscall.Statfs(here, &s) != nil {
		return System{}
	}
	const readOnly = 1 // ST_RDONLY
	return System{
		Mount: here, Free: int64(s.Bavail) * s.Bsize, Size: int64(s.Blocks) * s.Bsize,
		FreeInodes: s.Ffree, Inodes: s.Files, ReadOnly: s.Flags&readOnly != 0,
	}
}

func deviceOf(path string) (uint64, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return s.Dev, true
}
