package mesh

import "strings"

// Module is the unit of delivery: assignable to a node, versionable,
// replaceable on its own. It is one repository, or one folder of one, with
// module.json at its root.
type Module struct {
	Name       string `json:"module"`
	Repository string `json:"repository"`
	Ref        string `json:"ref"`    // refs/heads/… or refs/tags/…; empty for the repository's default branch
	Folder     string `json:"folder"` // a clean relative path; empty for the repository's root
}

// ValidModuleName reports whether a module may be called this: lower-case
// letters, digits and inner hyphens, at most 63.
func ValidModuleName(name string) bool { return label(name, "-") }

// label reports whether s is 1 to 63 lower-case letters, digits and, between
// those, what else may stand inside.
func label(s, inside string) bool {
	return len(s) >= 1 && len(s) <= 63 && plain(s[:1], "") && plain(s[len(s)-1:], "") && plain(s, inside)
}

// plain reports whether s is nothing but lower-case letters, digits and these.
func plain(s, others string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}
