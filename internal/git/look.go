package git

import (
	"context"
	"errors"
	"os"
	"path"

	"noxmesh/internal/clock"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
	"noxmesh/manifest"
)

// Place is where a module comes from.
type Place struct {
	URL    string
	Ref    string // empty for the default branch
	Folder string // empty for the root
}

// Known is what need not be read again, and what is to be read of the rest.
type Known struct {
	Commit string // where the ref is still there, nothing is read
	Code   string // the key of the files that were read last
	Wants  Wants  // which files to read beside module.json; nil for none

	FileLimit int64 // how much of one file is read
}

// Found is what a look found.
type Found struct {
	Ref       string
	Commit    string
	Tree      string // of the folder
	Manifest  []byte // the bytes of the folder's module.json; nil where there is none to read, and then Why
	Why       string // what is in the manifest's place
	Cause     Cause  // of Why: NoFolder, NoFile, NotFile or TooBig
	Unchanged bool   // the ref is at the known commit, and nothing else was read
	Code      string // the key of the files that are wanted; empty where there is no manifest
	Files     []File // those, where the key is not the known one
}

// Look asks the remote where the ref stands, and only if that is not the known
// commit fetches it for a moment and reads the folder's tree, its module.json and
// the files that are wanted. That a commit has no readable module.json is found,
// not an error. Where the forge is not to be asked now, the error is a Later.
func (g *Git) Look(ctx context.Context, p Place, known Known) (Found, error) {
	if err := CheckFolder(p.Folder); err != nil {
		return Found{}, err
	}
	host, began := hostOf(p.URL), clock.Now()
	if err := g.manners.enter(host, p.URL+p.Folder, began); err != nil {
		return Found{}, err
	}
	defer func() { g.manners.leave(host, began, clock.Now()) }()
	found, err := g.look(ctx, p, known)
	if errors.Is(err, NoCommit) { // pushed over between the two questions
		found, err = g.look(ctx, p, known)
	}
	return found, err
}

func (g *Git) look(ctx context.Context, p Place, known Known) (Found, error) {
	head, err := g.LsRemote(ctx, p.URL, p.Ref)
	if err != nil {
		return Found{}, err
	}
	found := Found{Ref: head.Ref, Commit: head.Commit}
	if head.Commit == known.Commit {
		found.Unchanged = true
		return found, nil
	}
	dir, err := os.MkdirTemp(g.tmp, "look-")
	if err != nil {
		return Found{}, fault.Wrap(fault.Unavailable, disk.Say(err, ""), "making a folder to fetch into in %q", g.tmp)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left behind is removed at the next start
	if err := g.Fetch(ctx, p.URL, head.Commit, head.Ref, dir); err != nil {
		return Found{}, err
	}
	found.Tree, err = g.Tree(ctx, dir, head.Commit, p.Folder)
	if err == nil {
		found.Manifest, err = g.ReadFile(ctx, dir, head.Commit, path.Join(p.Folder, manifest.Name), int64(manifest.Limits.Bytes))
	}
	var c Cause
	if errors.As(err, &c) {
		found.Manifest, found.Why, found.Cause = nil, err.Error(), c
		return found, nil
	}
	if err == nil && found.Manifest == nil {
		found.Manifest = []byte{} // an empty file is a file
	}
	if err == nil && known.Wants != nil {
		err = g.readCode(ctx, dir, p.Folder, known, &found)
	}
	return found, err
}

// readCode reads what is wanted of a commit that dir holds, where it is not what is known.
func (g *Git) readCode(ctx context.Context, dir, folder string, known Known, found *Found) error {
	key, entries, err := g.code(ctx, dir, found.Commit, folder, known.Wants)
	if err == nil && key != known.Code {
		found.Files, err = g.read(ctx, dir, entries, known.FileLimit)
	}
	found.Code = key
	return err
}
