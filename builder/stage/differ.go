package stage

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"noxmesh/archive"
	"noxmesh/builder/layer"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// special is what a file can be to run as somebody else.
const special = fs.ModeSetuid | fs.ModeSetgid

// Differs is how the stage differs from what it stands on. What no image can have
// of it is refused by its name.
func (s *Stage) Differs(ctx context.Context) ([]layer.Change, error) {
	now := map[string]fs.FileMode{}
	var all []layer.Change
	err := filepath.WalkDir(s.Dir, func(at string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || at == s.Dir {
			return err
		}
		rel, err := filepath.Rel(s.Dir, at)
		if err != nil {
			return err
		}
		now[rel] = d.Type()
		change, differs, err := s.differs(at, rel, d)
		if differs {
			all = append(all, change)
		}
		return err
	})
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, err, "look at what was made")
	}
	all = append(all, s.gone(now)...)
	slices.SortFunc(all, func(a, b layer.Change) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// differs is what became of one file, where that is another than below.
func (s *Stage) differs(at, rel string, d fs.DirEntry) (c layer.Change, differs bool, err error) {
	info, err := d.Info()
	if err != nil {
		return c, false, err
	}
	is, err := look(at, rel, info)
	if err != nil || s.below[rel] == is && s.has(rel) {
		return c, false, err
	}
	c = layer.Change{Entry: entry(rel, is, info.Size())}
	c.Owner, _ = ownerOf(is.whose) // root where it says nothing
	return c, true, nil
}

// gone is what was below and is there no more: of a folder that, and nothing in it.
func (s *Stage) gone(now map[string]fs.FileMode) (all []layer.Change) {
	for _, rel := range slices.Sorted(maps.Keys(s.below)) {
		if _, there := now[rel]; there {
			continue
		}
		if above, there := now[path.Dir(rel)]; path.Dir(rel) == "." || there && above.IsDir() {
			all = append(all, layer.Change{Entry: archive.Entry{Path: rel}, Gone: true})
		}
	}
	return all
}

func (s *Stage) has(rel string) bool {
	_, there := s.below[rel]
	return there
}

func entry(rel string, is seen, size int64) archive.Entry {
	e := archive.Entry{Path: rel, Kind: archive.File, Executable: is.executable, Size: size}
	switch is.kind {
	case fs.ModeDir:
		return archive.Entry{Path: rel, Kind: archive.Directory}
	case fs.ModeSymlink:
		return archive.Entry{Path: rel, Kind: archive.Link, Target: is.is}
	}
	return e
}

// look is what a file is.
func look(at, rel string, info fs.FileInfo) (is seen, err error) {
	mode := info.Mode()
	is.kind = mode.Type()
	if mode.IsDir() || mode.IsRegular() {
		if is.whose, err = whose(at, rel); err != nil {
			return is, err
		}
	}
	switch {
	case strings.HasPrefix(path.Base(rel), ".wh."):
		return is, fault.New(fault.Invalid, "%q begins with .wh., which container tools take for the removal of another", document.Short("/"+rel))
	case mode.IsDir():
		return is, nil
	case is.kind == fs.ModeSymlink:
		is.is, err = os.Readlink(at)
		return is, err
	case !mode.IsRegular():
		return is, fault.New(fault.Invalid, "%q is neither a file nor a folder nor a link", document.Short("/"+rel))
	case mode&special != 0:
		return is, fault.New(fault.Invalid, "%q would run as its owner or its group, whoever starts it, and an image keeps of rights only that a file can be run", document.Short("/"+rel)).
			With("end the command with chmod ug-s")
	}
	f, err := os.Open(at)
	if err != nil {
		return is, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	is.executable, is.is = mode&0o111 != 0, string(document.FromHash(h.Sum(nil)))
	return is, err
}
