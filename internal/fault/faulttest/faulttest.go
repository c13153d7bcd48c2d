// Package faulttest finds every error text in the code of a room, so that a test can ask that each is shown.
package faulttest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Golden compares what is said with a golden file, or writes it, and says which
// text in the code of the room in the current folder nothing in it shows. But is
// texts that are for no person, or that nothing can bring about.
func Golden(t *testing.T, update bool, said string, but ...string) {
	t.Helper()
	Compare(t, update, said)
	for _, text := range Unshown(t, ".", said) {
		if !slices.Contains(but, text.Text) {
			t.Errorf("%s: nothing shows %q", text.At, text.Text)
		}
	}
}

// Compare compares what is said with a golden file, or writes it.
func Compare(t *testing.T, update bool, said string) {
	t.Helper()
	file := filepath.Join("testdata", "errors.golden")
	if update {
		if err := os.WriteFile(file, []byte(said), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != said {
		t.Errorf("got\n%s\nwant\n%s", said, want)
	}
}

// Text is one text in the code.
type Text struct{ At, Text string }

// Unshown is each text for people in the Go code of a folder, tests left out, that
// is nowhere in what was said. A text is a string with a space between two words.
func Unshown(t *testing.T, dir, said string) []Text {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var all []Text
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if _, tag := n.(*ast.StructType); tag {
				return false
			}
			if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err == nil && forPeople(text) && !pattern(text).MatchString(said) {
					all = append(all, Text{set.Position(lit.Pos()).String(), text})
				}
			}
			return true
		})
	}
	return all
}

var words = regexp.MustCompile(`[a-z"%][a-z]*,? [a-z%"&]`)

func forPeople(text string) bool { return words.MatchString(text) && !strings.Contains(text, "\n") }

var verb = regexp.MustCompile(`%[+#]?[a-z]`)

// pattern is what a format may come out as.
func pattern(format string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("(?s)")
	at := 0
	for _, v := range verb.FindAllStringIndex(format, -1) {
		b.WriteString(regexp.QuoteMeta(format[at:v[0]]) + `[^\n]*?`)
		at = v[1]
	}
	b.WriteString(regexp.QuoteMeta(strings.ReplaceAll(format[at:], "%%", "%")))
	return regexp.MustCompile(b.String())
}
