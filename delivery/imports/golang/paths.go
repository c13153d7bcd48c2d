package golang

import "strings"

// paths is values by paths, each found by the longest that another path begins
// with, in time that grows with the length of that path alone.
type paths[T any] struct {
	value T
	set   bool
	below map[string]*paths[T]
}

// put gives a path its value; the first one stays.
func (p *paths[T]) put(path string, value T) {
	for path != "" {
		var first string
		first, path, _ = strings.Cut(path, "/")
		if p.below == nil {
			p.below = map[string]*paths[T]{}
		}
		if p.below[first] == nil {
			p.below[first] = &paths[T]{}
		}
		p = p.below[first]
	}
	if !p.set {
		p.value, p.set = value, true
	}
}

// longest is the value of the longest path that this one begins with, and what is left of it.
func (p *paths[T]) longest(path string) (value T, rest string, ok bool) {
	for {
		if p.set {
			value, rest, ok = p.value, path, true
		}
		if path == "" {
			return value, rest, ok
		}
		var first string
		first, path, _ = strings.Cut(path, "/")
		if p = p.below[first]; p == nil {
			return value, rest, ok
		}
	}
}
