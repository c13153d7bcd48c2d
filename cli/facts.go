package cli

import (
	"fmt"
	"strings"

	"noxmesh/internal/term"
	"noxmesh/report"
)

// showFacts is what a node says of itself; nothing where it has not.
func (s *shell) showFacts(f *report.Facts) {
	if f == nil {
		return
	}
	if f.Machine == nil {
		s.words("  ", f.OS+" "+f.Arch)
	} else {
		s.showMachine(*f.Machine, f.Arch)
	}
	if len(f.Capabilities) > 0 {
		s.words("  ", "can "+strings.Join(f.Capabilities, ", "))
	}
}

func (s *shell) showMachine(m report.Machine, arch string) {
	var words []string
	for _, w := range []struct{ before, text string }{{"", m.System}, {"kernel ", m.Kernel}, {"", arch}, {"virtual: ", m.Virtual}} {
		if w.text != "" {
			words = append(words, w.before+w.text)
		}
	}
	s.words("  ", strings.Join(words, ", "))
	has := []string{"memory " + term.Bytes(m.Memory)}
	for _, d := range m.Disks {
		has = append(has, fmt.Sprintf("%s %s on %s", term.Bytes(d.Size), d.Type, d.Mount))
	}
	s.words("  ", strings.Join(has, ", "))
	if len(m.Addresses) > 0 {
		s.words("  ", "addresses "+strings.Join(m.Addresses, ", "))
	}
}
