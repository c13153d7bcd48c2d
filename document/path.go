package document

import (
	"strconv"
	"strings"
)

// A step goes from a value into one that is in it.
type step struct {
	key   string
	index int // of an array; -1 for a key
}

// Join is the path of this key in the object at path.
func Join(path, key string) string {
	switch {
	case !plain(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// At is the path of this element of the list at path.
func At(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// plain reports whether a key stands in a path as it is.
func plain(key string) bool {
	for _, r := range key {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (r < '0' || r > '9') && r != '_' && r != '-' && r != '$' {
			return false
		}
	}
	return key != ""
}

func pathOf(steps []step) string {
	path := ""
	for _, s := range steps {
		if s.index >= 0 {
			path = At(path, s.index)
		} else {
			path = Join(path, s.key)
		}
	}
	return path
}

// patternOf is a path with its indexes left open: "resources[].path".
func patternOf(path string) string {
	var b strings.Builder
	for _, s := range stepsOf(path) {
		switch {
		case s.index >= 0:
			b.WriteString("[]")
		case b.Len() > 0:
			b.WriteString("." + s.key)
		default:
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// stepsOf takes a path apart. What is no path ends it.
func stepsOf(path string) []step {
	var steps []step
	for path != "" {
		if path[0] != '[' {
			path = strings.TrimPrefix(path, ".")
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			steps, path = append(steps, step{key: path[:end], index: -1}), path[end:]
			continue
		}
		if quoted, err := strconv.QuotedPrefix(path[1:]); err == nil {
			key, _ := strconv.Unquote(quoted) // it is a quoted prefix
			steps, path = append(steps, step{key: key, index: -1}), strings.TrimPrefix(path[1+len(quoted):], "]")
			continue
		}
		number, rest, ok := strings.Cut(path[1:], "]")
		index, err := strconv.Atoi(number)
		if !ok || err != nil || index < 0 {
			return steps
		}
		steps, path = append(steps, step{index: index}), rest
	}
	return steps
}

// stepsOfPointer takes a JSON pointer apart (RFC 6901). A number is an index: a
// pointer does not say, and a list is what has them.
func stepsOfPointer(pointer string) []step {
	var steps []step
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		if index, err := strconv.Atoi(token); err == nil && index >= 0 {
			steps = append(steps, step{index: index})
			continue
		}
		steps = append(steps, step{key: token, index: -1})
	}
	return steps
}
