package system

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Process is one that runs on the machine.
type Process struct {
	PID  int
	Name string
}

// Processes is those that run as this user, at most n of them, and how many there
// are. Of a root that is no machine there are none.
func (r *Root) Processes(uid int64, n int) ([]Process, int, error) {
	if !r.Whole() {
		return nil, 0, nil
	}
	proc, err := r.top.Names("proc", -1)
	if err != nil {
		return nil, 0, err
	}
	var found []Process
	all := 0
	for _, name := range proc {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, of, ok := processAt(pid)
		if !ok || of != uid { // it has ended meanwhile, or is another's
			continue
		}
		if all++; len(found) < n {
			found = append(found, p)
		}
	}
	return found, all, nil
}

// processAt is a process and the user that it really runs as.
func processAt(pid int) (Process, int64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return Process{}, 0, false
	}
	p, uid := Process{PID: pid}, int64(-1)
	for line := range bytes.Lines(text) {
		key, value, _ := strings.Cut(string(line), ":")
		fields := strings.Fields(value)
		switch {
		case key == "Name" && len(fields) > 0:
			p.Name = fields[0]
		case key == "Uid" && len(fields) > 0:
			if uid, err = strconv.ParseInt(fields[0], 10, 64); err != nil {
				return p, 0, false
			}
		}
	}
	return p, uid, uid >= 0
}

// LockedBy is who has locked the file at this path, as "apt-get (pid 12)"; empty
// where nobody has.
func (r *Root) LockedBy(p string) (string, error) {
	dir, err := r.Dir(path.Dir(p))
	if Absent(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	f, err := dir.Open(path.Base(p), unix.O_RDONLY|unix.O_NONBLOCK) // whatever it is
	if Absent(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil {
		return "", &fs.PathError{Op: "lock", Path: p, Err: err}
	}
	switch {
	case lock.Type == unix.F_UNLCK:
		return "", nil
	case lock.Pid <= 0: // it is of no namespace that is seen from here
		return "a process that is not seen from here", nil
	}
	name := "a process"
	if by, _, ok := processAt(int(lock.Pid)); ok {
		name = by.Name
	}
	return name + " (pid " + strconv.Itoa(int(lock.Pid)) + ")", nil
}
