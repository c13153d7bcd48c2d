package declaration

import "strings"

// HostOf is the version of the host's package that is released with this version of
// the controller: both are made of one commit, and Debian writes it otherwise. A host
// of it keeps all that such a controller knows of.
func HostOf(version string) string {
	if len(version) > 1 && version[0] == 'v' && strings.Contains(digits, version[1:2]) {
		version = version[1:]
	}
	major, _, dotted := strings.Cut(version, ".")
	if !dotted || major == "" || strings.Trim(major, digits) != "" {
		version = "0+g" + version
	}
	version = strings.Replace(version, "-", "+", 1)
	return strings.ReplaceAll(version, "-", ".")
}

// SameRelease reports whether a host of this version is of the release of that
// controller.
func SameRelease(host, controller string) bool {
	return host == controller || host == HostOf(controller)
}
