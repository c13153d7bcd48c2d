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
	seen := map[string]string{}
	for _, r := range body.Resources {
		if err := refusePath(sys, r); err != nil {
			return err
		}
		if other, ok := seen[r.Path]; ok {
			return fault.New(fault.Denied, "resource %q: its path %q is that of %q as well", r.ID, r.Path, other)
		}
		seen[r.Path] = r.ID
	}
	return nil
}

func refusePath(sys *system.Root, r declaration.Resource) error {
	if !path.IsAbs(r.Path) || path.Clean(r.Path) != r.Path || strings.ContainsRune(r.Path, 0) {
		return fault.New(fault.Denied, "resource %q: %q is not an absolute, clean path", r.ID, r.Path)
	}
	if why := declaration.ReservedPath(r.Path); why != "" {
		return fault.New(fault.Denied, "resource %q: %q is %s", r.ID, r.Path, why)
	}
	if r.Type != declaration.Directory && r.Type != declaration.Archive && declaration.CoversReserved(r.Path) {
		return fault.New(fault.Denied, "resource %q: what is the host's own lies below %q", r.ID, r.Path)
	}
	real, err := realPath(sys, r.Path)
	if err != nil {
		return fault.Wrap(fault.Denied, system.Cause(err), "resource %q", r.ID)
	}
	if why := declaration.ReservedPath(real); why != "" {
		return fault.New(fault.Denied, "resource %q: %q leads to %q, which is %s", r.ID, r.Path, real, why)
	}
	return nil
}

// realPath is p without the links that stand on the way to it, as far as the way exists.
func realPath(sys *system.Root, p string) (string, error) {
	rest := path.Base(p)
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		d, err := sys.Dir(dir)
		switch {
		case err == nil:
			return path.Join(d.Path(), rest), nil
		case fault.KindOf(err) == fault.Denied:
			return "", err
		case dir == "/":
			return "", err
		}
		rest = path.Join(path.Base(dir), rest)
	}
}
