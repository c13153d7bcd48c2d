package javascript

import (
	"slices"
	"strings"
)

// alike is how many patterns may begin alike; more are not looked at.
const alike = 100

// pattern is a name, or one with a * in it, and what it leads to.
type pattern struct {
	prefix, suffix string
	target         value
}

// patterns finds the one that fits a name best: itself, or the longest before its *.
type patterns struct {
	exact   map[string]value
	stars   map[string][]pattern
	lengths []int // of what stands before a *, the longest first
}

func newPatterns(fields []field) *patterns {
	p := &patterns{exact: map[string]value{}, stars: map[string][]pattern{}}
	for _, f := range fields {
		prefix, suffix, starred := strings.Cut(f.name, "*")
		switch {
		case !starred:
			p.exact[f.name] = f.value
		case len(p.stars[prefix]) < alike:
			p.stars[prefix] = append(p.stars[prefix], pattern{prefix, suffix, f.value})
			p.lengths = append(p.lengths, len(prefix))
		}
	}
	slices.Sort(p.lengths)
	p.lengths = slices.Compact(p.lengths)
	slices.Reverse(p.lengths)
	return p
}

// match is what a name leads to, and whether every name would have.
func (p *patterns) match(name string) (target value, any, found bool) {
	if v, is := p.exact[name]; is {
		return v, false, true
	}
	for _, length := range p.lengths {
		if length > len(name) {
			continue
		}
		rest := name[length:]
		for _, each := range p.stars[name[:length]] {
			if strings.HasSuffix(rest, each.suffix) {
				return replaced(each.target, strings.TrimSuffix(rest, each.suffix)), each.prefix == "" && each.suffix == "", true
			}
		}
	}
	return value{}, false, false
}

// replaced is v with its * replaced, at any depth.
func replaced(v value, star string) value {
	out := value{line: v.line, text: strings.ReplaceAll(v.text, "*", star), isText: v.isText}
	for _, each := range v.list {
		out.list = append(out.list, replaced(each, star))
	}
	for _, f := range v.fields {
		out.fields = append(out.fields, field{f.name, replaced(f.value, star)})
	}
	return out
}
