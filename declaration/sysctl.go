package declaration

import "strings"

// SysctlPath is where the kernel has a sysctl, below /proc/sys. As sysctl(8) has it,
// what comes first of . and / stands between the parts, and the other one for the
// dot that is in a part: net.ipv4.conf.eth0/100.forwarding.
func SysctlPath(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '.' {
		return turned(name)
	}
	return name
}

// SysctlName is the one name of a sysctl, whichever way it was written.
func SysctlName(name string) string { return turned(SysctlPath(name)) }

func turned(s string) string { return strings.NewReplacer(".", "/", "/", ".").Replace(s) }

// SysctlFiles is what the files of the host begin with by which its sysctls are set
// at boot.
const SysctlFiles = "/etc/sysctl.d/99-mesh-host."

// sysctl checks the name of a sysctl.
func (f *flaws) sysctl(name string) {
	if name == "" {
		return
	}
	parts := strings.Split(SysctlPath(name), "/")
	ok := len(parts) > 1 && len(name) <= 200 && strings.Trim(name, lowers+uppers+digits+"._-:@+/") == ""
	for _, part := range parts {
		ok = ok && part != "" && part[0] != '.' && part[0] != '-'
	}
	if !ok {
		f.add("name", "want it as net.ipv4.ip_forward, with one for each: no wildcards; an interface whose name has a dot as net.ipv4.conf.eth0/100.forwarding", "is not the name of a sysctl", name)
	}
}

// ValueLimit is how long the value of a sysctl may be: the kernel takes a page.
const ValueLimit = 4000

// value checks the value of a sysctl: one line.
func (f *flaws) value(v string) {
	switch {
	case v == "":
	case len(v) > ValueLimit:
		*f = append(*f, Flaw{"value", "want at most " + number(ValueLimit), number(int64(len(v))) + " bytes"})
	case strings.TrimSpace(v) == "" || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		f.add("value", "want one line of text", "is not the value of a sysctl", v)
	}
}
