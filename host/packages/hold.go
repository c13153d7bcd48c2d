package packages

import (
	"path"
	"strings"

	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// Where somebody says of a package that dnf is not to change it.
const (
	lockList  = "/etc/dnf/plugins/versionlock.list"
	lockTable = "/etc/dnf/versionlock.toml" // that of dnf 5
	dnfConf   = "/etc/dnf/dnf.conf"

	confMost = 1 << 20
)

// hold is that nothing changes the packages that a pattern fits.
type hold struct {
	pattern string
	release string // what whoever would have it changed does
}

// names reports whether it is about this package: about it at its version, or about
// another version of it, which it is to have instead.
func (h hold) names(p Package) bool {
	full := p.Version
	if !strings.Contains(full, ":") {
		full = "0:" + full
	}
	for _, v := range []string{"", "-" + p.Version, "-" + full} {
		for _, arch := range []string{"", "." + rpmArch(p)} {
			if ok, err := path.Match(h.pattern, p.Name+v+arch); ok && err == nil {
				return true
			}
		}
	}
	return locked(h.pattern) == p.Name
}

// locked is the name in a pattern that says a version as well, as "one-0:1.0-1.*".
func locked(pattern string) string {
	for range 2 {
		i := strings.LastIndexByte(pattern, '-')
		if i < 0 {
			return ""
		}
		pattern = pattern[:i]
	}
	return pattern
}

// held is what somebody holds.
func (r RPM) held() ([]hold, error) {
	var all []hold
	for _, of := range []struct {
		file string
		read func(text string) []hold
	}{{lockList, lockedIn}, {lockTable, lockedInTable}, {dnfConf, excludedIn}} {
		text, err := r.sys.Text(of.file, confMost)
		if system.Absent(err) {
			continue
		}
		if err != nil {
			return nil, fault.Wrap(fault.Conflict, system.Cause(err), "read %q", of.file)
		}
		all = append(all, of.read(text)...)
	}
	return all, nil
}

// lockedIn is a list of versionlock's: a pattern a line. One that begins with ! says only
// which version is not to come.
func lockedIn(text string) []hold {
	var all []hold
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" && line[0] != '!' {
			all = append(all, unlocking(line))
		}
	}
	return all
}

func unlocking(pattern string) hold {
	return hold{pattern, "dnf versionlock delete '" + pattern + "'"}
}

// lockedInTable is a list of dnf 5's, of which the names count.
func lockedInTable(text string) []hold {
	var all []hold
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, "=")
		if name := strings.Trim(strings.TrimSpace(value), `"'`); ok && strings.TrimSpace(key) == "name" && name != "" {
			all = append(all, unlocking(name))
		}
	}
	return all
}

// excludedIn is what the configuration of dnf leaves out for all repositories. What
// continues a line begins with a space.
func excludedIn(text string) []hold {
	var all []hold
	main, on := false, false
	for line := range strings.Lines(text) {
		value := line
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
			continue
		case trimmed[0] == '[':
			main, on = trimmed == "[main]", false
			continue
		case line[0] != ' ' && line[0] != '\t':
			var key string
			key, value, _ = strings.Cut(line, "=")
			key = strings.TrimSpace(key)
			on = main && (key == "exclude" || key == "excludepkgs")
		}
		for _, pattern := range strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune(" \t\r\n,", c) }) {
			if on {
				all = append(all, hold{pattern, "taking " + pattern + " out of what " + dnfConf + " excludes"})
			}
		}
	}
	return all
}
