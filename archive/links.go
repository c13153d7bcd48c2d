package archive

import (
	"path"
	"strings"

	"noxmesh/internal/fault"
)

// How far links are followed to see where they end.
const (
	maxHops  = 40      // as the kernel does
	maxSteps = 1 << 24 // elements of all targets together, so that checking is bounded too
)

func checkTarget(target string) error {
	switch {
	case target == "":
		return fault.New(fault.Invalid, "a link without a target")
	case len(target) > MaxPath:
		return fault.New(fault.Invalid, "the target has %d bytes, at most %d are taken", len(target), MaxPath)
	case target[0] == '/':
		return fault.New(fault.Invalid, "the target %q is absolute: want one relative to the link", target).
			With("make the link relative, so that it points into the folder wherever it lies")
	}
	return checkText(target)
}

// checkLinks refuses a link that leads out of the tree by whatever way: alone,
// or through other links of the archive. A link to nothing is allowed.
func (idx Index) checkLinks() error {
	f := follower{targets: map[string]string{}, ends: map[string]string{}}
	for i := range idx.Entries {
		if e := &idx.Entries[i]; e.Kind == Link {
			f.targets[e.Path] = e.Target
		}
	}
	for i := range idx.Entries {
		e := &idx.Entries[i]
		if e.Kind != Link {
			continue
		}
		if _, err := f.end(e.Path, 0); err != nil {
			return fault.Add(err, "link %q to %q", e.Path, e.Target)
		}
	}
	return nil
}

// follower resolves links as the kernel would, on the index alone.
type follower struct {
	targets map[string]string // by the link's path
	ends    map[string]string // links followed so far; "" while one is being followed
	steps   int
}

// end is the path at which the link stops, "." for the folder itself.
func (f *follower) end(link string, hops int) (string, error) {
	if at, ok := f.ends[link]; ok {
		if at == "" {
			return "", fault.New(fault.Invalid, "the link leads back to itself")
		}
		return at, nil
	}
	if hops > maxHops {
		return "", fault.New(fault.Invalid, "more than %d links in a row", maxHops)
	}
	f.ends[link] = ""
	at := path.Dir(link)
	for name := range strings.SplitSeq(f.targets[link], "/") {
		next, err := f.step(at, name, hops)
		if err != nil {
			return "", err
		}
		at = next
	}
	f.ends[link] = at
	return at, nil
}

// step is where one element of a target leads from a directory.
func (f *follower) step(at, name string, hops int) (string, error) {
	if f.steps++; f.steps > maxSteps {
		return "", fault.New(fault.Invalid, "the links of the archive are too long to follow")
	}
	switch name {
	case "", ".":
		return at, nil
	case "..":
		if at == "." {
			return "", fault.New(fault.Invalid, "the link leads out of the folder").
				With("a link in an archive points into the same archive")
		}
		return path.Dir(at), nil
	}
	next := name
	if at != "." {
		next = at + "/" + name
	}
	if len(next) > MaxPath {
		return "", fault.New(fault.Invalid, "the link leads to a path of more than %d bytes", MaxPath)
	}
	if _, ok := f.targets[next]; ok {
		return f.end(next, hops+1)
	}
	return next, nil
}
