package resource

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"noxmesh/archive"
	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// item is one declared resource on its way through a pass.
type item struct {
	res    *declaration.Resource
	n      int32 // which it is
	level  int32
	needs  []int   // items that must be right first
	works  []*work // of what it consists; see rest
	state  report.State
	rare   *rare // nil where there is nothing of it
	known  bool  // it is known what it consists of
	plain  bool  // it is a file, a directory or a link, and nobody's in particular
	stands bool  // it was seen at its own path
	fixed  bool
	hollow bool // it differs, and what lies in it is not there
	swap   bool // it is made as a whole, and comes in one step
}

// rare is what is known of an item beside, which is nothing of most.
type rare struct {
	says []string // what was found that differed
	err  error
	at   string   // where err was met; empty: its own path
	pack *pack    // of an archive
	held *holding // of what is no file, once it is read back
}

// has is that, to be read.
func (it *item) has() rare {
	if it.rare == nil {
		return rare{}
	}
	return *it.rare
}

// more is that, to be added to.
func (it *item) more() *rare {
	if it.rare == nil {
		it.rare = &rare{}
	}
	return it.rare
}

// pack is an archive on its way through a pass.
type pack struct {
	index archive.Index
	blob  *archive.Blob // whose content is needed; nil until it is opened
}

// work is one thing of an item.
type work struct {
	want   keep.Thing
	found  found
	real   string         // where its path truly leads, where that is another
	entry  *archive.Entry // of an archive's
	anew   bool           // where it differs, another one comes in its place, whatever the difference
	staged bool
	placed bool // it was staged, put on the disk, and has its name
	wrote  bool
	again  bool // it is looked at once more, and not yet known to be on the disk
}

func (it *item) settled() bool { return it.state != "" }

func (it *item) right() bool {
	return it.state == report.StateOK || it.state == report.StateChanged
}

// fail ends the item for this pass. What does not answer is waited for and has not failed.
func (it *item) fail(err error) {
	it.more().err = err
	it.state = report.StateFailed
	if fault.KindOf(err) == fault.Unavailable {
		it.state = report.StateWaiting
	}
}

// broken is a failure of this machine, whatever its kind: nothing outside is waited for.
func (it *item) broken(doing, p string, err error) {
	kind := fault.KindOf(err)
	if kind == fault.Unavailable || kind == fault.Unknown {
		kind = fault.Conflict
	}
	it.more().at = p
	it.fail(fault.Wrap(kind, system.Cause(err), "%s %q", doing, p))
}

// things is what a resource other than an archive consists of.
func thing(r *declaration.Resource) (keep.Thing, error) {
	t := keep.Thing{Path: r.Path}
	var err error
	switch r.Type {
	case declaration.File:
		t.Kind, t.Digest, t.Size = keep.File, r.Digest, r.Size
		t.Mode, err = mode(r.Type, r.Mode, 0o644)
	case declaration.Directory:
		t.Kind = keep.Directory
		t.Mode, err = mode(r.Type, r.Mode, 0o755)
	case declaration.Link:
		t.Kind, t.Target = keep.Link, r.Target
	case declaration.Archive:
		t.Kind, t.Mode = keep.Directory, 0o755
	default:
		err = fault.New(fault.Invalid, "type %q: this host has no such type", string(r.Type))
	}
	return t, err
}

func mode(of declaration.Type, s string, otherwise fs.FileMode) (fs.FileMode, error) {
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(s, 8, 32)
	if flaw, bad := declaration.ModeFlaw(of, s); bad || err != nil {
		return 0, fault.New(fault.Invalid, "mode %q: %s", s, cmp.Or(flaw.Want, "want four octal digits"))
	}
	return keep.Mode(uint32(n)), nil
}

// newItems is the resources, and which has which id, with what each depends on, said or
// by being inside of it, and with their levels: an item's is above that of all it depends on.
func newItems(body declaration.Body) ([]*item, keep.Names) {
	items := make([]*item, len(body.Resources))
	ids := keep.NewNames(len(items), func(n int) string { return items[n].res.ID })
	paths := make(map[string]int, len(items))
	var some []item // of them all: they are let go of one after another
	for i := range body.Resources {
		r := &body.Resources[i]
		if len(some) == 0 {
			some = make([]item, min(batchSize, len(items)-i))
		}
		items[i], some = &some[0], some[1:]
		*items[i] = item{res: r, n: int32(i), level: -1}
		ids.Add(i)
		if r.Type != declaration.File && r.Path != "" {
			paths[r.Path] = i
		}
		items[i].come(&ids, i, r.After)
		items[i].come(&ids, i, r.RestartsOn())
	}
	for i := range items {
		items[i].comeLast(items[:i])
	}
	for i, it := range items {
		if it.res.Path == "" {
			continue
		}
		n, ok := inside(paths, it.res.Path)
		if ok && !reaches(items, n, i, map[int]bool{}) {
			it.needs = append(it.needs, n)
		}
	}
	for i := range items {
		level(items, i)
	}
	return items, ids
}

// come says that item i comes after these; said is only what comes earlier.
func (it *item) come(ids *keep.Names, i int, after []string) {
	for _, id := range after {
		if n, ok := ids.Find(id); ok && n < i {
			it.needs = append(it.needs, n)
		}
	}
}

// comeLast says that what only asks comes after all that is earlier in its module.
func (it *item) comeLast(earlier []*item) {
	if !it.res.Type.Asks() {
		return
	}
	module, _, _ := strings.Cut(it.res.ID, "/")
	for n, e := range earlier {
		if !e.res.Type.Asks() && strings.HasPrefix(e.res.ID, module+"/") && !slices.Contains(it.needs, n) {
			it.needs = append(it.needs, n)
		}
	}
}

func level(items []*item, i int) int32 {
	it := items[i]
	if it.level < 0 {
		it.level = 0
		for _, n := range it.needs {
			it.level = max(it.level, level(items, n)+1)
		}
	}
	return it.level
}

// reaches reports whether item from depends on item to, through others or not.
func reaches(items []*item, from, to int, seen map[int]bool) bool {
	if from == to {
		return true
	}
	for _, n := range items[from].needs {
		if !seen[n] {
			seen[n] = true
			if reaches(items, n, to, seen) {
				return true
			}
		}
	}
	return false
}

// inside is the nearest declared thing that p lies in.
func inside(paths map[string]int, p string) (int, bool) {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if n, ok := paths[dir]; ok {
			return n, true
		}
	}
	return 0, false
}
