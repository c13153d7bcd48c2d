package document

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pathLimit is Linux's PATH_MAX without the byte that ends it.
const pathLimit = 4095

// BadPath says what is wrong with s as the path of a thing on a machine, which
// is absolute, clean and below /; empty where nothing is.
func BadPath(s string) string {
	switch {
	case !strings.HasPrefix(s, "/"):
		return "is not absolute"
	case s == "/":
		return "is the root"
	case path.Clean(s) != s:
		return "is not clean"
	}
	return BadName(s)
}

// BadRelative says what is wrong with s as a path below some folder, which is
// relative, clean and does not lead out of it; empty where nothing is. "." is
// the folder itself.
func BadRelative(s string) string {
	switch {
	case s == "":
		return "is empty"
	case strings.HasPrefix(s, "/"):
		return "is absolute"
	case s == ".." || strings.HasPrefix(s, "../"):
		return "leads out of the folder"
	case path.Clean(s) != s:
		return "is not clean"
	}
	return BadName(s)
}

// BadName says what is wrong with s as text that names something: it is short
// enough for any system, UTF-8, and has no control characters, which are an
// attack on whoever lists it.
func BadName(s string) string {
	switch {
	case len(s) > pathLimit:
		return "is too long"
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "holds a control character"
	}
	return ""
}

// repositoryLimit is the longest name that every registry takes.
const repositoryLimit = 255

// IsRepository reports whether every registry takes s as the name of a repository:
// parts of lower-case letters and digits, with single separators between them. No
// expression is made for it, which each program would pay for at its start.
func IsRepository(s string) bool {
	inside := false // of a part: a letter or a digit stands before
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			inside = true
		case inside && strings.ContainsRune("/._-", r):
			inside = false
		default:
			return false
		}
	}
	return inside && len(s) <= repositoryLimit
}

// IsObjectID reports whether s is the id of an object of git, a commit or a tree, in
// full: 40 or 64 lower-case hexadecimal digits. It is asked of each entry of a tree, of
// which there may be millions.
func IsObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
