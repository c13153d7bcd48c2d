package drawing

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"noxmesh/api"
	"noxmesh/internal/term"
)

// Tree is what a module needs, and what needs it, as two trees. What has been
// drawn once is not drawn again below another. Width is that of the terminal, and
// zero where there is none.
func Tree(g api.GraphOut, width int) []string {
	var out []string
	if g.Of != "dependents" {
		down := tree{width: width, edges: map[string][]api.Edge{}, next: func(e api.Edge) string { return e.To }, drawn: map[string]bool{}}
		for _, e := range g.Edges {
			down.edges[e.From] = append(down.edges[e.From], e)
		}
		out = append(out, down.draw(g.Module, "needs")...)
	}
	if g.Of != "dependencies" {
		up := tree{width: width, edges: map[string][]api.Edge{}, next: func(e api.Edge) string { return e.From }, drawn: map[string]bool{}}
		for _, e := range g.Edges {
			up.edges[e.To] = append(up.edges[e.To], e)
		}
		out = append(out, up.draw(g.Module, "is needed by")...)
	}
	return out
}

type tree struct {
	width int
	edges map[string][]api.Edge
	next  func(api.Edge) string
	drawn map[string]bool
	lines []string
}

func (t *tree) draw(root, head string) []string {
	if len(t.edges[root]) == 0 {
		return []string{term.Clean(root) + " " + head + " nothing"}
	}
	t.lines = []string{term.Clean(root) + " " + head}
	t.drawn[root] = true
	t.below(root, "")
	return t.lines
}

func (t *tree) below(module, indent string) {
	edges := t.edges[module]
	longest := 0
	for _, e := range edges {
		longest = max(longest, utf8.RuneCountInString(t.next(e)))
	}
	for i, e := range edges {
		branch, further := "├─ ", "│  "
		if i == len(edges)-1 {
			branch, further = "└─ ", "   "
		}
		to := t.next(e)
		again := ""
		if t.drawn[to] && len(t.edges[to]) > 0 {
			again = "  (above)"
		}
		line := fmt.Sprintf("%s%s%-8s  %s", indent, branch, Kind(e), term.Clean(to))
		pad := strings.Repeat(" ", longest-utf8.RuneCountInString(to))
		t.lines = append(t.lines, fit(line, again+pad+"  "+Says(e), t.width))
		if !t.drawn[to] {
			t.drawn[to] = true
			t.below(to, indent+further)
		}
	}
}

// Kind is what kind an edge is, in a word.
func Kind(e api.Edge) string {
	if e.Test {
		return "test"
	}
	return e.Kind
}

// Says is for what an edge is and where that is said.
func Says(e api.Edge) string {
	if len(e.For) == 0 {
		return ""
	}
	says := "for " + One(e.For[0])
	if more := len(e.For) - 1; more > 0 {
		says += fmt.Sprintf(", and %d more", more)
	}
	if e.OneOf {
		says += "; it is not the only one"
	}
	return says
}

// One is one thing that is asked for, and where.
func One(f api.For) string {
	words := term.Clean(f.Name)
	if f.Language != "" {
		words = f.Language + " " + words
	}
	return words + " (" + At(f) + ")"
}

// At is where something is asked for, as compilers write it.
func At(f api.For) string {
	if f.Line == 0 {
		return term.Clean(f.File)
	}
	return fmt.Sprintf("%s:%d", term.Clean(f.File), f.Line)
}

// fit is a line with as many of these words as there is room for.
func fit(line, words string, width int) string {
	room := width - utf8.RuneCountInString(line)
	if width == 0 || utf8.RuneCountInString(words) <= room {
		return strings.TrimRight(line+words, " ")
	}
	if room < 12 {
		return line
	}
	return line + string([]rune(words)[:room-1]) + "…"
}
