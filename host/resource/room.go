package resource

import (
	"path"

	"noxmesh/host/keep"
	"noxmesh/host/system"
)

// rooms is what there is room for on the file systems that a wave writes to, less what
// the items before have been given of it.
type rooms struct {
	*pass
	left  map[uint64]*system.Space
	turns map[string]bool // links of which each is about to become a directory
	last  string          // the directory that was asked for before
	dev   uint64
}

// room refuses, before anything of the wave is written, each item whose files would not
// fit: what is new lies beside what is old until it takes its place. What others write
// meanwhile, and what a file system needs beside the bytes, the write itself meets.
func (p *pass) room(items []*item) {
	r := rooms{pass: p, left: map[uint64]*system.Space{}, turns: map[string]bool{}}
	p.sys.Forget()
	p.each(items, func(it *item) {
		for _, w := range it.works {
			if w.want.Kind == keep.Directory && w.found.kind == keep.Link {
				r.turns[w.want.Path] = true
			}
		}
	})
	p.each(items, func(it *item) {
		if err := r.take(it); err != nil {
			it.broken("write", it.res.Path, err)
		}
	})
	p.sys.Forget()
}

// needs is what an item takes of one file system.
type needs struct{ bytes, files int64 }

func (r *rooms) take(it *item) error {
	var all map[uint64]needs
	for _, w := range it.works {
		if !w.toStage() && (!it.swap || w.want.Kind != keep.Directory) || !r.find(parent(w.want.Path)) {
			continue
		}
		if all == nil {
			all = map[uint64]needs{}
		}
		n, block := all[r.dev], r.left[r.dev].Block
		if w.want.Kind == keep.File {
			n.bytes += (w.want.Size + block - 1) / block * block
		}
		n.files++
		all[r.dev] = n
	}
	for dev, n := range all {
		if err := r.left[dev].Lacks(n.bytes, n.files); err != nil {
			return err
		}
	}
	for dev, n := range all {
		r.left[dev].Bytes -= n.bytes
		r.left[dev].Files -= n.files
	}
	return nil
}

// find is the file system that holds a directory, or will; false where it says nothing
// of what is free.
func (r *rooms) find(dir string) bool {
	if dir == r.last {
		return r.left[r.dev] != nil
	}
	r.last = dir
	for at := dir; len(r.turns) > 0 && at != "/"; at = path.Dir(at) {
		if r.turns[at] {
			dir = path.Dir(at)
		}
	}
	r.sys.Trim()
	d, err := r.sys.Dir(dir)
	for err != nil && dir != "/" {
		dir = path.Dir(dir)
		d, err = r.sys.Dir(dir)
	}
	if err != nil {
		r.dev = 0
		return false
	}
	r.dev = d.Device()
	if _, known := r.left[r.dev]; !known {
		r.left[r.dev] = nil
		if s, err := d.Space(); err == nil && s.Total > 0 {
			r.left[r.dev] = &s
		}
	}
	return r.left[r.dev] != nil
}
