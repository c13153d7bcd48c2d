package resource

import (
	"context"
	"io"
	"path"

	"noxmesh/archive"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/internal/fault"
)

// index is an archive's index that was decoded before.
type index struct {
	archive.Index
}

// expand says of every item what it consists of. An archive's index is kept
// beside the record, so that it is read back without asking anybody.
func (p *pass) expand(ctx context.Context) {
	var kept []document.Digest
	for _, it := range p.items {
		it.known = !it.res.Type.IsFile() && p.hasKind(it.res.Type)
		if !it.known {
			p.consist(ctx, it)
		}
		if it.res.Type == declaration.Archive {
			kept = append(kept, it.res.Digest)
		}
	}
	p.name()
	p.conflicts()
	p.shares()
	p.forgetIndexes(kept)
}

// consist says of what is at a path what it consists of.
func (p *pass) consist(ctx context.Context, it *item) {
	t, err := thing(it.res)
	if err != nil {
		it.fail(err)
		return
	}
	if hasSecrets(it.res) {
		if err := p.know(ctx, it, &t); err != nil {
			it.unfilled(err)
		}
	}
	it.known = it.res.Type != declaration.Archive
	if it.plain = isPlain(it.res); it.plain {
		return
	}
	it.works = []*work{{want: t}}
	if it.known {
		return
	}
	if err := p.unfold(ctx, it); err != nil {
		it.fail(err)
	}
}

// unfold adds an archive's entries.
func (p *pass) unfold(ctx context.Context, it *item) error {
	idx, err := p.index(ctx, it.res.Digest)
	if err != nil {
		return fault.Add(err, "read the index of %q", it.res.ID)
	}
	it.more().pack = &pack{index: idx}
	for i := range idx.Entries {
		e := &idx.Entries[i]
		t := keep.Thing{Path: path.Join(it.res.Path, e.Path)}
		switch e.Kind {
		case archive.File:
			t.Kind, t.Digest, t.Size, t.Mode = keep.File, e.Digest, e.Size, e.Mode()
		case archive.Directory:
			t.Kind, t.Mode = keep.Directory, e.Mode()
		case archive.Link:
			t.Kind, t.Target = keep.Link, e.Target
		}
		if why := declaration.ReservedPath(t.Path); why != "" {
			return fault.New(fault.Denied, "its entry %q is %s", e.Path, why)
		}
		it.works = append(it.works, &work{want: t, entry: e})
	}
	it.known = true
	return nil
}

// index is from memory, from the state folder, or from the source, in this order.
func (p *pass) index(ctx context.Context, digest document.Digest) (archive.Index, error) {
	if idx, ok := p.indexes[digest]; ok {
		return idx.Index, nil
	}
	packed, err := p.keep.Index(digest)
	if err == nil {
		if idx, err := openIndex(packed, digest); err == nil {
			p.indexes[digest] = index{idx}
			return idx, nil
		}
	}
	packed, err = p.source.Index(ctx, digest)
	if err != nil {
		return archive.Index{}, err
	}
	idx, err := openIndex(packed, digest)
	if err != nil {
		return archive.Index{}, err
	}
	if err := p.keep.SaveIndex(digest, packed); err != nil {
		return archive.Index{}, fault.Wrap(fault.Conflict, err, "keep the index")
	}
	p.indexes[digest] = index{idx}
	return idx, nil
}

func openIndex(packed []byte, digest document.Digest) (archive.Index, error) {
	idx, err := archive.DecompressIndex(packed)
	if err != nil {
		return archive.Index{}, err
	}
	got, err := idx.Digest()
	if err != nil {
		return archive.Index{}, err
	}
	if got != digest {
		return archive.Index{}, fault.New(fault.Invalid, "the index that came has the digest %s, declared is %s", got.Short(), digest.Short())
	}
	return idx, nil
}

func (p *pass) forgetIndexes(keep []document.Digest) {
	want := map[document.Digest]bool{}
	for _, d := range keep {
		want[d] = true
	}
	stale := false
	for d := range p.indexes {
		if !want[d] {
			delete(p.indexes, d)
			stale = true
		}
	}
	if stale {
		_ = p.keep.KeepIndexes(keep) // what stays is tried again when the next one goes
	}
}

// conflicts fails an archive that brings a path which another resource declares.
func (p *pass) conflicts() {
	if len(p.packed) == 0 {
		return
	}
	owner := make(map[string]*item, len(p.items))
	for _, it := range p.items {
		owner[it.res.Path] = it
	}
	for _, it := range p.items {
		if it.res.Type != declaration.Archive || it.settled() {
			continue
		}
		for _, w := range it.works[1:] {
			if o, ok := owner[w.want.Path]; ok {
				it.fail(fault.New(fault.Conflict, "%q is in the archive, and %q declares it as well", w.want.Path, o.res.ID))
				break
			}
		}
	}
}

// openArchive refuses an archive, before anything of it is made, of which its
// index and its table of frames show that it is not the one that is declared.
func (p *pass) openArchive(ctx context.Context, it *item) {
	if it.res.Type != declaration.Archive || len(it.missing()) == 0 {
		return
	}
	if err := p.openBlob(ctx, it); err != nil {
		it.unwritten(err)
	}
}

func (p *pass) openBlob(ctx context.Context, it *item) error {
	frames, err := p.source.Frames(ctx, it.res.Digest)
	if err != nil {
		return err
	}
	pack := it.has().pack
	pack.blob, err = archive.Open(ctx, pack.index, frames)
	return err
}

// missing is the files of an archive that must be written, by their paths in it.
func (it *item) missing() map[string]*work {
	missing := map[string]*work{}
	for _, w := range it.works[1:] {
		if w.entry.Kind == archive.File && w.toStage() {
			missing[w.entry.Path] = w
		}
	}
	return missing
}

// stageArchive writes the files that differ beside their places. Only the
// frames that hold them are fetched. Where one of them turns out not to hold what
// the index says, all that was staged is taken back: of the archive there are
// then the directories that its index names, and no file and no link.
func (p *pass) stageArchive(ctx context.Context, it *item) error {
	wanted := it.missing()
	if len(wanted) == 0 {
		return nil
	}
	if it.has().pack.blob == nil { // all was there when it was looked at
		if err := p.openBlob(ctx, it); err != nil {
			return err
		}
	}
	want := func(e archive.Entry) bool { return wanted[e.Path] != nil }
	return it.has().pack.blob.Extract(ctx, want, func(e archive.Entry, body io.Reader) error {
		if err := p.stageEntry(wanted[e.Path], body); err != nil {
			return fault.Add(err, "entry %q", e.Path)
		}
		return nil
	})
}
