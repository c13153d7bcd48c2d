package declaration

import "strings"

// HostPackage is the package that the host itself is. It is the only one of the
// host's own that may be declared, and is never removed.
const HostPackage = "nox-mesh-host"

// ReservedPackage is what stands against the name of a package, after "is", or "".
func ReservedPackage(name string) string {
	name, _, _ = strings.Cut(name, ":")
	if name == "mesh-host" || strings.HasPrefix(name, HostPackage+"-") {
		return "the host's own"
	}
	return ""
}

const (
	lowers = "abcdefghijklmnopqrstuvwxyz"
	uppers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// pkg checks the name of a package, which may say its architecture.
func (f *flaws) pkg(name string) {
	if name == "" {
		return
	}
	if why := ReservedPackage(name); why != "" {
		f.add("name", "no module says anything about it but "+HostPackage, "is "+why, name)
		return
	}
	bare, of, said := strings.Cut(name, ":")
	ok := len(bare) > 1 && len(name) <= 200 && strings.Contains(lowers+digits, bare[:1]) && strings.Trim(bare, lowers+digits+"+-.") == ""
	if !ok || said && (of == "" || !strings.Contains(lowers, of[:1]) || strings.Trim(of, lowers+digits+"-") != "") {
		f.add("name", "want lower-case letters, digits, +, - and .; of another architecture with it, as libc6:i386", "is not the name of a package", name)
	}
}

// version checks the version of a package, as Debian writes it.
func (f *flaws) version(v string) {
	if v == "" {
		return
	}
	if !strings.Contains(digits, v[:1]) || len(v) > 200 || strings.Trim(v, lowers+uppers+digits+".+~:-") != "" {
		f.add("version", "want it as Debian writes it, as 1:2.0-3", "is not the version of a package", v)
	}
}
