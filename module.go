package mesh

import "regexp"

// Module is the unit of delivery: assignable to a node, versionable,
// replaceable on its own. It is one repository, or one folder of one, with
// module.json at its root.
type Module struct {
	Name       string `json:"module"`
	Repository string `json:"repository"`
	Ref        string `json:"ref"`    // refs/heads/… or refs/tags/…; empty for the repository's default branch
	Folder     string `json:"folder"` // a clean relative path; empty for the repository's root
}

var moduleName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// ValidModuleName reports whether a module may be called this: lower-case
// letters, digits and inner hyphens, at most 63.
func ValidModuleName(name string) bool { return moduleName.MatchString(name) }
