package resource

import (
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// shut is what stands against changing a thing that differs, beside modes, before
// anything of it is tried: in a folder that is append-only a file can be written, and
// then neither be given its name nor be taken away.
func (p *pass) shut(w *work) error {
	for dir := parent(w.want.Path); dir != "/"; dir = parent(dir) {
		if _, coming := p.coming[dir]; coming {
			return nil // perhaps in the place of a link, which leads to another folder now
		}
	}
	pl, err := reach(p.sys, w.want.Path)
	if err != nil || pl.dir == nil {
		return nil //nolint:nilerr // what is missing on the way is made, or says why not
	}
	inPlace := w.found.kind == w.want.Kind && !w.toStage()
	if !inPlace {
		if err := shutBy(p.folder(pl), pl.dir.Path()); err != nil {
			return err
		}
	}
	if w.found.kind == 0 {
		return nil
	}
	a := pl.dir.Attributes(pl.name)
	a.Mount = a.Mount && !inPlace
	return shutBy(a, w.want.Path)
}

func shutBy(a system.Attributes, p string) error {
	what, todo := a.Says(p)
	if what == "" {
		return nil
	}
	return fault.New(fault.Conflict, "%s", what).With("%s", todo)
}

// folder is the attributes of the directory that a place is in, each asked for once.
func (p *pass) folder(pl place) system.Attributes {
	at := pl.dir.Path()
	a, known := p.folders[at]
	if !known {
		a = pl.dir.Attributes("")
		a.Mount = false // a place in it is as good as any
		if p.folders == nil {
			p.folders = map[string]system.Attributes{}
		}
		p.folders[at] = a
	}
	return a
}
