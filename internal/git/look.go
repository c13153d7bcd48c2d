package git

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"noxmesh/internal/clock"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
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
	Code   string // the key of the files that were read last, module.json among them
	Wants  Wants  // which files to read beside module.json; nil for none

	FileLimit int64 // how much of one file is read; all of it where zero
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
	Kept      bool   // the key is the known one: Manifest and Files are as they were, and not read
	Files     []File // those, where the key is not the known one
}

// Look asks the remote where the ref stands, and only if that is not the known
// commit fetches it for a moment: its trees first, and where those say that what
// is wanted is another than what is known, its module.json and the files that are
// wanted. That a commit has no readable module.json is found, not an error. Where
// the forge is not to be asked now, the error is a Later.
func (g *Git) Look(ctx context.Context, p Place, known Known) (Found, error) {
	if err := CheckFolder(p.Folder); err != nil {
		return Found{}, err
	}
	host, began := hostOf(p.URL), clock.Now()
	if err := g.manners.Enter(host, p.URL+p.Folder, began); err != nil {
		return Found{}, err
	}
	defer func() { g.manners.Leave(host, began, clock.Now()) }()
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
	if head.Commit == known.Commit {
		return Found{Ref: head.Ref, Commit: head.Commit, Unchanged: true}, nil
	}
	dir, err := os.MkdirTemp(g.tmp, "look-")
	if err != nil {
		return Found{}, fault.Wrap(fault.Unavailable, disk.Say(err, ""), "making a folder to fetch into in %q", g.tmp)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left behind is removed at the next start
	r := reading{git: g, place: p, known: known, head: head}
	forge := cmp.Or(hostOf(p.URL), p.URL)
	if g.atOnce.is(forge, clock.Now()) {
		return r.atOnce(ctx, filepath.Join(dir, "whole"))
	}
	found, err := r.inParts(ctx, filepath.Join(dir, "parts"))
	if _, is := errors.AsType[noParts](err); !is {
		return found, err
	}
	// What was in the way says nothing unless it is in this one's way too.
	if found, err = r.atOnce(ctx, filepath.Join(dir, "whole")); err == nil {
		g.atOnce.remember(forge, clock.Now())
	}
	return found, err
}
