package golang

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"noxmesh/delivery/imports"
)

const (
	maxPath  = 4096 // of a file or an import: a longer one no Linux machine can have in its file system
	maxDepth = 256  // folders in folders: what is looked up by folder costs their number
)

// source is what a Go file's header says.
type source struct {
	name    string // of its package
	imports []line
	end     int // of the last import, or of the package clause
}

// unreachable is why a path is none that is looked at.
func unreachable(file string) (why string) {
	switch {
	case len(file) > maxPath:
		return "its path is longer than 4096 bytes: no machine can check it out"
	case strings.Count(file, "/") > maxDepth:
		return "stands more than 256 folders deep: move it up"
	}
	return ""
}

// opening is the file's text, or of one that is too large the beginning: what it
// imports stands there, before all that is generated.
func opening(f imports.File) (_ imports.File, cut bool) {
	if len(f.Text) <= imports.FileLimit {
		return f, false
	}
	text := f.Text[:imports.FileLimit]
	for range utf8.UTFMax - 1 { // no half of a character
		if r, n := utf8.DecodeLastRune(text); r != utf8.RuneError || n != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	f.Text = text
	return f, true
}

// begun reports whether there is something whole in a text that goes on behind
// this offset, and be it a mistake.
func begun(text []byte, end int) bool {
	rest := text[end:]
	s, file := tokensOf(rest)
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return false
		case tok != token.SEMICOLON:
			return file.Offset(pos)+max(len(lit), len(tok.String())) < len(rest)
		}
	}
}

// tokensOf scans a text, whatever is wrong in it, and knows where each token stands.
func tokensOf(text []byte) (*scanner.Scanner, *token.File) {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, 0)
	return &s, file
}

// unread is why a file cannot be read as text, and in which line.
func unread(f imports.File) (line int, why string) {
	if !utf8.Valid(f.Text) {
		return lineOf(f.Text, invalid(f.Text)), "is not UTF-8 here"
	}
	if i := bytes.IndexByte(f.Text, 0); i >= 0 {
		return lineOf(f.Text, i), "has a NUL byte here"
	}
	return 0, ""
}

// invalid is where the first byte stands that is no UTF-8.
func invalid(text []byte) (i int) {
	for i < len(text) {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// lineOf is the number of the line that a byte stands in.
func lineOf(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), len(text))], []byte("\n"))
}

// parseSource reads a file up to its last import. What it imports before the
// first thing wrong is found all the same; line 0 is nothing wrong.
func parseSource(text []byte) (s source, wrong int, why string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.ImportsOnly|parser.SkipObjectResolution)
	if err != nil {
		wrong, why = 1, "does not parse as Go: "+err.Error()
		if all := (scanner.ErrorList{}); errors.As(err, &all) && len(all) > 0 {
			// The position's own line may be one that a //line comment names.
			wrong, why = lineOf(text, all[0].Pos.Offset), "does not parse as Go: "+all[0].Msg
		}
	}
	if file == nil || file.Name == nil || file.Name.Name == "" {
		s.name = packageOf(text)
		return s, wrong, why
	}
	s.name, s.end = file.Name.Name, files.PositionFor(file.Name.End(), false).Offset
	if n := len(file.Decls); n > 0 {
		s.end = files.PositionFor(file.Decls[n-1].End(), false).Offset
	}
	for _, spec := range file.Imports {
		at := files.PositionFor(spec.Path.Pos(), false).Line
		name, no := importPath(spec)
		if no == "" {
			s.imports = append(s.imports, line{name, at})
		} else if wrong == 0 {
			wrong, why = at, no
		}
	}
	return s, wrong, why
}

// packageOf is the name in a file's package clause, whatever comes behind it: the
// parser gives none where that is wrong, and the go command reads no further.
func packageOf(text []byte) string {
	s, _ := tokensOf(text)
	if _, tok, _ := s.Scan(); tok != token.PACKAGE {
		return ""
	}
	if _, tok, name := s.Scan(); tok == token.IDENT {
		return name
	}
	return ""
}

// importPath is what an import names, or why that is none.
func importPath(spec *ast.ImportSpec) (name, wrong string) {
	name, err := strconv.Unquote(spec.Path.Value)
	switch {
	case err != nil:
		return "", "its import path " + spec.Path.Value + " is no string"
	case len(name) > maxPath:
		return "", "its import path is longer than 4096 bytes: no machine can have such a folder"
	case name == "" || strings.ContainsFunc(name, illegal):
		return "", "its import path " + strconv.Quote(name) + " has a character that none may have, or none at all"
	case relative(name):
		return name, ""
	case path.Clean(name) != name || name[0] == '/' || strings.HasPrefix(name, "../"):
		return "", "its import path " + strconv.Quote(name) + " is none: write it from the module's name on, without . and .. and empty parts"
	}
	return name, ""
}

// illegal reports whether no import path may have a character.
func illegal(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune("!\"#$%&'()*,:;<=>?[\\]^{|}`\ufffd", r)
}

// relative reports whether an import path begins in the importing folder.
func relative(name string) bool {
	return name == "." || name == ".." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../")
}
