package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Compare is the order of places: by file, then by line.
func (p Place) Compare(other Place) int {
	return cmp.Or(strings.Compare(p.File, other.File), cmp.Compare(p.Line, other.Line))
}

// String is the place as compilers write it: file:line.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// Sorted is f in its one order, each thing once: of the places of one import the
// first that is not a test's, or else the first. What f owns is not among its imports.
func (f Found) Sorted(owners func(string) []string) Found {
	owned := map[string]bool{}
	for _, o := range f.Owns {
		owned[o.Name] = true
	}
	own := func(i Import) bool {
		return i.Path == "" && slices.ContainsFunc(owners(i.Name), func(name string) bool { return owned[name] })
	}
	out := Found{Owns: slices.Clone(f.Owns), Imports: slices.DeleteFunc(slices.Clone(f.Imports), own), Faults: slices.Clone(f.Faults)}
	slices.SortFunc(out.Owns, func(a, b Own) int { return cmp.Or(strings.Compare(a.Name, b.Name), a.At.Compare(b.At)) })
	out.Owns = slices.CompactFunc(out.Owns, func(a, b Own) bool { return a.Name == b.Name })
	slices.SortFunc(out.Imports, func(a, b Import) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path), compareTest(a.Test, b.Test), a.At.Compare(b.At))
	})
	out.Imports = slices.CompactFunc(out.Imports, func(a, b Import) bool { return a.Name == b.Name && a.Path == b.Path })
	slices.SortFunc(out.Faults, func(a, b Fault) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Why, b.Why)) })
	out.Faults = slices.Compact(out.Faults)
	return out
}

// compareTest puts what is not a test's first.
func compareTest(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Prefixes is name and each beginning of it that ends before a separator, the longest first.
func Prefixes(name, separator string) []string {
	all := make([]string, 1, 1+strings.Count(name, separator))
	all[0] = name
	for {
		i := strings.LastIndex(name, separator)
		if i <= 0 {
			return all
		}
		name = name[:i]
		all = append(all, name)
	}
}
