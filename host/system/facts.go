package system

import (
	"os"
	"path"
	"runtime"
	"slices"
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

// Dockerd is where docker's daemon may be: Debian has it in another place than docker's
// own packages.
func Dockerd() []string { return []string{"/usr/sbin/dockerd", "/usr/bin/dockerd"} }

// Facts are what the machine says of itself. A capability is named only where
// it was seen.
func (r *Root) Facts() report.Facts {
	name, err := os.Hostname()
	if err != nil {
		name = ""
	}
	f := report.Facts{OS: runtime.GOOS, Arch: runtime.GOARCH, Hostname: name, Capabilities: []string{}}
	const podman = "/usr/bin/podman"
	for _, c := range []struct {
		name  string
		paths []string // any of them
	}{
		{"apt", []string{"/usr/bin/apt-get"}},
		{"dnf", r.dnf()},
		{"container-runtime", append(Dockerd(), podman)},
		{"docker", Dockerd()},
		{"podman", []string{podman}},
		{"systemd", []string{"/run/systemd/system"}}, // it is there where systemd has booted the machine
	} {
		if slices.ContainsFunc(c.paths, r.Has) {
			f.Capabilities = append(f.Capabilities, c.name)
		}
	}
	if r.Whole() {
		f.Machine = r.machine()
	}
	r.Forget()
	return f
}

// What may keep the packages of a machine.
const (
	Dpkg = "dpkg"
	RPM  = "rpm"

	DpkgStatus = "/var/lib/dpkg/status"
	Dnf        = "/usr/bin/dnf"
)

// RPMDatabases is where rpm's database may be: newer systems have it with the system itself.
func RPMDatabases() []string { return []string{"/var/lib/rpm", "/usr/lib/sysimage/rpm"} }

// Packager is what keeps the packages of this machine, or "". Either may be installed by
// the other: dpkg's status then has nothing in it, or rpm's database.
func (r *Root) Packager() string {
	if d, err := r.Dir(path.Dir(DpkgStatus)); err == nil {
		if info, err := d.Lstat(path.Base(DpkgStatus)); err == nil && info.Size > 0 {
			return Dpkg
		}
	}
	if r.Has(Dnf) && slices.ContainsFunc(RPMDatabases(), r.Has) {
		return RPM
	}
	return ""
}

// dnf is where it is, where it keeps the packages of the machine.
func (r *Root) dnf() []string {
	if r.Packager() != RPM {
		return nil
	}
	return []string{Dnf}
}

// Has reports whether there is something at this path.
func (r *Root) Has(file string) bool {
	d, err := r.Dir(path.Dir(file))
	if err != nil {
		return false
	}
	_, err = d.Lstat(path.Base(file))
	return err == nil
}
