package javascript

import (
	"path"
	"strings"
)

// Language reads JavaScript and TypeScript.
type Language struct{}

// Name is javascript, for TypeScript too: they import each other.
func (Language) Name() string { return "javascript" }

// Wants is the files of code, and those that give names their meaning. What was
// installed is not the module's.
func (Language) Wants(file string, above bool) bool {
	base := path.Base(file)
	if above {
		return base == "package.json" || configuration(base)
	}
	if strings.Contains("/"+file, "/node_modules/") {
		return false
	}
	return base == "package.json" || base == "pnpm-workspace.yaml" || configuration(base) || code(base)
}

// configuration reports whether a name is one of TypeScript's configurations.
func configuration(base string) bool {
	return base == "jsconfig.json" || strings.Contains(base, "tsconfig") && strings.HasSuffix(base, ".json")
}

func code(base string) bool {
	switch path.Ext(base) {
	case ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte":
		return true
	}
	return false
}

// dialectOf is how a file is read, by its name. A .js may have elements in it, and
// what begins with <!-- is a comment there until the file turns out to be a module.
func dialectOf(file string) dialect {
	switch path.Ext(file) {
	case ".ts", ".mts", ".cts":
		return dialect{ts: true}
	case ".tsx":
		return dialect{ts: true, jsx: true}
	case ".mjs":
		return dialect{jsx: true}
	}
	return dialect{jsx: true, html: true}
}

// Owners is the package of a name: @a/b of @a/b/c, and b of b/c.
func (Language) Owners(name string) []string {
	if owner := packageOf(name); owner != "" {
		return []string{owner}
	}
	return nil
}

// packageOf is the package that a name lies in, or nothing where no package can be called so.
func packageOf(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if !strings.HasPrefix(name, "@") {
		return valid(parts[0])
	}
	if len(parts) < 2 || valid(parts[0][1:]) == "" || valid(parts[1]) == "" {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

// valid is a part of a package's name, or nothing where it is none. Old packages have capital letters.
func valid(part string) string {
	if part == "" || part[0] == '.' || part[0] == '~' {
		return ""
	}
	for _, c := range []byte(part) {
		if !partOfWord(c) && c != '-' && c != '.' && c != '~' || c == '$' || c >= 0x80 {
			return ""
		}
	}
	return part
}

// forTests reports whether only tests read a file, by its path in the module's folder.
func forTests(file string) bool {
	folders := strings.Split(file, "/")
	base := folders[len(folders)-1]
	for _, folder := range folders[:len(folders)-1] {
		switch folder {
		case "__tests__", "__mocks__", "__fixtures__", "test", "tests", "e2e", "cypress":
			return true
		}
	}
	stem, _, _ := strings.Cut(base, ".")
	switch stem {
	case "setupTests", "test-setup":
		return true
	case "vitest", "jest", "playwright", "cypress", "karma":
		return strings.Contains(base, ".config.") || strings.Contains(base, ".setup.") || strings.Contains(base, ".conf.") || strings.Contains(base, ".workspace.")
	}
	parts := strings.Split(base, ".")
	for _, part := range parts[1:] {
		switch part {
		case "test", "spec", "test-d", "spec-d", "cy", "e2e":
			return true
		}
	}
	return false
}
