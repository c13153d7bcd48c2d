package resource

import (
	"context"
	"io"
	"path"
	"slices"
	"strings"

	"noxmesh/archive"
	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// An archive that is swapped becomes another one all at once: the whole of it is made
// beside its folder, put on the disk, and then the two change places.
//
//	new folder beside ─► sync ─► exchange ─► the old folder, now beside, is removed
//
// What is the same in both is one file with two names meanwhile, so that it takes no
// more room than what differs. It is done where another archive is declared than the
// one that was read back; what has only drifted is put back in place.

// markSwap finds out whether an item, which differs, is swapped: then all that differs
// of it is made anew.
func (p *pass) markSwap(it *item) {
	it.swap = it.res.Type == declaration.Archive && it.res.Said().Swap &&
		(p.record.Done[it.res.ID] != p.digestOf(it) || it.works[0].found.kind != keep.Directory)
	for _, w := range it.works {
		w.anew = it.swap
	}
}

// below is whether p lies in dir.
func below(dir, p string) bool { return strings.HasPrefix(p, dir+"/") }

// shares refuses an archive that is swapped and in whose folder something else is declared.
func (p *pass) shares() {
	for _, it := range p.items {
		if it.res.Type != declaration.Archive || !it.res.Said().Swap || it.settled() {
			continue
		}
		for _, other := range p.items {
			if below(it.res.Path, other.res.Path) && other.res.Type.IsFile() {
				it.fail(fault.New(fault.Conflict, "%q declares %q, which a swap of %q would take away", other.res.ID, other.res.Path, it.res.Path).
					With("declare it elsewhere, or the archive without \"swap\""))
				break
			}
		}
	}
}

// meanSwap refuses an archive that is swapped where something stands against taking its
// whole folder away. Where nothing does, all of it is being changed, also what is the
// same in both.
func (p *pass) meanSwap(it *item) {
	if !it.swap || it.settled() {
		return
	}
	if err := p.swappable(it); err != nil {
		it.broken("swap", it.res.Path, err)
	}
}

func (p *pass) swappable(it *item) error {
	top := it.works[0]
	real, err := p.realOf(it.res.Path)
	if err != nil {
		return err
	}
	if top.found.kind != 0 {
		e, had := p.record.Entries.Get(it.res.Path)
		if !had || e.Origin != keep.Made || e.Place() != real {
			return fault.New(fault.Conflict, "it was there before, and a swap would take it away").With("move it away, or declare the archive without \"swap\"")
		}
		if err := p.wholly(it.res.Path, top.found.kind); err != nil {
			return err
		}
	}
	for e := range p.record.Entries.All() {
		if (e.Phase == keep.Done || p.lightly[e.Thing.Path]) && (e.Place() == real || below(real, e.Place())) {
			e.Phase = keep.Changing
			p.record.Entries.Put(e)
			p.dirty = true
		}
	}
	return nil
}

// wholly refuses a folder that holds what the host did not make, or something that is
// mounted or may not be changed.
func (p *pass) wholly(at string, kind keep.Kind) error {
	if kind != keep.Directory {
		return nil
	}
	pl, err := reach(p.sys, at)
	if err != nil || pl.dir == nil {
		return err
	}
	t := tree{of: at, known: p.made(pl.real()), do: func(dir *system.Dir, name, p string) error {
		return shutBy(dir.Attributes(name), p)
	}}
	if err := t.walk(pl.dir, pl.name, at); err != nil {
		return err
	}
	if len(t.foreign) > 0 {
		return fault.New(fault.Conflict, "%q holds %s, which the host did not make, and a swap would take it away", at, few(t.foreign)).
			With("move it away, or declare the archive without \"swap\"")
	}
	return nil
}

// made is what the record says the host has made at a place and below it, by where it is.
func (p *pass) made(real string) map[string]keep.Entry {
	known := map[string]keep.Entry{}
	for e := range p.record.Entries.All() {
		if e.Origin == keep.Made && (e.Place() == real || below(real, e.Place())) {
			known[e.Place()] = e
			beside := place{nil, path.Base(e.Place())}.temp()
			known[path.Join(path.Dir(e.Place()), beside)] = keep.Entry{Thing: keep.Thing{Kind: keep.File}, Was: keep.Link}
		}
	}
	return known
}

// tree goes through a folder, the things in a directory before it, and does something to
// what the host has made of it. It enters no link and no mount.
type tree struct {
	of      string                // the path that the folder has, or had
	known   map[string]keep.Entry // by the path that a thing has in it
	do      func(dir *system.Dir, name, p string) error
	foreign []string // what is not the host's, by its path in the folder
}

// walk does it to what is at a name, which has, or had, this path.
func (t *tree) walk(dir *system.Dir, name, p string) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	kind := kindOf(info)
	if e, made := t.known[p]; !made || kind != e.Thing.Kind && kind != e.Was {
		t.foreign = append(t.foreign, strings.TrimPrefix(strings.TrimPrefix(p, t.of), "/"))
		return nil
	}
	if kind == keep.Directory && !dir.Attributes(name).Mount {
		before := len(t.foreign)
		if err := t.within(dir, name, p); err != nil {
			return err
		}
		if len(t.foreign) > before {
			return nil // it is not all the host's
		}
	}
	return t.do(dir, name, p)
}

