package git

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

const wantRef = "refs/heads/NAME, refs/tags/NAME or a whole commit"

// CheckCommit refuses everything but a whole commit id: 40 or 64 lower-case
// hexadecimal digits.
func CheckCommit(commit string) error {
	if !document.IsObjectID(commit) {
		return fault.New(fault.Invalid, "%q is not a commit: want 40 or 64 lower-case hexadecimal digits", document.Short(commit))
	}
	return nil
}

// CheckRef refuses everything but a full branch or tag name, or a whole commit
// id. Empty is not a ref: it stands for the default branch where that is meant.
func CheckRef(ref string) error {
	if document.IsObjectID(ref) {
		return nil
	}
	name, isBranch := strings.CutPrefix(ref, "refs/heads/")
	name, isTag := strings.CutPrefix(name, "refs/tags/")
	if !isBranch && !isTag {
		return badRef(ref, "it is neither a branch, nor a tag, nor a whole commit").With("write it as %s", wantRef)
	}
	if why := badRefName(name); why != "" {
		return badRef(ref, why)
	}
	return nil
}

func badRef(ref, why string) *fault.Error {
	return fault.New(fault.Invalid, "ref %q: %s", document.Short(ref), why)
}

// badRefName holds the rules of git check-ref-format, and says which is broken.
func badRefName(name string) string {
	switch {
	case len(name) > 255:
		return "it has more than 255 characters"
	case !utf8.ValidString(name):
		return "it is not UTF-8"
	case strings.Contains(name, ".."):
		return "it holds .."
	case strings.Contains(name, "@{"):
		return "it holds @{"
	case name == "@":
		return "@ is not a name"
	case strings.HasSuffix(name, "."):
		return "it ends with a dot"
	}
	for _, r := range name {
		if badRune(r) != "" || strings.ContainsRune("~^:?*[", r) {
			return "it holds a character that git allows in no ref"
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return "it has an empty part"
		case strings.HasPrefix(part, "."), strings.HasPrefix(part, "-"):
			return "a part of it begins with a dot or a hyphen"
		case strings.HasSuffix(part, ".lock"):
			return "a part of it ends with .lock"
		}
	}
	return ""
}

// CheckFolder refuses everything but a clean relative path below a repository's
// root. Empty is the root itself.
func CheckFolder(folder string) error {
	if folder == "" {
		return nil
	}
	if err := checkPathInTree(folder); err != nil {
		return fault.New(fault.Invalid, "folder %q: %s", document.Short(folder), err.Text).
			With("write it relative to the repository's root, as services/board; leave it out for the root")
	}
	return nil
}

func checkPathInTree(p string) *fault.Error {
	switch {
	case len(p) > 4096:
		return fault.New(fault.Invalid, "it has more than 4096 characters")
	case !utf8.ValidString(p):
		return fault.New(fault.Invalid, "it is not UTF-8")
	case path.IsAbs(p), path.Clean(p) != p, p == ".", p == "..", strings.HasPrefix(p, "../"):
		return fault.New(fault.Invalid, "it is not a clean relative path")
	}
	for _, r := range p {
		if bad := badRune(r); bad != "" && r != ' ' {
			return fault.New(fault.Invalid, "it holds %s (%U)", bad, r)
		}
	}
	if slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }) {
		return fault.New(fault.Invalid, "it goes through .git")
	}
	return nil
}
