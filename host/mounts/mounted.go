package mounts

import (
	"slices"
	"strings"
)

// Mounted is what the kernel says of one mount.
type Mounted struct {
	Path, Type, Source string
	Options            string // of the mount
	Super              string // of the file system

	id, parent string
}

// Parse reads what the kernel writes into mountinfo. What is no line of it is left out.
func Parse(text string) []Mounted {
	var all []Mounted
	for line := range strings.Lines(text) {
		front, back, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		first, last := strings.Split(front, " "), strings.Split(back, " ")
		if !ok || len(first) < 6 || len(last) < 3 {
			continue
		}
		all = append(all, Mounted{
			id: first[0], parent: first[1], Path: unescape(first[4]), Options: first[5],
			Type: unescape(last[0]), Source: unescape(last[1]), Super: last[2],
		})
	}
	return all
}

// At is what is seen at this path: of several over one another the uppermost.
func At(all []Mounted, p string) (Mounted, bool) {
	var at []Mounted
	for _, m := range all {
		if m.Path == p {
			at = append(at, m)
		}
	}
	for _, m := range slices.Backward(at) {
		if !slices.ContainsFunc(at, func(o Mounted) bool { return o.parent == m.id && o.id != m.id }) {
			return m, true
		}
	}
	return Mounted{}, false
}

// Below is the paths of what is mounted below this one.
func Below(all []Mounted, p string) []string {
	var below []string
	for _, m := range all {
		if strings.HasPrefix(m.Path, strings.TrimSuffix(p, "/")+"/") {
			below = append(below, m.Path)
		}
	}
	return below
}
