package keep

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

const changingFile = "changing"

// SaveChanging notes, beside the record, the paths of things that are about to be
// put back as the record has them; none are no longer. It outlives the process
// and not a power cut, and need not: what is read after one is what is on the disk.
func (f *Folder) SaveChanging(paths []string) error {
	if len(paths) == 0 {
		return f.dropChanging()
	}
	var body []byte
	for _, p := range paths {
		body = append(strconv.AppendQuote(body, p), '\n')
	}
	f.changing = true
	err := effect.Do("keep.changing.save", func() error {
		if err := disk.Lay(f.root, disk.Staged(changingFile), []byte(header(document.Sum(body))), body); err != nil {
			return err
		}
		return f.root.Rename(disk.Staged(changingFile), changingFile)
	})
	if err != nil {
		return fault.Wrap(fault.Unavailable, f.cause(err), "write %q", f.name+"/"+changingFile)
	}
	return nil
}

func (f *Folder) dropChanging() error {
	if !f.changing {
		return nil
	}
	err := effect.Do("keep.changing.drop", func() error { return f.root.Remove(changingFile) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.Unavailable, f.cause(err), "remove %q", f.name+"/"+changingFile)
	}
	f.changing = false
	return nil
}

// change says of what was being put back when a host was killed that it is being
// changed. A note that is not whole is from before a power cut.
func (f *Folder) change(r Record) {
	text, err := f.text(changingFile)
	f.changing = fault.KindOf(err) != fault.NotFound
	if err != nil {
		return
	}
	for line := range strings.Lines(text) {
		w := words{rest: line}
		p := w.quoted()
		if e, ok := r.Entries.Get(p); ok && !w.bad && e.Phase == Done {
			e.Phase = Changing
			r.Entries.Put(e)
		}
	}
}
