package cli

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"noxmesh/internal/term"
	"noxmesh/inventory"
)

// show prints v as JSON where that was asked for, and otherwise calls text.
func (s *shell) show(v any, text func()) {
	if !s.out.JSON {
		text()
		return
	}
	s.failed = errors.Join(s.failed, s.out.Result(v))
}

// line writes one line of a result. What came from elsewhere has been cleaned.
func (s *shell) line(format string, args ...any) {
	s.failed = errors.Join(s.failed, s.out.Printf(format+"\n", args...))
}

// words writes a line with text from elsewhere behind its beginning. Where the
// text has several lines, the others stand below, further in.
func (s *shell) words(begin, text string) {
	indent := begin[:len(begin)-len(strings.TrimLeft(begin, " "))] + "  "
	lines := strings.Split(strings.TrimSpace(text), "\n")
	s.line("%s%s", begin, term.Clean(lines[0]))
	for _, l := range lines[1:] {
		s.line("%s%s", indent, term.Clean(l))
	}
}

// table is a table being made. Its columns of prose may be cut to fit.
type table struct{ term.Table }

func newTable(heads ...string) *table {
	prose := []string{"", "MODULES", "SANDBOX", "RECEIPT", "SET"}
	t := &table{}
	for _, h := range heads {
		t.Columns = append(t.Columns, term.Column{Head: h, Prose: slices.Contains(prose, h)})
	}
	return t
}

func (t *table) row(cells ...string) {
	row := make([]term.Cell, 0, len(cells))
	for _, c := range cells {
		row = append(row, term.Text(c))
	}
	t.Row(row...)
}

// table prints t without the columns in which nothing stands. A last column
// without a head holds words about its row: where the terminal has no room for
// them, they stand below the table and are not cut.
func (s *shell) table(t *table) {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(t.Rows, func(row []term.Cell) bool { return row[i].Text != "" }) {
			t.drop(i)
		}
	}
	last := len(t.Columns) - 1
	var below []string
	if last > 0 && t.Columns[last].Head == "" && s.out.Width > 0 && t.width() > s.out.Width {
		for _, row := range t.Rows {
			if words := row[last].Text; words != "" {
				below = append(below, row[0].Text+": "+words)
			}
		}
		t.drop(last)
	}
	s.failed = errors.Join(s.failed, s.out.Table(t.Table))
	for _, line := range below {
		s.words("  ", line)
	}
}

func (t *table) drop(column int) {
	t.Columns = slices.Delete(t.Columns, column, column+1)
	for i := range t.Rows {
		t.Rows[i] = slices.Delete(t.Rows[i], column, column+1)
	}
}

// width is how wide the table is with nothing cut.
func (t *table) width() int {
	const gap = 2
	all := gap * (len(t.Columns) - 1)
	for i, c := range t.Columns {
		widest := len(c.Head)
		for _, row := range t.Rows {
			widest = max(widest, utf8.RuneCountInString(term.Clean(row[i].Text)))
		}
		all += widest
	}
	return all
}

// joined is the words in a cell.
func joined(words []string) string { return strings.Join(words, " ") }

// listed is names in a sentence, in their order.
func listed(names []string) string {
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}

// short is a digest or an id as people read it.
func short(digest string) string {
	_, hex, ok := strings.Cut(digest, ":")
	if !ok {
		hex = digest
	}
	return hex[:min(12, len(hex))]
}

func moduleOf(id string) string { return inventory.ModuleOf(id) }

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
