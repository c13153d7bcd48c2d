package lock

import (
	"strings"

	"noxmesh/internal/fault"
)

// DecodeGo reads a go.sum. What is wrong with a line is said, and the others are
// good nevertheless.
func DecodeGo(file string, data []byte) (all []Go, faults []error) {
	known := map[string]int{}
	lines(data, func(n int, line string) {
		m, err := goLine(line)
		if err != nil {
			faults = append(faults, fault.Add(err, "%s", at(file, n)))
			return
		}
		m.In = file
		key := m.Module + " " + m.Version
		i, is := known[key]
		if !is {
			known[key], all = len(all), append(all, m)
			return
		}
		all[i].Zip, all[i].Mod = append(all[i].Zip, m.Zip...), append(all[i].Mod, m.Mod...)
	})
	return all, faults
}

func goLine(line string) (Go, error) {
	const tidy = "go mod tidy writes it anew"
	words := strings.Fields(line)
	if len(words) != 3 {
		return Go{}, fault.New(fault.Invalid, "%d words, want a module, its version and a hash", len(words)).With(tidy)
	}
	version, mod := strings.CutSuffix(words[1], "/go.mod")
	m := Go{Module: words[0], Version: version}
	if !goModule(m.Module) {
		return m, fault.New(fault.Invalid, "%q is no path of a Go module", short(m.Module)).With(tidy)
	}
	if !strings.HasPrefix(version, "v") || !only(version, ".-+") || strings.Contains(version, "..") {
		return m, fault.New(fault.Invalid, "%q is no version of a Go module", short(version)).With(tidy)
	}
	form, sum := Zip1, strings.TrimPrefix(words[2], "h1:")
	if mod {
		form = Mod1
	}
	h, ok := HashOf(form, sum)
	if !ok || sum == words[2] {
		return m, fault.New(fault.Invalid, "%q is no hash that proves anything, want h1: and 44 letters", short(words[2])).With(tidy)
	}
	if mod {
		m.Mod = []Hash{h}
	} else {
		m.Zip = []Hash{h}
	}
	return m, nil
}

// goModule reports whether this is the path of a module.
func goModule(path string) bool {
	if !only(path, "/-._~") || !plainPath(path) {
		return false
	}
	for element := range strings.SplitSeq(path, "/") {
		if element[0] == '.' || strings.HasSuffix(element, ".") {
			return false
		}
	}
	return true
}
