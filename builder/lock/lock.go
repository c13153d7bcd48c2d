package lock

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Locks is what all lock files of a tree name.
type Locks struct {
	Go     []Go
	Npm    []Npm
	Python []Python
	Crates []Crate
	Files  []string // the lock files that name anything, or mean to
	Faults []error  // what in lock files names nothing that can be fetched, and why
}

// Go is one version of a Go module.
type Go struct {
	Module, Version string
	Zip, Mod        []Hash // of the module, and of its go.mod alone; one of each is right
	In              string // the file that names it
}

// Npm is one version of a package of npm.
type Npm struct {
	Name, Version string
	Resolved      string // where the lock file has it from; empty: from the registry
	Hashes        []Hash
	In            string
}

// Python is a project of Python, and every file of it that may be installed.
type Python struct {
	Project string // as PEP 503 writes it
	Hashes  []Hash
	In      string
}

// Crate is one version of a crate of crates.io.
type Crate struct {
	Name, Version string
	Hash          Hash
	In            string
}

// Empty reports whether there is no lock file that names anything, or means to.
func (l Locks) Empty() bool { return len(l.Files) == 0 }

// Says is what is named, for people.
func (l Locks) Says() string {
	words := []string{}
	for _, x := range []struct {
		n    int
		what string
	}{{len(l.Go), "Go module"}, {len(l.Npm), "npm package"}, {len(l.Python), "Python project"}, {len(l.Crates), "crate"}} {
		switch {
		case x.n == 1:
			words = append(words, "1 "+x.what)
		case x.n > 1:
			words = append(words, fmt.Sprintf("%d %ss", x.n, x.what))
		}
	}
	if len(words) == 0 {
		return "nothing that can be fetched"
	}
	return strings.Join(words, ", ")
}

// short is the beginning of what a lock file says, for people.
func short(s string) string {
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// at is a place in a lock file, for people.
func at(file string, line int) string {
	if strings.ContainsFunc(file, func(c rune) bool { return !strconv.IsPrint(c) }) || !utf8.ValidString(file) {
		file = strconv.Quote(file)
	}
	if line == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}

// only reports whether s has letters and digits of ASCII and these, and nothing else.
func only(s, others string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(others, c) {
			return false
		}
	}
	return s != ""
}

// plainPath reports whether a path has no element that leads elsewhere.
func plainPath(path string) bool {
	for element := range strings.SplitSeq(path, "/") {
		if element == "" || element == "." || element == ".." {
			return false
		}
	}
	return true
}
