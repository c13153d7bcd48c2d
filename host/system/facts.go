package system

import (
	"os"
	"path"
	"runtime"
	"strings"

	"noxmesh/report"
)

// Boot is the id of this boot of the machine, or "" where the system gives none.
// It is the kernel's: a folder as root has no boot of its own.
func Boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Facts are what the machine says of itself. A capability is named only where
// it was seen.
func (r *Root) Facts() report.Facts {
	name, err := os.Hostname()
	if err != nil {
		name = ""
	}
	f := report.Facts{OS: runtime.GOOS, Arch: runtime.GOARCH, Hostname: name, Capabilities: []string{}}
	for _, c := range []struct{ name, path string }{
		{"apt", "/usr/bin/apt-get"},
		{"podman", "/usr/bin/podman"},
		{"systemd", "/run/systemd/system"},
	} {
		if d, err := r.Dir(path.Dir(c.path)); err == nil {
			if _, err := d.Lstat(path.Base(c.path)); err == nil {
				f.Capabilities = append(f.Capabilities, c.name)
			}
		}
	}
	r.Forget()
	return f
}
