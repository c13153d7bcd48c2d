package resource

import (
	"fmt"
	"strings"
)

const (
	diffContext = 3         // lines that are the same, around those that are not
	diffTable   = 1_000_000 // what of lines by lines is compared; where it is more, all between the ends is another
)

// edit is a line: of both texts (' '), of the first ('-') or of the second ('+').
type edit struct {
	kind byte
	line string
}

// unified is how one text becomes another, in the usual form; empty where they are the same.
func unified(from, is, to, becomes string) string {
	edits := edits(strings.SplitAfter(is, "\n"), strings.SplitAfter(becomes, "\n"))
	var b strings.Builder
	was, now := 1, 1
	for i := 0; i < len(edits); {
		if edits[i].kind == ' ' {
			i, was, now = i+1, was+1, now+1
			continue
		}
		begin := i
		for begin > 0 && i-begin < diffContext && edits[begin-1].kind == ' ' {
			begin--
		}
		end := hunkEnd(edits, i)
		if b.Len() == 0 {
			b.WriteString("--- " + from + "\n+++ " + to + "\n")
		}
		was, now = hunk(&b, edits[begin:end], was-(i-begin), now-(i-begin))
		i = end
	}
	return b.String()
}

// hunkEnd is where the hunk ends that has its first difference at i.
func hunkEnd(edits []edit, i int) int {
	same := 0
	for ; i < len(edits) && same <= 2*diffContext; i++ {
		if same++; edits[i].kind != ' ' {
			same = 0
		}
	}
	return i - max(0, same-diffContext)
}

// hunk writes one, and says at which lines what follows begins.
func hunk(b *strings.Builder, edits []edit, was, now int) (int, int) {
	var old, fresh int
	for _, e := range edits {
		if e.kind != '+' {
			old++
		}
		if e.kind != '-' {
			fresh++
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", span(was, old), span(now, fresh))
	for _, e := range edits {
		b.WriteString(string(e.kind) + e.line)
		if !strings.HasSuffix(e.line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return was + old, now + fresh
}

func span(at, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", at-1)
	case 1:
		return fmt.Sprint(at)
	}
	return fmt.Sprintf("%d,%d", at, n)
}

// edits is how some lines become others. The last of each is what comes after its
// last line break, which may be nothing.
func edits(a, b []string) []edit {
	a, b = whole(a), whole(b)
	var head, tail int
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	out := make([]edit, 0, len(a)+len(b))
	for _, line := range a[:head] {
		out = append(out, edit{' ', line})
	}
	out = between(out, a[head:len(a)-tail], b[head:len(b)-tail])
	for _, line := range a[len(a)-tail:] {
		out = append(out, edit{' ', line})
	}
	return out
}

func whole(lines []string) []string {
	if n := len(lines); lines[n-1] == "" {
		return lines[:n-1]
	}
	return lines
}

// between adds the edits of lines of which as many as possible stay.
func between(out []edit, a, b []string) []edit {
	i, j := 0, 0
	if len(a)*len(b) <= diffTable {
		stay := common(a, b)
		for i < len(a) && j < len(b) {
			switch {
			case a[i] == b[j]:
				out = append(out, edit{' ', a[i]})
				i, j = i+1, j+1
			case stay[i+1][j] >= stay[i][j+1]:
				out = append(out, edit{'-', a[i]})
				i++
			default:
				out = append(out, edit{'+', b[j]})
				j++
			}
		}
	}
	for ; i < len(a); i++ {
		out = append(out, edit{'-', a[i]})
	}
	for ; j < len(b); j++ {
		out = append(out, edit{'+', b[j]})
	}
	return out
}

// common is how many lines from each pair of places on can stay.
func common(a, b []string) [][]uint32 {
	stay := make([][]uint32, len(a)+1)
	for i := range stay {
		stay[i] = make([]uint32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				stay[i][j] = stay[i+1][j+1] + 1
			} else {
				stay[i][j] = max(stay[i+1][j], stay[i][j+1])
			}
		}
	}
	return stay
}
