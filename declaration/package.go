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
	ok := bare != "" && len(name) <= 200 && strings.Contains(lowers+uppers+digits, bare[:1]) && strings.Trim(bare, lowers+uppers+digits+"+-._") == ""
	if !ok || said && (of == "" || !strings.Contains(lowers, of[:1]) || strings.Trim(of, lowers+digits+"-_") != "") {
		f.add("name", "want letters, digits, +, -, . and _; of another architecture with it, as libc6:i386", "is not the name of a package", name)
	}
}

// version checks the version of a package, as Debian or rpm writes it.
func (f *flaws) version(v string) {
	if v == "" {
		return
	}
	if !strings.Contains(digits+lowers+uppers, v[:1]) || len(v) > 200 || strings.Trim(v, lowers+uppers+digits+".+~:-_^") != "" {
		f.add("version", "want it as Debian or rpm writes it, as 1:2.0-3", "is not the version of a package", v)
	}
}

// OnlyRPM reports whether no package of Debian's is called that, or has such a version: no
// machine that apt keeps has it, and a host that knows of apt alone refuses a declaration in
// which it stands.
func (t Traits) OnlyRPM() bool {
	bare, of, _ := strings.Cut(t.Name, ":")
	return len(bare) == 1 || strings.ContainsAny(bare, uppers+"_") || strings.Contains(of, "_") ||
		strings.ContainsAny(t.Version, "_^") || t.Version != "" && !strings.Contains(digits, t.Version[:1])
}
