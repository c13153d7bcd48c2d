package javascript

import (
	"path"
	"strings"
)

// ignored is a line of a .npmignore.
type ignored struct {
	pieces   []string // of the pattern, in lower case
	anywhere bool     // it is a name, in whatever folder
	folders  bool     // of folders only
	not      bool     // what it fits is in the package all the same
}

// ignoredBy is the lines of a .npmignore, as far as there are few.
func ignoredBy(text string) []ignored {
	var all []ignored
	for line := range strings.Lines(text) {
		line = strings.ToLower(strings.TrimSpace(line))
		if line == "" || line[0] == '#' || len(all) == most {
			continue
		}
		var one ignored
		line, one.not = strings.CutPrefix(line, "!")
		one.folders = strings.HasSuffix(line, "/")
		one.anywhere = !strings.Contains(strings.TrimSuffix(line, "/"), "/")
		for _, each := range braces(strings.Trim(line, "/")) {
			one.pieces = strings.Split(each, "/")
			all = append(all, one)
		}
	}
	return all
}

// fits reports whether a line is about a path, from the folder that the file is in.
func (i ignored) fits(pieces []string, folder bool) bool {
	if i.folders && !folder {
		return false
	}
	if i.anywhere {
		pieces = pieces[len(pieces)-1:]
	}
	return fits(i.pieces, pieces)
}

// leaves reports whether the .npmignore of a package leave a file out: the last
// line that fits decides, and of a folder that is left out nothing is in. That at
// the root says nothing where files does.
func (s *shipment) leaves(file string) bool {
	pieces := strings.Split(strings.ToLower(file), "/")
	folders := strings.Split(file, "/")
	for n := 1; n <= len(pieces); n++ {
		out := false
		for from := range n {
			if from > 0 || !s.limited {
				out = decided(out, s.ignores[path.Join(folders[:from]...)], pieces[from:n], n < len(pieces))
			}
		}
		if out {
			return true
		}
	}
	return false
}

// decided is whether a path is left out behind these lines, where it was before them.
func decided(out bool, lines []ignored, pieces []string, folder bool) bool {
	for _, line := range lines {
		if line.not == out && line.fits(pieces, folder) {
			out = !line.not
		}
	}
	return out
}

// never reports whether npm ships no file with that name, whatever anybody says of it.
func never(file string) bool {
	base := path.Base(file)
	switch base {
	case ".npmignore", ".gitignore", ".npmrc", ".DS_Store", "npm-debug.log":
		return true
	case "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lockb", ".lock-wscript":
		return base == file
	}
	return strings.HasPrefix(base, "._") || strings.HasSuffix(base, ".orig") || strings.HasPrefix(base, ".") && strings.HasSuffix(base, ".swp")
}

// hidden reports whether a file lies in a folder whose name begins with a dot: what
// tools keep there is in a package where that says so.
func hidden(file string) bool {
	return strings.Contains("/"+path.Dir(file), "/.") && path.Dir(file) != "."
}
