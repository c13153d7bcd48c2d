package golang

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"noxmesh/delivery/imports"
	"noxmesh/internal/fault"
)

// Library is the sources of each Go module in the tree without their tests, what
// else is compiled with them, what they embed, and each go.mod.
func (Language) Library(tree fs.FS) ([]string, error) {
	all, err := imports.Walk(tree, func(folder string) bool { return path.Base(folder) == "vendor" || apart(path.Base(folder)) })
	if err != nil {
		return nil, err
	}
	var files []string
	modules, sources := 0, 0
	for _, file := range all {
		switch {
		case path.Base(file) == "go.mod":
			modules++
		case !compiled(file):
			continue
		case strings.HasSuffix(file, ".go"):
			sources++
			embedded, err := embedsOf(tree, file)
			if err != nil {
				return nil, err
			}
			files = append(files, embedded...)
		}
		files = append(files, file)
	}
	switch {
	case modules == 0:
		return nil, fault.New(fault.Invalid, "there is no go.mod in the folder: it is what gives the packages their names").
			With("go mod init NAME")
	case sources == 0:
		return nil, fault.New(fault.Invalid, "there is no Go file but tests: nobody can import anything")
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// apart reports whether ./... goes around a folder with this name.
func apart(name string) bool {
	return name == "testdata" || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".")
}

// compiled reports whether the go command compiles a file with this name into
// what others import.
func compiled(file string) bool {
	name := path.Base(file)
	if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") || strings.HasSuffix(name, "_test.go") {
		return false
	}
	switch path.Ext(name) {
	case ".go", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx",
		".f", ".F", ".for", ".f90", ".s", ".S", ".sx", ".swig", ".swigcxx", ".syso":
		return true
	}
	return false
}

const embedding = "//go:embed"

// maxSize is the largest Go file of a library: what it embeds may stand anywhere in it.
const maxSize = 16 << 20

// embedsOf is the files that a Go file embeds.
func embedsOf(tree fs.FS, file string) ([]string, error) {
	text, err := imports.Text(tree, file, maxSize)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(text), embedding) {
		return nil, nil
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "read what %q embeds", file)
	}
	var embedded []string
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			found, err := embeddedBy(tree, path.Dir(file), c.Text)
			if err != nil {
				return nil, fault.Add(err, "%s:%d", file, files.PositionFor(c.Pos(), false).Line)
			}
			embedded = append(embedded, found...)
		}
	}
	return embedded, nil
}

// embeddedBy is the files that a comment of a package names, where it is one that embeds.
func embeddedBy(tree fs.FS, folder, comment string) ([]string, error) {
	rest, is := strings.CutPrefix(comment, embedding)
	if !is || rest == "" || rest[0] != ' ' && rest[0] != '\t' {
		return nil, nil
	}
	patterns, ok := patternsOf(rest)
	if !ok {
		return nil, fault.New(fault.Invalid, "a string in go:embed has no end")
	}
	var embedded []string
	for _, pattern := range patterns {
		found, err := embeds(tree, folder, pattern)
		if err != nil {
			return nil, err
		}
		embedded = append(embedded, found...)
	}
	return embedded, nil
}

// patternsOf is the words of a go:embed line, strings without their quotes.
func patternsOf(rest string) (patterns []string, ok bool) {
	for {
		rest = strings.TrimLeft(rest, " \t\r")
		if rest == "" {
			return patterns, true
		}
		if rest[0] != '"' && rest[0] != '`' {
			end := strings.IndexAny(rest+" ", " \t\r")
			patterns, rest = append(patterns, rest[:end]), rest[end:]
			continue
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, false
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, false
		}
		patterns, rest = append(patterns, word), rest[len(quoted):]
	}
}

// embeds is the files that a pattern names in a package's folder: of a folder all
// in it, but for what begins with . or _, which all: takes too.
func embeds(tree fs.FS, folder, pattern string) ([]string, error) {
	pattern, all := strings.CutPrefix(pattern, "all:")
	if !fs.ValidPath(pattern) {
		return nil, fault.New(fault.Invalid, "go:embed names %q, which is no path below the package's folder", pattern)
	}
	matches, err := fs.Glob(tree, path.Join(escape(folder), pattern))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "go:embed names %q", pattern)
	}
	var files []string
	for _, match := range matches {
		err := fs.WalkDir(tree, match, func(file string, e fs.DirEntry, err error) error {
			name := path.Base(file)
			hidden := file != match && !all && (name[0] == '.' || name[0] == '_')
			switch {
			case err != nil:
				return fault.Wrap(fault.Unavailable, err, "look at %q", file)
			case e.IsDir() && (hidden || file != match && ownModule(tree, file)):
				return fs.SkipDir
			case !e.IsDir() && !hidden && imports.Regular(tree, file, e.Type()):
				files = append(files, file)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, fault.New(fault.Invalid, "go:embed names %q, and there is no such file", pattern)
	}
	return files, nil
}

// ownModule reports whether a folder is a Go module of its own.
func ownModule(tree fs.FS, folder string) bool {
	_, err := fs.Stat(tree, path.Join(folder, "go.mod"))
	return err == nil
}

// escape is a path as a pattern that matches nothing else.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}
