package archive

// What can be unlike of a path in two archives.
const (
	Added       = "only in the second"
	Removed     = "only in the first"
	KindChanged = "another kind"
	BytesDiffer = "other bytes"
	Executable  = "executable in one of them"
	Retargeted  = "a link to elsewhere"
)

// Change is one path that is not alike in two archives.
type Change struct {
	Path string
	What string
}

// Changes is every path in which two archives differ, in the order of their
// paths. Of two indexes with one digest there is none.
func Changes(first, second Index) (out []Change) {
	a, b := first.Entries, second.Entries
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Path < b[0].Path:
			out, a = append(out, Change{a[0].Path, Removed}), a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			out, b = append(out, Change{b[0].Path, Added}), b[1:]
		default:
			if what := unlike(a[0], b[0]); what != "" {
				out = append(out, Change{a[0].Path, what})
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}

// unlike is what is unlike of two entries at one path, or empty.
func unlike(a, b Entry) string {
	switch {
	case a.Kind != b.Kind:
		return KindChanged
	case a.Digest != b.Digest || a.Size != b.Size:
		return BytesDiffer
	case a.Target != b.Target:
		return Retargeted
	case a.Executable != b.Executable:
		return Executable
	}
	return ""
}
