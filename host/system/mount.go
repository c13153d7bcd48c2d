package system

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// MountInfo is what the kernel says is mounted.
func (r *Root) MountInfo() (string, error) {
	if err := r.works("/proc/self/mountinfo"); err != nil {
		return "", err
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	return string(b), err
}

// Device is the block device that is meant by a path below /dev, or by what fstab
// calls it by: its UUID, its label. Of anything else it is that itself.
func (r *Root) Device(source string) (string, error) {
	at := source
	if tag, value, ok := strings.Cut(source, "="); ok {
		folder, known := map[string]string{"UUID": "by-uuid", "LABEL": "by-label", "PARTUUID": "by-partuuid", "PARTLABEL": "by-partlabel"}[tag]
		if !known {
			return source, nil
		}
		at = "/dev/disk/" + folder + "/" + udevName(value)
	}
	if !strings.HasPrefix(at, "/dev/") {
		return source, nil
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err == nil && info.Mode()&fs.ModeDevice == 0 {
		err = &fs.PathError{Op: "open", Path: at, Err: syscall.ENOTBLK}
	}
	return real, err
}

// udevName is a label as it stands in the name of a link.
func udevName(label string) string {
	var b strings.Builder
	for i := range len(label) {
		switch c := label[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c >= 0x80, strings.IndexByte("#+-.:=@_", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// Holders is the processes that have something open below this path, or stand there:
// at most n of them, as far as they are seen from here.
func (r *Root) Holders(below string, n int) []Process {
	if !r.Whole() {
		return nil
	}
	pids, err := r.top.Names("proc", -1)
	if err != nil {
		return nil
	}
	var found []Process
	for _, name := range pids {
		pid, err := strconv.Atoi(name)
		if err != nil || len(found) == n {
			continue
		}
		if p, _, ok := processAt(pid); ok && holds(path.Join("/proc", name), below) {
			found = append(found, p)
		}
	}
	return found
}

// holds reports whether a process uses anything below a path.
func holds(proc, below string) bool {
	inside := func(link string) bool {
		at, err := os.Readlink(link)
		return err == nil && (at == below || strings.HasPrefix(at, below+"/"))
	}
	if inside(proc+"/cwd") || inside(proc+"/root") || inside(proc+"/exe") {
		return true
	}
	for _, folder := range []string{"/fd", "/map_files"} {
		entries, err := os.ReadDir(proc + folder)
		if err != nil {
			continue // it has ended meanwhile, or does not let itself be seen
		}
		for _, e := range entries {
			if inside(proc + folder + "/" + e.Name()) {
				return true
			}
		}
	}
	return false
}
