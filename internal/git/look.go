package git

import (
	"context"
	"os"
	"path"

	"noxmesh/internal/fault"
)

// Question is what a look asks: what stands at the ref of this repository, and
// what is one file of the folder there.
type Question struct {
	URL    string
	Ref    string // empty for the default branch
	Folder string // empty for the root
	File   string // a name in the folder
	Max    int64  // bytes of it
	Known  string // a commit that need not be read again; empty for none
}

// Found is what a look found. With an error it holds as much as was found
// before: Ref and Commit where the commit was seen and its content is refused.
type Found struct {
	Ref       string
	Commit    string
	Tree      string // of the folder
	Manifest  []byte // the file's bytes
	Unchanged bool   // the ref is at the known commit, and nothing else was read
}

// Look asks the remote where the ref stands, and only if that is not the known
// commit fetches it for a moment and reads the folder's tree and the file.
func (g *Git) Look(ctx context.Context, q Question) (Found, error) {
	if err := CheckFolder(q.Folder); err != nil {
		return Found{}, err
	}
	head, err := g.LsRemote(ctx, q.URL, q.Ref)
	if err != nil {
		return Found{}, err
	}
	found := Found{Ref: head.Ref, Commit: head.Commit}
	if head.Commit == q.Known {
		found.Unchanged = true
		return found, nil
	}
	dir, err := os.MkdirTemp(g.tmp, "look-")
	if err != nil {
		return found, fault.Wrap(fault.Unknown, err, "making a folder to fetch into")
	}
	defer os.RemoveAll(dir)
	if err := g.Fetch(ctx, q.URL, head.Commit, head.Ref, dir); err != nil {
		return Found{Ref: head.Ref}, err
	}
	if found.Tree, err = g.Tree(ctx, dir, head.Commit, q.Folder); err != nil {
		return found, err
	}
	found.Manifest, err = g.ReadFile(ctx, dir, head.Commit, path.Join(q.Folder, q.File), q.Max)
	return found, err
}
