package declaration

import (
	"slices"
	"strings"
)

// Reserved is the places that no declaration reaches: the host's own, and the
// kernel's.
func Reserved() []string {
	return []string{"/var/lib/mesh-host", "/etc/mesh-host", "/usr/lib/nox-mesh-host", "/usr/bin/mesh-host", "/proc", "/sys", "/dev"}
}

// own is the files by which the service manager starts the host.
func own() []string {
	return []string{"mesh-host.service", "mesh-host.service.d", "nox-mesh-host.service", "nox-mesh-host.service.d"}
}

// ReservedUnit is what stands against the name of a unit, after "is", or "".
func ReservedUnit(name string) string {
	stem, _ := cutLast(name, '.')
	if slices.Contains(own(), stem+".service") {
		return "the host's own service"
	}
	if strings.HasPrefix(name, containerUnits) {
		return "the unit of a container"
	}
	return ""
}

// ReservedPath is what stands against this clean path, after "is", or "". What a
// link on a machine makes of it, only that machine's host knows.
func ReservedPath(p string) string {
	if p == "/" {
		return "the root itself"
	}
	for _, r := range Reserved() {
		if p == r || strings.HasPrefix(p, r+"/") {
			return "the host's own or the kernel's"
		}
	}
	if strings.HasPrefix(p, SysctlFiles) {
		return "the host's own, of a sysctl"
	}
	if !strings.Contains(p, "/systemd/system/") {
		return ""
	}
	for _, name := range own() {
		if strings.Contains(p+"/", "/systemd/system/"+name+"/") {
			return "the host's own service"
		}
	}
	if strings.Contains(p, "/systemd/system/"+containerUnits) {
		return "the unit of a container"
	}
	return ""
}

// ReservedMount is what stands against mounting something at this clean path, after
// "is", or "": it would hide what lies below.
func ReservedMount(p string) string {
	if why := ReservedPath(p); why != "" {
		return why
	}
	if CoversReserved(p) {
		return "above what is the host's own"
	}
	return ""
}

// CoversReserved reports whether a reserved directory lies below p. Nothing but
// a directory may stand there.
func CoversReserved(p string) bool {
	for _, r := range Reserved() {
		if strings.HasPrefix(r, p+"/") {
			return true
		}
	}
	return false
}
