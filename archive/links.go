package archive

import (
	"path"
	"strings"

	"noxmesh/document"
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
		return fault.New(fault.Invalid, "the target %q is absolute: want one relative to the link", document.Short(target)).
			With("make the link relative, so that it points into the folder wherever it lies")
	}
	return checkText(target)
}

// checkLinks refuses a link that leads out of the tree by whatever way: alone,
// or through other links of the archive. A link to nothing is allowed.
func (idx Index) checkLinks() error {
	f := follower{targets: map[string]string{}, ends: map[string]ending{}}
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
			return fault.Add(err, "link %q to %q", document.Short(e.Path), document.Short(e.Target))
		}
	}
	return nil
}

// follower resolves links as the kernel would, on the index alone.
type follower struct {
	targets map[string]string // by the link's path
	ends    map[string]ending // of the links followed so far
	steps   int
}

// ending is where a link leads.
type ending struct {
	at   string // "." for the folder itself; empty while the link is being followed
	hops int    // links on the way, itself included
}

// end is where the link leads, reached through depth others.
func (f *follower) end(link string, depth int) (ending, error) {
	if e, ok := f.ends[link]; ok {
		if e.at == "" {
			return e, fault.New(fault.Invalid, "the link leads back to itself")
		}
		return e, nil
	}
	if depth >= maxHops {
		return ending{}, tooManyHops()
	}
	f.ends[link] = ending{}
	e := ending{at: path.Dir(link), hops: 1}
	for name := range strings.SplitSeq(f.targets[link], "/") {
		next, err := f.step(e.at, name, depth)
		if err != nil {
			return e, err
		}
		e.at = next.at
		if e.hops += next.hops; e.hops > maxHops {
			return e, tooManyHops()
		}
	}
	f.ends[link] = e
	return e, nil
}

func tooManyHops() error {
	return fault.New(fault.Invalid, "the link leads through more than %d links", maxHops)
}

// step is where one element of a target leads from a directory.
func (f *follower) step(at, name string, depth int) (ending, error) {
	if f.steps++; f.steps > maxSteps {
		return ending{}, fault.New(fault.Invalid, "the links of the archive are too long to follow")
	}
	switch name {
	case "", ".":
		return ending{at: at}, nil
	case "..":
		if at == "." {
			return ending{}, fault.New(fault.Invalid, "the link leads out of the folder").
				With("a link in an archive points into the same archive")
		}
		return ending{at: path.Dir(at)}, nil
	}
	next := join(at, name)
	if len(next) > MaxPath {
		return ending{}, fault.New(fault.Invalid, "the link leads to a path of more than %d bytes", MaxPath)
	}
	if _, ok := f.targets[next]; ok {
		return f.end(next, depth+1)
	}
	return ending{at: next}, nil
}
