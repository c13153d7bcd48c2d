package git

import (
	"bytes"
	"context"
	"errors"
	"os"

	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Descent is how one commit stands to another that stood in its place before.
type Descent string

// The descents. FarApart is that it cannot be told: the one before is not among
// the last commits, and there is more history than is looked at.
const (
	Forward   Descent = "forward"   // it comes after it
	Rewritten Descent = "rewritten" // it does not
	Unrelated Descent = "unrelated" // it does not, and they have no commit in common
	FarApart  Descent = "far-apart"
)

// historyDepth is how far back is looked. Only commits are fetched, where the
// forge can give them without what they hold.
const historyDepth = "--depth=200"

// Descends is how commit, where the place's ref stands, stands to the commit
// from, where it stood before. Ref, which may be empty, is what commit is found
// through where the forge gives none by its id. Where the forge is not to be asked
// now, the error is a Later.
func (g *Git) Descends(ctx context.Context, p Place, commit, from string) (Descent, error) {
	protocol, err := g.checkFetch(p.URL, commit, p.Ref)
	if err != nil {
		return "", err
	}
	if err := CheckCommit(from); err != nil {
		return "", err
	}
	host, began := hostOf(p.URL), clock.Now()
	if err := g.manners.Enter(host, p.URL+p.Folder, began); err != nil {
		return "", err
	}
	defer func() { g.manners.Leave(host, began, clock.Now()) }()
	dir, err := os.MkdirTemp(g.tmp, "history-")
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, disk.Say(err, ""), "making a folder to fetch into in %q", g.tmp)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left behind is removed at the next start
	if err := g.initBare(ctx, commit, dir); err != nil {
		return "", err
	}
	h := history{g, protocol, dir, p.URL}
	if err := h.fetch(ctx, commit, p.Ref); err != nil {
		return "", fault.Add(err, "fetching the history of commit %s of %q", commit, redact(p.URL))
	}
	return h.judge(ctx, commit, from)
}

type history struct {
	git                *Git
	protocol, dir, url string
}

func (h history) fetch(ctx context.Context, commit, ref string) error {
	return effect.Do("git.history.fetch", func() error {
		err := h.git.fetch(ctx, h.protocol, h.dir, historyDepth, "--filter=tree:0", h.url, commit)
		if errors.Is(err, errUnadvertised) && ref != "" && !document.IsObjectID(ref) {
			err = h.git.fetch(ctx, h.protocol, h.dir, historyDepth, "--filter=tree:0", h.url, ref)
		}
		return err
	})
}

// judge looks for the one before in what comes before commit. Whether the two
// have nothing in common is known only of a forge that still has both, whole.
func (h history) judge(ctx context.Context, commit, from string) (Descent, error) {
	if err := h.git.hold(ctx, h.dir, commit); err != nil {
		return "", err
	}
	switch err := h.git.hold(ctx, h.dir, from); {
	case err == nil:
		return Forward, nil // whatever is there came with commit
	case !errors.Is(err, NoCommit):
		return "", err
	}
	if h.short(ctx) {
		return FarApart, nil
	}
	if h.fetch(ctx, from, "") != nil || h.short(ctx) {
		return Rewritten, nil //nolint:nilerr // a forge that has it no more, or cut short, says nothing of what they have in common
	}
	_, err := h.git.run(ctx, call{protocol: local, gitDir: h.dir, args: []string{"merge-base", commit, from}})
	switch {
	case saysNo(err) && h.git.hold(ctx, h.dir, from) == nil:
		return Unrelated, nil
	case err != nil && !saysNo(err):
		return "", fault.Add(err, "looking for what commits %s and %s have in common", commit, from)
	}
	return Rewritten, nil
}

// short reports whether history was cut off.
func (h history) short(ctx context.Context) bool {
	out, err := h.git.run(ctx, call{protocol: local, gitDir: h.dir, args: []string{"rev-parse", "--is-shallow-repository"}})
	return err != nil || string(bytes.TrimSpace(out)) != "false"
}