func (t *tree) within(dir *system.Dir, name, p string) error {
	sub, err := dir.Enter(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	names, err := sub.Own()
	slices.Sort(names)
	for _, inner := range names {
		if err == nil {
			err = t.walk(sub, inner, p+"/"+inner)
		}
	}
	return err
}

// clear removes what waits beside a place, or was swapped out of it: all of it that the
// host has made. What else is in it stays, and is named.
func (p *pass) clear(pl place) error {
	info, err := pl.dir.Lstat(pl.temp())
	switch {
	case system.Absent(err):
		return nil
	case err != nil:
		return err
	case kindOf(info) != keep.Directory:
		return unstage(pl)
	}
	t := tree{of: pl.real(), known: p.made(pl.real()), do: func(dir *system.Dir, name, _ string) error {
		return effect.Do("resource.swap.clear", func() error { return dir.Remove(name) })
	}}
	p.wrote = true
	t.known[pl.real()] = keep.Entry{Thing: keep.Thing{Kind: keep.Directory}} // it has the host's own name
	if err := t.walk(pl.dir, pl.temp(), pl.real()); err != nil {
		return err
	}
	if len(t.foreign) > 0 {
		aside := path.Join(pl.dir.Path(), pl.temp())
		return fault.New(fault.Conflict, "%q, which was swapped out of %q, holds %s, which the host did not make", aside, pl.real(), few(t.foreign)).
			With("move that to where it belongs")
	}
	return nil
}

// sweep takes away what a killed host has left beside what it was changing.
func (p *pass) sweep(it *item) {
	e, had := p.record.Entries.Get(it.res.Path)
	if !had || e.Phase == keep.Done || p.lightly[it.res.Path] {
		return
	}
	pl, err := reach(p.sys, e.Place())
	if err == nil && pl.dir != nil && pl.real() == e.Place() {
		if info, e := pl.dir.Lstat(pl.temp()); e == nil && kindOf(info) == keep.Directory {
			err = p.clear(pl)
		}
	}
	if err != nil {
		it.broken("clear what was beside", it.res.Path, err)
	}
}

// stageSwap makes the whole of an archive beside its folder. The folder itself is shut
// until all is in it.
func (p *pass) stageSwap(ctx context.Context, it *item) error {
	pl, err := at(p.sys, it.res.Path)
	if err != nil {
		return err
	}
	top := it.works[0]
	top.staged = true
	p.paved, p.wrote = true, true
	if err := p.clear(pl); err != nil {
		return err
	}
	b := besides{p, it.res.Path, path.Join(pl.dir.Path(), pl.temp())}
	for _, w := range it.works {
		if err := b.make(w); err != nil {
			return err
		}
	}
	if err := b.fill(ctx, it); err != nil {
		return err
	}
	if pl, err = at(p.sys, it.res.Path); err != nil {
		return err
	}
	return effect.Do("resource.swap.open", func() error { return giveAt(pl.dir, pl.temp(), top.want) })
}

// besides is the folder that an archive is made in, beside the one that it comes in the
// place of.
type besides struct {
	*pass
	path, temp string
}

// dir is the directory in it that is to hold a thing. Nobody else can be in the folder;
// whoever may write to the one around it might have put another in its place.
func (b besides) dir(w *work) (*system.Dir, error) {
	want := parent(b.temp + strings.TrimPrefix(w.want.Path, b.path))
	dir, err := b.sys.Dir(want)
	if err == nil && dir.Path() != want {
		err = fault.New(fault.Conflict, "%q changed while it was being made", want)
	}
	return dir, err
}

func (b besides) name(w *work) string {
	return path.Base(b.temp + strings.TrimPrefix(w.want.Path, b.path))
}

// make makes all but the files that differ.
func (b besides) make(w *work) error {
	b.sys.Trim()
	dir, err := b.dir(w)
	if err != nil {
		return err
	}
	name := b.name(w)
	switch {
	case w.want.Kind == keep.Directory:
		return effect.Do("resource.swap.make", func() error {
			if err := dir.Mkdir(name); err != nil || w.entry == nil {
				return err // the folder itself is shut until all is in it
			}
			return giveAt(dir, name, w.want)
		})
	case w.want.Kind == keep.Link:
		return effect.Do("resource.swap.lay", func() error { return layLink(dir, name, w.want) })
	case w.found.same:
		return b.link(w, dir)
	}
	return nil
}

func giveAt(dir *system.Dir, name string, want keep.Thing) error {
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	return dir.Give(name, info, giving(want))
}

// link gives a file that is the same in both its name in the new folder; where the file
// system does not, it is written like the others.
func (b besides) link(w *work, to *system.Dir) error {
	from, err := b.sys.Dir(parent(w.want.Path))
	if err != nil {
		return err
	}
	err = effect.Do("resource.swap.link", func() error { return from.Link(path.Base(w.want.Path), w.found.info, to, b.name(w)) })
	if system.OneNameOnly(err) {
		w.found.same = false
		return nil
	}
	return err
}

// fill writes the files that differ. Only the frames that hold them are fetched.
func (b besides) fill(ctx context.Context, it *item) error {
	wanted := it.missing()
	if len(wanted) == 0 {
		return nil
	}
	if it.has().pack.blob == nil { // all was there, or has only another owner
		if err := b.openBlob(ctx, it); err != nil {
			return err
		}
	}
	want := func(e archive.Entry) bool { return wanted[e.Path] != nil }
	return it.has().pack.blob.Extract(ctx, want, func(e archive.Entry, body io.Reader) error {
		w := wanted[e.Path]
		b.sys.Trim()
		dir, err := b.dir(w)
		if err == nil {
			err = effect.Do("resource.swap.fill", func() error {
				return writeFile(dir, b.name(w), w.want, &b.eyes[0], func(to io.Writer) error {
					_, err := io.Copy(to, body)
					return err
				})
			})
		}
		if err != nil {
			return fault.Add(err, "entry %q", e.Path)
		}
		return nil
	})
}

// commitSwap lets the two change places, and removes the one that is beside then.
func (p *pass) commitSwap(it *item) error {
	pl, err := at(p.sys, it.res.Path)
	if err != nil {
		return err
	}
	top := it.works[0]
	if top.found.kind != 0 { // once more: somebody may have come since
		if err := p.wholly(it.res.Path, top.found.kind); err != nil {
			return err
		}
		if pl, err = at(p.sys, it.res.Path); err != nil {
			return err
		}
	}
	err = effect.Do("resource.swap.commit", func() error {
		if top.found.kind == 0 {
			return pl.dir.Rename(pl.temp(), pl.name)
		}
		return pl.dir.Exchange(pl.temp(), pl.name)
	})
	if err != nil {
		return err
	}
	for _, w := range it.works {
		w.found.same, w.wrote = false, true // all is read back
	}
	top.staged, top.placed = false, true
	p.sys.Forget()
	if pl, err = at(p.sys, it.res.Path); err == nil {
		err = p.clear(pl)
	}
	if err != nil {
		it.broken("clear what was beside", it.res.Path, err)
	}
	return nil
}
