package resource

import (
	"io"
	"path"

	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// putText replaces a file of settings, durably. One that is there keeps its mode.
func (p *pass) putText(at, text string) error {
	dir, err := p.sys.Dir(path.Dir(at))
	if system.Absent(err) {
		return fault.New(fault.Conflict, "there is no folder %q", path.Dir(at)).With("install the package that brings it")
	}
	if err != nil {
		return err
	}
	pl := place{dir, path.Base(at)}
	want := keep.Thing{Path: at, Kind: keep.File, Digest: document.Sum([]byte(text)), Size: int64(len(text)), Mode: 0o644}
	if info, err := dir.Lstat(pl.name); err == nil && info.Mode.IsRegular() {
		want.Mode = info.Mode.Perm()
	}
	err = stageFile(pl, want, &p.eyes[0], fillText(text))
	if err == nil {
		err = dir.SyncOne(pl.temp())
	}
	if err == nil {
		err = commit(pl, found{})
	}
	if err != nil {
		_ = unstage(pl) // half of it is of no use, and the error is already on its way
	}
	return p.about("write", at, err)
}

// dropText removes a file of the host's own, and what a killed host staged beside it.
func (p *pass) dropText(at string) error {
	dir, err := p.sys.Dir(path.Dir(at))
	if err != nil {
		return nothingThere(err)
	}
	pl := place{dir, path.Base(at)}
	err = unstage(pl)
	if err == nil {
		if _, err = dir.Lstat(pl.name); err != nil {
			return p.about("look at", at, nothingThere(err))
		}
		err = remove(pl, keep.File)
	}
	return p.about("remove", at, err)
}

// about is why something could not be done with a file of settings.
func (p *pass) about(doing, at string, err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Conflict, p.sys.Say(system.Cause(err), at), "%s %q", doing, at)
}

func fillText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}
