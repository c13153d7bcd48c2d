package archive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"noxmesh/internal/fault"
)

// checkText refuses what no name may hold: bytes that are not UTF-8 have no
// place in a canonical index, and a control character in a name is an attack on
// whoever lists it.
func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fault.New(fault.Invalid, "the name is not valid UTF-8")
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fault.New(fault.Invalid, "the name holds the control character %U", r)
		}
	}
	return nil
}

// fold is s with upper and lower case made equal, by Unicode's simple folding,
// and letters taken apart from their marks, so that the order in which somebody
// composed them is lost.
func fold(s string) string {
	return norm.NFD.String(strings.Map(foldRune, norm.NFD.String(s)))
}

// foldRune is the least rune among those that differ from r in case alone.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf && (r < 'A' || r > 'z') {
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
