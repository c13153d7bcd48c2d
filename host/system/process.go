package system

import (
	"bytes"
	"os"
	"strconv"
	"strings"
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
