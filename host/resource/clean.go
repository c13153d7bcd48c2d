package resource

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/planted"
	"noxmesh/report"
)

// cleaning is the removal of what is no longer declared.
type cleaning struct {
	*pass
	needed  map[string]bool // directories that something wanted, or not yet removed, lies in
	gone    []string        // paths to read back as absent
	ofUnits []string        // ids of those whose file was one of a unit of systemd
	reports map[string]*report.Resource
	devices map[uint64]string
}

// clean removes what the host made and what is no longer declared, releases what
// it took over, and records it when it was read back. What belongs to a resource
// that is not right yet stays until it is.
func (p *pass) clean(ctx context.Context) {
	c := cleaning{
		pass: p, needed: map[string]bool{},
		reports: map[string]*report.Resource{}, devices: map[uint64]string{},
	}
	for _, it := range p.items {
		for at := range it.paths {
			c.need(at)
			if e, had := p.record.Entries.Get(at); had {
				c.need(e.Place()) // it may not have been looked at
			}
		}
		for _, w := range it.works {
			c.need(w.real)
		}
	}
	p.sys.Forget()
	if c.mean() {
		for _, e := range c.innermost() {
			c.leave(e)
		}
		c.seal()
		c.forgetUnits(ctx)
	}
	p.part(ctx, false)
	c.settleParted()
	if slices.ContainsFunc(p.parted, func(h *holding) bool { return strings.HasPrefix(h.name(), "/") }) {
		c.lookAgain() // it was on the way to whatever is declared below it
	}
	c.forgetDone()
	for _, id := range slices.Sorted(maps.Keys(c.reports)) {
		p.left = append(p.left, *c.reports[id])
	}
}

// innermost is what no resource declares, the things in a directory before it.
func (c *cleaning) innermost() []keep.Entry {
	var all []keep.Entry
	for e := range c.record.Entries.All() {
		if !c.wants(e.Thing.Path) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b keep.Entry) int { return strings.Compare(b.Place(), a.Place()) })
	return all
}

// under reports whether p lay in a directory that a file or a link has come in
// the place of: then it is gone.
func (c *cleaning) under(p string) bool {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if it, kind := c.declared(dir); it != nil && kind != keep.Directory {
			return it.right()
		}
	}
	return false
}

func (c *cleaning) need(p string) {
	if p == "" {
		return
	}
	for dir := path.Dir(p); dir != "/" && !c.needed[dir]; dir = path.Dir(dir) {
		c.needed[dir] = true
	}
}

// mean writes down, durably, what is about to be removed: the record never says
// done of what the host itself takes away. It reports whether that is written.
func (c *cleaning) mean() bool {
	var meant []keep.Entry
	for _, e := range c.innermost() {
		if (e.Phase == keep.Done || c.lightly[e.Thing.Path]) && e.Origin == keep.Made && !c.waits(e) && !c.under(e.Place()) && !c.shared(e) {
			meant = append(meant, e)
			e.Phase = keep.Changing
			c.record.Entries.Put(e)
		}
	}
	if len(meant) == 0 {
		return true
	}
	c.dirty = true
	err := c.saveRecord()
	if err == nil {
		return true
	}
	for _, e := range meant {
		c.record.Entries.Put(e)
		c.cannot(e, fault.Wrap(fault.Conflict, err, "record what is about to be removed"))
	}
	return false
}

// waits reports whether a thing's resource is not right in its new place yet.
func (c *cleaning) waits(e keep.Entry) bool {
	it := c.byID(e.ID)
	return it != nil && (!it.right() || !it.known)
}

// shared reports whether something that is wanted lies in a directory that the host made,
// which perhaps was to become something else and has not.
func (c *cleaning) shared(e keep.Entry) bool {
	return (e.Thing.Kind == keep.Directory || e.Was == keep.Directory) && c.needed[e.Place()] && e.Origin == keep.Made
}

// leave is what becomes of one thing that no resource declares.
func (c *cleaning) leave(e keep.Entry) {
	p := e.Thing.Path
	switch {
	case c.waits(e):
		c.need(e.Place())
	case c.under(e.Place()):
		c.say(e.ID, "")
		c.drop(p)
	case c.shared(e):
		if e.ID != "" {
			c.say(e.ID, "")
			e.ID = ""
			if e.Thing.Kind != keep.Directory {
				e.Thing, e.Was = keep.Thing{Path: p, Kind: keep.Directory, Mode: 0o755}, 0
			}
			c.record.Entries.Put(e)
			c.dirty = true
		}
	case e.Origin == keep.TakenOver:
		c.release(e)
	default:
		c.removeMade(e)
	}
}

// release lets go of what was there before, without what a killed host staged beside it.
func (c *cleaning) release(e keep.Entry) {
	if pl, err := at(c.sys, e.Place()); err == nil && pl.real() == e.Place() {
		c.wrote = c.wrote || e.Phase != keep.Done
		if err := c.clear(pl); err != nil {
			c.cannot(e, err)
			return
		}
	}
	c.say(e.ID, e.Thing.Path+" was there before, and stays")
	c.drop(e.Thing.Path)
}

