package golang

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// modfile is what a go.mod or a go.work says of names.
type modfile struct {
	path     string // of the module; empty in a go.work
	line     int    // where it says so
	requires map[string]string
	replaces []replacement
	ignores  []string // folders that ./... does not name
	uses     []string // folders of the modules that a go.work joins
}

// replacement is a module that a folder provides; at is its version, or empty for each.
type replacement struct{ path, at, folder string }

// directive is a line with the verb of its block in front.
type directive struct {
	words []string
	line  int
}

// parseModfile reads a go.mod or a go.work. What is wrong with it is a line and
// why, and the rest is read all the same: line 0 is nothing wrong. Verbs that it
// does not know are a later Go's.
func parseModfile(text []byte) (m modfile, line int, why string) {
	m.requires = map[string]string{}
	directives, line, why := directives(string(text))
	for _, d := range directives {
		if wrong := m.add(d); wrong != "" && line == 0 {
			line, why = d.line, wrong
		}
	}
	return m, line, why
}

// add takes a directive's meaning.
func (m *modfile) add(d directive) (wrong string) {
	verb, args := d.words[0], d.words[1:]
	switch {
	case verb == "replace":
		return m.replace(args)
	case verb == "require" && len(args) != 2:
		return "require wants a module and its version: require example.com/site v1.2.3"
	case verb == "require":
		m.requires[args[0]] = args[1]
	case verb != "module" && verb != "ignore" && verb != "use":
	case len(args) != 1 || args[0] == "":
		return verb + " wants one path"
	case verb == "module" && m.path != "":
		return "the module has a second path: a go.mod has one module line"
	case verb == "module":
		m.path, m.line = args[0], d.line
	case verb == "ignore":
		m.ignores = append(m.ignores, args[0])
	default:
		m.uses = append(m.uses, args[0])
	}
	return ""
}

// replace takes what a folder provides; a replacement by another module changes no name.
func (m *modfile) replace(args []string) (wrong string) {
	arrow := slices.Index(args, "=>")
	if arrow != 1 && arrow != 2 || args[0] == "" || len(args) < arrow+2 || len(args) > arrow+3 {
		return "replace wants a module, => and a folder or a module with its version: replace example.com/site => ../site"
	}
	r := replacement{path: args[0], folder: args[arrow+1]}
	if arrow == 2 {
		r.at = args[1]
	}
	switch {
	case len(args) == arrow+3 && local(r.folder):
		return "a folder that replaces a module has no version"
	case len(args) == arrow+3:
		return ""
	case !local(r.folder):
		return "a folder that replaces a module begins with ./ or ../, and a module that does has a version"
	}
	m.replaces = append(m.replaces, r)
	return ""
}

// local reports whether a replacement is a folder.
func local(name string) bool {
	return name == "." || name == ".." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/")
}

// directives is the lines that say something; the first that cannot be read
// ends them, with its number.
func directives(text string) (all []directive, at int, why string) {
	var block []string
	start := 0 // the line at which the block began
	for n := 1; text != ""; n++ {
		var raw string
		raw, text, _ = strings.Cut(text, "\n")
		words, quoted, why := words(raw)
		last := len(words) - 1
		switch {
		case why != "":
			return all, n, why
		case len(words) == 0:
		case block == nil && last > 0 && words[last] == "(" && !quoted:
			block, start = words[:last], n
		case block == nil && last > 1 && words[last-1] == "(" && words[last] == ")" && !quoted:
		case block == nil:
			all = append(all, directive{words, n})
		case words[0] == ")" && last > 0:
			return all, n, "something follows the end of a block"
		case words[0] == ")":
			block = nil
		default:
			all = append(all, directive{append(slices.Clone(block), words...), n})
		}
	}
	if block != nil {
		return all, start, "the block that begins here has no end: a ) alone on a line"
	}
	return all, 0, ""
}

// words is the words of a line, strings without their quotes; quoted says that
// the last of them was one.
func words(line string) (words []string, quoted bool, why string) {
	for {
		line = strings.TrimLeft(line, " \t\r")
		switch {
		case line == "" || strings.HasPrefix(line, "//"):
			return words, quoted, ""
		case strings.HasPrefix(line, "/*"):
			return nil, false, "has a /* comment: here comments begin with //"
		}
		var word string
		if word, why = first(line); why != "" {
			return nil, false, why
		}
		line, quoted = line[len(word):], word[0] == '"' || word[0] == '`'
		if quoted {
			plain, err := strconv.Unquote(word)
			if err != nil {
				return nil, false, "the string " + word + " cannot be read"
			}
			word = plain
		}
		words = append(words, word)
	}
}

// first is the first word of a line that begins with one, as it is written.
func first(line string) (word, why string) {
	if strings.ContainsRune("()[]{},", rune(line[0])) {
		return line[:1], ""
	}
	if quote := line[0]; quote == '"' || quote == '`' {
		for i := 1; i < len(line); i++ {
			switch {
			case line[i] == quote:
				return line[:i+1], ""
			case line[i] == '\\' && quote == '"':
				i++
			}
		}
		return "", "a string has no end"
	}
	end := strings.IndexFunc(line, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("()[]{},", r)
	})
	if end < 0 {
		end = len(line)
	}
	if i := strings.Index(line[:end], "//"); i > 0 {
		end = i
	}
	if end == 0 {
		r, _ := utf8.DecodeRuneInString(line)
		return "", "the character " + strconv.QuoteRune(r) + " does not belong here"
	}
	return line[:end], ""
}
