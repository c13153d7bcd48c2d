package golang

import (
	"path"
	"strings"

	"noxmesh/delivery/imports"
)

// Language is Go.
type Language struct{}

// Name is the language's.
func (Language) Name() string { return "go" }

// Wants is each Go file that some platform compiles, go.mod and go.work; above
// the folder the last two.
func (Language) Wants(file string, above bool) bool {
	name := path.Base(file)
	switch {
	case name == "go.mod" || name == "go.work":
		return above || !vendored(path.Dir(file))
	case above || strings.HasPrefix(name, "_") || strings.HasPrefix(name, "."):
		return false
	}
	return strings.HasSuffix(name, ".go") && !vendored(path.Dir(file))
}

// Opens is each Go file: its imports stand before all other code.
func (Language) Opens(file string) bool { return strings.HasSuffix(file, ".go") }

// Read is what the files say.
func (Language) Read(in imports.Input) imports.Found {
	r := newReading(in)
	r.own()
	r.readAll()
	// What is the module's own has been left out one by one, since what begins
	// with its path may be somebody else's.
	return r.found.Sorted(func(name string) []string { return []string{name} })
}

// Owners is an import path and each path that it begins with.
func (Language) Owners(name string) []string { return imports.Prefixes(name, "/") }

// vendored reports whether a folder stands below one of copies.
func vendored(folder string) bool {
	return strings.HasPrefix(folder, "vendor/") || strings.Contains(folder, "/vendor/")
}

// aside reports whether a folder is none that ./... names.
func aside(folder string) bool {
	for folder != "" {
		var first string
		first, folder, _ = strings.Cut(folder, "/")
		if first == "testdata" || strings.HasPrefix(first, "_") || strings.HasPrefix(first, ".") {
			return true
		}
	}
	return false
}

// below is what is left of a path under a folder.
func below(file, folder string) (rest string, ok bool) {
	if folder == "" || file == folder {
		return file[len(folder):], true
	}
	rest, ok = strings.CutPrefix(file, folder)
	if !ok || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}

// folderOf is the folder that a file stands in; the repository's root is empty.
func folderOf(file string) string {
	return file[:max(0, strings.LastIndexByte(file, '/'))]
}
