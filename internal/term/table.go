package term

import (
	"strings"
)

// gap stands between two columns; shortest is how narrow a column of prose gets
// before the table is let run over the edge instead.
const (
	gap      = "  "
	shortest = 8
)

// Column is one column of a table.
type Column struct {
	Head  string
	Prose bool // may be cut to fit; everything else (names, ids, numbers) never is
	Right bool // numbers
}

// Cell is one cell, in the words of whoever sent them: the table cleans it.
type Cell struct {
	Text string
	Look Look
}

// Text is a cell without a look.
func Text(text string) Cell { return Cell{Text: text} }

// Table is rows under heads. A table without rows has no heads either: whoever
// shows it says in words that there is nothing.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Row adds a row. Cells that are left out are empty.
func (t *Table) Row(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// Table writes the table to stdout, as wide as the terminal allows.
func (t *Term) Table(table Table) error {
	if len(table.Rows) == 0 {
		return nil
	}
	heads := make([]Cell, len(table.Columns))
	for i, c := range table.Columns {
		heads[i] = Faint.Cell(c.Head)
	}
	rows := [][]Cell{heads}
	for _, row := range table.Rows {
		cells := make([]Cell, len(table.Columns))
		for i := range min(len(row), len(cells)) {
			cells[i] = Cell{Text: Clean(row[i].Text), Look: row[i].Look}
		}
		rows = append(rows, cells)
	}
	widths := table.widths(rows, t.Width)
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(t.line(table.Columns, row, widths))
		b.WriteByte('\n')
	}
	return t.Printf("%s", b.String())
}

// widths is how wide each column is: as its widest cell, and where that is more
// than the room there is, the widest column of prose gives way first.
func (t *Table) widths(rows [][]Cell, room int) []int {
	widths := make([]int, len(t.Columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], columns(cell.Text))
		}
	}
	over := len(gap)*(len(widths)-1) - room
	for _, w := range widths {
		over += w
	}
	for ; room > 0 && over > 0; over-- {
		widest := -1
		for i, c := range t.Columns {
			if c.Prose && widths[i] > shortest && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

// line is one row, without blanks at its end.
func (t *Term) line(cols []Column, row []Cell, widths []int) string {
	var b strings.Builder
	blanks := 0
	for i, cell := range row {
		text := cut(cell.Text, widths[i])
		room := widths[i] - columns(text)
		if cols[i].Right {
			blanks += room
			room = 0
		}
		if text != "" {
			b.WriteString(strings.Repeat(" ", blanks))
			b.WriteString(t.paint(cell.Look, text))
			blanks = 0
		}
		blanks += room + len(gap)
	}
	return b.String()
}
