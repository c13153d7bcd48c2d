package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// ShortLimit is how few digits of a commit's id stand for it: git itself shows as many.
const ShortLimit = 7

var shortID = regexp.MustCompile(`^[0-9a-f]{7,63}$`)

// Whole is the one commit of the branches and tags at url whose id begins with
// these digits. A forge says nothing of the beginning of an id: the commits of
// its whole history are fetched for a moment, without what they hold where it can
// give them so. Its errors have the causes NoRepository and NoCommit; that there
// are several is fault.Invalid. Where the forge is not to be asked now, the error
// is a Later.
func (g *Git) Whole(ctx context.Context, url, short string) (string, error) {
	protocol, err := parseURL(url, g.cfg.Allow)
	if err != nil {
		return "", err
	}
	if !shortID.MatchString(short) {
		return "", fault.New(fault.Invalid, "%q does not begin a commit's id", short).With("want at least %d lower-case hexadecimal digits", ShortLimit)
	}
	host, began := hostOf(url), clock.Now()
	if err := g.manners.Enter(host, url, began); err != nil {
		return "", err
	}
	defer func() { g.manners.Leave(host, began, clock.Now()) }()
	return g.whole(ctx, protocol, url, short)
}

func (g *Git) whole(ctx context.Context, protocol, url, short string) (string, error) {
	head, err := g.LsRemote(ctx, url, "") // its id says of which kind the ids are
	if err != nil && !errors.Is(err, NoRef) {
		return "", err
	}
	dir, err := os.MkdirTemp(g.tmp, "whole-")
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, disk.Say(err, ""), "making a folder to fetch into in %q", g.tmp)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left behind is removed at the next start
	if err := g.initBare(ctx, head.Commit, dir); err != nil {
		return "", err
	}
	err = effect.Do("git.commits.fetch", func() error {
		// No name of the forge's may be read as the digits.
		return g.fetch(ctx, protocol, dir, "--filter=tree:0", url, "+refs/heads/*:refs/at/heads/*", "+refs/tags/*:refs/at/tags/*")
	})
	if err != nil {
		return "", fault.Add(err, "fetching the commits of %q", redact(url))
	}
	return g.begins(ctx, dir, short, redact(url))
}

// begins is the commit that dir holds of which the id begins so.
func (g *Git) begins(ctx context.Context, dir, short, where string) (string, error) {
	out, err := g.run(ctx, call{protocol: local, gitDir: dir, args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", short + "^{commit}"}})
	if commit := string(bytes.TrimSpace(out)); err == nil && document.IsObjectID(commit) {
		return commit, nil
	}
	out, err = g.run(ctx, call{protocol: local, gitDir: dir, args: []string{"rev-parse", "--disambiguate=" + short}})
	if err != nil {
		return "", fault.Add(err, "looking for commits that begin with %q", short)
	}
	out, err = g.run(ctx, call{
		protocol: local, gitDir: dir, in: bytes.NewReader(out),
		args: []string{"cat-file", "--batch-check=%(objecttype) %(objectname)"},
	})
	if err != nil {
		return "", fault.Add(err, "looking for commits that begin with %q", short)
	}
	var all []string
	for line := range strings.Lines(string(out)) {
		if commit, is := strings.CutPrefix(strings.TrimSpace(line), "commit "); is {
			all = append(all, commit)
		}
	}
	switch len(all) {
	case 0:
		return "", fault.Wrap(fault.NotFound, NoCommit, "%s of %q", short, where)
	case 1:
		return all[0], nil
	}
	slices.Sort(all)
	return "", fault.New(fault.Invalid, "%d commits of %q begin with %s", len(all), where, short).
		With("say more of it: %s", strings.Join(all[:min(3, len(all))], " or "))
}
