package term

// Look is what a word is to the person who reads it. The word says the same
// without its colour.
type Look int

// The looks. Plain is the zero value.
const (
	Plain  Look = iota
	Good        // as it should be: applied, fit
	Bad         // a person is needed: failed, unfit, stuck
	Wait        // not yet: outstanding, blocked, out of date
	Faint       // beside the point
	Strong      // the point, or a heading
)

// codes are the terminal's names for the looks: of the sixteen colours that
// every person has chosen for themselves.
func (l Look) code() string {
	switch l {
	case Plain:
		return ""
	case Good:
		return "32"
	case Bad:
		return "31"
	case Wait:
		return "33"
	case Faint:
		return "2"
	case Strong:
		return "1"
	}
	return ""
}

// Cell is a table's cell with this look.
func (l Look) Cell(text string) Cell { return Cell{Text: text, Look: l} }

// Paint is text, cleaned, with this look where Out has colour.
func (t *Term) Paint(l Look, text string) string { return t.paint(l, Clean(text)) }

func (t *Term) paint(l Look, clean string) string {
	if code := l.code(); t.Colour && code != "" && clean != "" {
		return "\x1b[" + code + "m" + clean + "\x1b[0m"
	}
	return clean
}