func (c *cleaning) removeMade(e keep.Entry) {
	p := e.Thing.Path
	if planted.Is("removal forgotten before it is done") {
		c.say(e.ID, "")
		c.drop(p)
		return
	}
	says, err := c.takeAway(e)
	switch {
	case errors.Is(err, errWaits):
		c.need(e.Place())
	case err != nil:
		c.need(e.Place())
		c.cannot(e, err)
	case says != "":
		c.say(e.ID, says)
		c.drop(p)
	default:
		c.say(e.ID, "")
		c.gone = append(c.gone, p)
		if e.ID != "" && strings.Contains(p, "/systemd/system/") {
			c.ofUnits = append(c.ofUnits, e.ID)
		}
	}
}

// placed is the thing where it truly is: links on the way may have gone since.
func placed(e keep.Entry) keep.Thing {
	t := e.Thing
	t.Path = e.Place()
	return t
}

// errWaits is that something else is to be at the place of a thing, and is not right
// there yet: it may be this very thing that is in its way.
var errWaits = errors.New("its place waits for something else")

// rightAt reports whether what is declared at this path is as declared.
func (c *cleaning) rightAt(p string) bool {
	it, _ := c.declared(p)
	return it == nil || it.right()
}

// takeAway removes one thing, or says why it is not the host's to remove.
func (c *cleaning) takeAway(e keep.Entry) (string, error) {
	f, pl, err := look(c.sys, placed(e), &c.eyes[0])
	if err != nil {
		return "", err
	}
	if pl.dir == nil {
		return "", nil
	}
	c.devices[pl.dir.Device()] = path.Dir(e.Place())
	if e.Phase != keep.Done && pl.real() == e.Place() {
		c.wrote = true
		if err := c.clear(pl); err != nil {
			return "", err
		}
	}
	where := c.standing(pl.real())
	switch {
	case f.kind == 0:
		return "", nil
	case pl.real() != e.Place():
		return e.Place() + " leads to " + pl.real() + ", which the host did not make, and that stays", nil
	case where != "" && !c.rightAt(where):
		return "", errWaits
	case where != "":
		return e.Thing.Path + " is where " + where + " is", nil
	case f.kind != e.Thing.Kind && f.kind != e.Was:
		return e.Thing.Path + " is a " + called(f.kind) + " that the host did not make, and stays", nil
	case e.Phase == keep.Making && !f.body:
		return e.Thing.Path + " was not made by the host, and stays", nil
	}
	c.wrote = true
	err = remove(pl, f.kind)
	if f.kind == keep.Directory && system.NotEmpty(err) {
		return e.Thing.Path + " holds what the host did not make, and stays", nil
	}
	return "", err
}

// seal puts the removals on the disk, reads them back, and drops what is gone.
func (c *cleaning) seal() {
	for _, dir := range c.devices {
		err := c.sealOne(dir)
		if err != nil {
			for _, p := range c.gone {
				e, _ := c.record.Entries.Get(p)
				c.cannot(e, err)
			}
			return
		}
	}
	c.sys.Forget()
	links := false
	for _, p := range c.gone {
		e, _ := c.record.Entries.Get(p)
		links = links || e.Thing.Kind == keep.Link
		f, pl, err := look(c.sys, placed(e), &c.eyes[0])
		if err == nil && f.kind != 0 && c.standing(pl.real()) == "" {
			err = fault.New(fault.Conflict, "it is there again")
		}
		if err != nil {
			c.cannot(e, err)
			continue
		}
		c.drop(p)
	}
	if links {
		c.lookAgain()
	}
}

func (c *cleaning) sealOne(p string) error {
	for {
		dir, err := c.sys.Dir(p)
		if err == nil {
			return effect.Do("resource.removal.seal", dir.SyncFS)
		}
		if !system.Absent(err) || p == "/" {
			return err
		}
		p = path.Dir(p) // it was removed itself
	}
}

func (c *cleaning) drop(p string) {
	c.record.Entries.Drop(p)
	c.dirty = true
}

// forgetDone drops the resources that are no longer declared.
func (c *cleaning) forgetDone() {
	for id := range c.record.Done {
		if c.byID(id) == nil {
			delete(c.record.Done, id)
			c.dirty = true
			c.say(id, "") // what it was about is another resource's
		}
	}
}

// say reports a resource once as removed, with what is left where it is. One
// that is still declared has changed: something of it is gone.
func (c *cleaning) say(id, text string) {
	if id == "" {
		return
	}
	if it := c.byID(id); it != nil {
		if it.state == report.StateOK {
			it.state = report.StateChanged
		}
		return
	}
	r := c.reports[id]
	if r == nil {
		r = &report.Resource{ID: id, State: report.StateRemoved}
		c.reports[id] = r
	}
	if text != "" && len(r.Found) < 1024 {
		r.Found = strings.TrimPrefix(r.Found+"; "+text, "; ")
	}
}

// cannot reports what is still there though it should not be.
func (c *cleaning) cannot(e keep.Entry, err error) {
	why := fault.Wrap(fault.Conflict, c.sys.Say(system.Cause(err), e.Thing.Path), "remove %q", e.Thing.Path)
	if it := c.byID(e.ID); it != nil {
		it.state, it.more().err = report.StateFailed, why
		return
	}
	if e.ID == "" {
		return // a directory that something was in: tried again in every pass
	}
	c.say(e.ID, "")
	r := c.reports[e.ID]
	r.State, r.Error = report.StateFailed, why.Error()
}
