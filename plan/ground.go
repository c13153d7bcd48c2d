package plan

import (
	"fmt"
	"strings"

	"noxmesh/declaration"
)

// ground is who has what on the node so far.
type ground struct {
	claims map[string]string // by whom
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
	for _, r := range w.resources {
		if why := g.conflictAt(r); why != "" {
			return why
		}
	}
	return ""
}

// conflictAt compares one path with all others. Nothing but a directory holds
// what another module puts there: an archive owns whatever is below its path,
// and below a file or a link there is nothing to own.
func (g ground) conflictAt(r declaration.Resource) string {
	if s, taken := g.paths[r.Path]; taken {
		return fmt.Sprintf("it claims %s, which %q has", r.Path, s.module)
	}
	for dir := parent(r.Path); dir != "/"; dir = parent(dir) {
		if s, taken := g.paths[dir]; taken && s.kind != declaration.Directory {
			return fmt.Sprintf("it claims %s, which lies in %s %s, which %q has", r.Path, article(s.kind), s.path, s.module)
		}
	}
	if s, taken := g.below[r.Path]; taken && r.Type != declaration.Directory {
		return fmt.Sprintf("it claims %s %s, in which lies %s, which %q has", article(r.Type), r.Path, s.path, s.module)
	}
	return ""
}

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
	for _, r := range w.resources {
		s := spot{r.Path, w.module, r.Type}
		g.paths[r.Path] = s
		for dir := parent(r.Path); dir != "/"; dir = parent(dir) {
			if _, taken := g.below[dir]; !taken {
				g.below[dir] = s
			}
		}
	}
}

// after says for each resource which earlier one it needs: the nearest in whose
// path it lies. Everything else is independent, and goes on when another fails.
func after(resources []declaration.Resource) {
	byPath := map[string]string{}
	for i := range resources {
		r := &resources[i]
		for dir := parent(r.Path); dir != "/"; dir = parent(dir) {
			if id, earlier := byPath[dir]; earlier {
				r.After = []string{id}
				break
			}
		}
		byPath[r.Path] = r.ID
	}
}

func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/"
	}
	return path[:i]
}
