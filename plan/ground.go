package plan

import (
	"fmt"
	"slices"
	"strings"

	"noxmesh/declaration"
)

// ground is who has what on the node so far.
type ground struct {
	claims map[string]string // by whom; what is at no path as well, as "user board"
	paths  map[string]spot
	below  map[string]spot // by folder: the first thing that was put anywhere below it
}

// spot is one path and who puts what there.
type spot struct {
	path   string
	module string
	kind   declaration.Type
}

func newGround() ground {
	return ground{claims: map[string]string{}, paths: map[string]spot{}, below: map[string]spot{}}
}

// conflict is what the module claims that another one has; empty where nothing is.
func (g ground) conflict(w *worked) string {
	for _, claim := range w.claims {
		if by, taken := g.claims[claim]; taken {
			return fmt.Sprintf("it claims %s, which %q has", claim, by)
		}
	}
	for i := range w.resources {
		r := &w.resources[i]
		if by, taken := g.claims[r.Subject()]; taken && !r.Type.IsFile() {
			return fmt.Sprintf("it claims %s, which %q has", r.Subject(), by)
		}
		if r.Path == "" {
			continue
		}
		if why := g.conflictAt(r); why != "" {
			return why
		}
	}
	return ""
}

// conflictAt compares one path with all others. Nothing but a directory and what is
// mounted holds what another module puts there: an archive owns whatever is below
// its path, and below a file or a link there is nothing to own.
func (g ground) conflictAt(r *declaration.Resource) string {
	if s, taken := g.paths[r.Path]; taken {
		return fmt.Sprintf("it claims %s, which %q has", r.Path, s.module)
	}
	for dir := parent(r.Path); dir != "/"; dir = parent(dir) {
		if s, taken := g.paths[dir]; taken && !isOpen(s.kind) {
			return fmt.Sprintf("it claims %s, which lies in %s %s, which %q has", r.Path, article(s.kind), s.path, s.module)
		}
	}
	if s, taken := g.below[r.Path]; taken && !isOpen(r.Type) {
		return fmt.Sprintf("it claims %s %s, in which lies %s, which %q has", article(r.Type), r.Path, s.path, s.module)
	}
	return ""
}

// isOpen reports whether other modules may put things below the path of a resource of
// this type.
func isOpen(t declaration.Type) bool { return t == declaration.Directory || t == declaration.Mount }

func article(t declaration.Type) string {
	if t == declaration.Archive {
		return "an archive"
	}
	return "a " + string(t)
}

// take gives the module everything that it claims.
func (g ground) take(w *worked) {
	for _, claim := range w.claims {
		g.claims[claim] = w.module
	}
	for i := range w.resources {
		r := &w.resources[i]
		if !r.Type.IsFile() {
			g.claims[r.Subject()] = w.module
		}
		if r.Path == "" {
			continue
		}
		s := spot{r.Path, w.module, r.Type}
		g.paths[r.Path] = s
		for dir := parent(r.Path); dir != "/"; dir = parent(dir) {
			if _, taken := g.below[dir]; !taken {
				g.below[dir] = s
			}
		}
	}
}

// after says for each resource which earlier ones it needs, beside those that its
// module names: the nearest in whose path it lies, and what it names itself.
// Everything else is independent, and goes on when another fails.
func after(resources []declaration.Resource) {
	earlier := map[string]string{} // by what a resource is about
	for i := range resources {
		r := &resources[i]
		for _, subject := range needs(r, earlier) {
			if id, there := earlier[subject]; there {
				come(r, id)
			}
		}
		if !r.Type.IsFile() || unmade(r, earlier) {
			standsOn(r, resources[:i])
		}
		earlier[r.Subject()] = r.ID
		if r.Path != "" {
			earlier[r.Path] = r.ID
		}
	}
}

// come says that the resource comes after the one with this id.
func come(r *declaration.Resource, id string) {
	if !slices.Contains(r.After, id) && !slices.Contains(r.RestartsOn(), id) {
		r.After = append(r.After, id)
	}
}

// unmade reports whether what is at a path belongs to somebody whom no resource
// before it is about: a package may bring them.
func unmade(r *declaration.Resource, earlier map[string]string) bool {
	return slices.ContainsFunc(r.Owners(), func(subject string) bool { return earlier[subject] == "" })
}

// standsOn says that what is no file comes after what it may be made with: a service
// after the files of its unit, and after whatever is no file and of its own module
// (it may run as that user); a package after those of its own module that say where
// packages come from, and after its users and groups; and these after its packages,
// which may bring groups, as does a file that belongs to somebody whom nothing else makes.
// A container comes after what its module puts where it sees it, and after the packages,
// users and groups of its own module.
func standsOn(r *declaration.Resource, earlier []declaration.Resource) {
	module, _, _ := strings.Cut(r.ID, "/")
	names := unitsOf(r)
	for i := range earlier {
		e := &earlier[i]
		own := strings.HasPrefix(e.ID, module+"/")
		var on bool
		switch {
		case r.Type == declaration.Service && e.Type.IsFile():
			on = isUnitFile(e.Path, names)
		case r.Type == declaration.Container && e.Type.IsFile():
			on = own && isMounted(e.Path, r.Mounts())
		case r.Type == declaration.Container:
			on = own && e.Type != declaration.Service && e.Type != declaration.Container
		case r.Type == declaration.Service:
			on = own && e.Type != declaration.Service
		case r.Type == declaration.Package:
			on = own && (isSource(e.Path) || e.Type == declaration.User || e.Type == declaration.Group)
		default:
			on = own && e.Type == declaration.Package
		}
		if on {
			come(r, e.ID)
		}
	}
}

// isMounted reports whether a container sees this path of the machine.
func isMounted(path string, mounts []string) bool {
	return slices.ContainsFunc(mounts, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") })
}

// isSource reports whether the package manager reads this file to know where packages come from.
func isSource(path string) bool {
	return slices.ContainsFunc([]string{"/etc/apt/", "/usr/share/keyrings/", "/etc/dnf/", "/etc/yum.repos.d/", "/etc/pki/rpm-gpg/"}, func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// unitsOf is the names of the files that a unit may be made of.
func unitsOf(r *declaration.Resource) []string {
	template, instance, _ := strings.Cut(r.Unit, "@")
	names := []string{r.Unit}
	if i := strings.LastIndexByte(instance, '.'); i >= 0 {
		names = append(names, template+"@"+instance[i:])
	}
	return names
}

// isUnitFile reports whether systemd reads a file for a unit with one of these names.
func isUnitFile(path string, names []string) bool {
	_, below, ok := strings.Cut(path, "/systemd/system/")
	return ok && slices.ContainsFunc(names, func(name string) bool { return below == name || strings.HasPrefix(below, name+".d/") })
}

// needs is what a resource stands on, as far as it says so by what it is.
func needs(r *declaration.Resource, earlier map[string]string) []string {
	if r.Path != "" {
		subjects := r.Owners()
		for dir := parent(r.Path); dir != "/"; dir = parent(dir) {
			if _, there := earlier[dir]; there {
				return append(subjects, dir)
			}
		}
		return subjects
	}
	var subjects []string
	t := r.Said()
	for _, name := range append([]string{t.Group}, t.Groups...) {
		subjects = append(subjects, string(declaration.Group)+" "+name)
	}
	for _, dir := range t.Mounts() {
		for ; dir != "/"; dir = parent(dir) {
			if _, there := earlier[dir]; there {
				subjects = append(subjects, dir)
				break
			}
		}
	}
	return subjects
}

func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/"
	}
	return path[:i]
}
