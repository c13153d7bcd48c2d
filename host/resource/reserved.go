package resource

import (
	"path"
	"strings"

	"noxmesh/declaration"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// Refuse is why this host will not have the declaration at all: a resource that
// aims at what is reserved, also through links that stand on the machine, or
// two with one path.
func Refuse(sys *system.Root, body declaration.Body) error {
	sys.Forget()
	defer sys.Forget()
	seen := make(map[string]string, len(body.Resources))
	found := ways{sys: sys, known: map[string]string{}}
	for i := range body.Resources {
		r := &body.Resources[i]
		subject := r.Subject()
		if r.Type.IsFile() || r.Path != "" {
			if err := found.refuse(r); err != nil {
				return err
			}
		}
		if !r.Type.IsFile() && (subject == "" || len(r.Traits.Flaws(r.Type)) > 0) {
			return fault.New(fault.Denied, "resource %q is not one of type %q", r.ID, string(r.Type))
		}
		if err := twice(seen, r, subject, r.Path); err != nil {
			return err
		}
	}
	return nil
}

// twice is that one of what a resource is about another one is about as well.
func twice(seen map[string]string, r *declaration.Resource, about ...string) error {
	for _, what := range about {
		if other, ok := seen[what]; ok && what != "" && other != r.ID {
			return fault.New(fault.Denied, "resource %q: its path %q is that of %q as well", r.ID, what, other)
		}
		seen[what] = r.ID
	}
	return nil
}

func (f ways) refuse(r *declaration.Resource) error {
	if !path.IsAbs(r.Path) || path.Clean(r.Path) != r.Path || strings.ContainsRune(r.Path, 0) {
		return fault.New(fault.Denied, "resource %q: %q is not an absolute, clean path", r.ID, r.Path)
	}
	if why := declaration.ReservedPath(r.Path); why != "" {
		return fault.New(fault.Denied, "resource %q: %q is %s", r.ID, r.Path, why)
	}
	if r.Type != declaration.Directory && r.Type != declaration.Archive && declaration.CoversReserved(r.Path) {
		return fault.New(fault.Denied, "resource %q: what is the host's own lies below %q", r.ID, r.Path)
	}
	real, err := f.real(r.Path)
	if err != nil {
		return fault.Wrap(fault.Denied, system.Cause(err), "resource %q", r.ID)
	}
	if r.Type == declaration.Mount && declaration.CoversReserved(real) {
		return fault.New(fault.Denied, "resource %q: what is the host's own lies below %q", r.ID, real)
	}
	if why := declaration.ReservedPath(real); why != "" {
		return fault.New(fault.Denied, "resource %q: %q leads to %q, which is %s", r.ID, r.Path, real, why)
	}
	return nil
}

// ways is where directories truly are, each looked up once.
type ways struct {
	sys   *system.Root
	known map[string]string
}

// real is p without the links that stand on the way to it, as far as the way exists.
func (f ways) real(p string) (string, error) {
	dir := parent(p)
	way, ok := f.known[dir]
	if !ok {
		var err error
		if way, err = f.way(dir); err != nil {
			return "", err
		}
		f.known[dir] = way
	}
	return path.Join(way, path.Base(p)), nil
}

// way is where a directory is, or would be where there is none yet.
func (f ways) way(dir string) (string, error) {
	d, err := f.sys.Dir(dir)
	switch {
	case err == nil:
		return d.Path(), nil
	case fault.KindOf(err) == fault.Denied, dir == "/":
		return "", err
	}
	return f.real(dir)
}
