package git

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// reading is what a look reads of a commit that is not the known one.
type reading struct {
	git   *Git
	place Place
	known Known
	head  Head
}

// noParts is that a forge did not give a commit in parts. Why is for nobody: the
// commit is asked for at once, and what the forge says then counts.
type noParts struct{ error }

// Unwrap is what was in the way.
func (n noParts) Unwrap() error { return n.error }

// read is what is to be found in a commit whose trees dir holds; bring makes it
// hold the blobs too.
func (r reading) read(ctx context.Context, dir string, bring func(standing) error) (Found, error) {
	s, err := r.git.stand(ctx, dir, r.head.Commit, r.place.Folder, r.known.Wants)
	if err != nil {
		return Found{}, err
	}
	found := Found{Ref: r.head.Ref, Commit: r.head.Commit, Tree: s.tree}
	why := s.readable(r.head.Commit, r.place.Folder)
	switch {
	case why != nil:
		s = standing{modules: s.modules}
	case r.known.Wants != nil:
		found.Code = s.key()
		found.Kept = found.Code == r.known.Code
	}
	if found.Kept {
		return found, nil
	}
	if s.ids() != "" {
		if err := bring(s); err != nil {
			return Found{}, err
		}
	}
	var c contents
	if why == nil {
		c, err = r.git.read(ctx, dir, s, cmp.Or(r.known.FileLimit, codeLimit))
		why = c.tooBig
	}
	if cause, is := errors.AsType[Cause](why); is {
		found.Code, found.Why, found.Cause = "", why.Error(), cause
		return found, nil
	}
	found.Manifest, found.Files = c.manifest, c.files
	return found, err
}

// partsLimit bounds what a forge may send when it is asked for what will be read:
// code of the largest size there may be, packed as badly as git packs.
const partsLimit = codeLimit + codeLimit/16

// atOnce fetches the commit with all that it holds.
func (r reading) atOnce(ctx context.Context, dir string) (Found, error) {
	if err := r.git.Fetch(ctx, r.place.URL, r.head.Commit, r.head.Ref, dir); err != nil {
		return Found{}, err
	}
	return r.read(ctx, dir, func(standing) error { return nil })
}

// smallFiles is what comes with the trees where the folder is the whole repository:
// every commit moves that, and most of what is small in it is what will be read.
const smallFiles = "--filter=blob:limit=64k"

// inParts fetches the trees of the commit, and then exactly the blobs that will be
// read and have not come. Nothing is fetched by itself: what is not there is
// missing. A server that knows no parts gives all of it at first, and is not asked
// a second time.
func (r reading) inParts(ctx context.Context, dir string) (Found, error) {
	g, url := r.git, r.place.URL
	protocol, err := g.checkFetch(url, r.head.Commit, r.head.Ref)
	if err != nil {
		return Found{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, g.cfg.Limit, errLimit) // for all of it
	defer cancel()
	f := parts{r, protocol, dir}
	if err := f.trees(ctx); err != nil {
		return Found{}, err
	}
	found, err := r.read(ctx, dir, func(s standing) error { return f.blobs(ctx, s) })
	if _, is := errors.AsType[withheld](err); is {
		err = noParts{err}
	}
	return found, err
}

// parts is a commit that is fetched in parts into dir.
type parts struct {
	reading
	protocol, dir string
}

// trees fetches the trees. An error that the forge's way with parts may be the
// reason of is noParts; what this machine does not give is told as it is.
func (f parts) trees(ctx context.Context) error {
	g, commit := f.git, f.head.Commit
	if err := g.initBare(ctx, commit, f.dir); err != nil {
		return err
	}
	filter := "--filter=blob:none"
	if f.place.Folder == "" {
		filter = smallFiles
	}
	err := effect.Do("git.trees.fetch", func() error {
		return g.fetch(ctx, f.protocol, f.dir, "--depth=1", filter, f.place.URL, commit)
	})
	if err = full(f.dir, g.cfg.MaxSize, err); err == nil {
		return f.forget()
	}
	err = fault.Add(err, "fetching the trees of commit %s of %q", commit, redact(f.place.URL))
	if ctx.Err() == nil && !isMachines(err) && (fault.KindOf(err) == fault.Unavailable || errors.Is(err, errUnadvertised)) {
		return noParts{err}
	}
	return err
}

// forget takes out of the repository's configuration that a fetch with a filter
// writes there: from whom git fetches by itself what is missing.
func (f parts) forget() error {
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
	if len(f.head.Commit) == 64 {
		config += "[extensions]\n\tobjectformat = sha256\n"
	}
	file := filepath.Join(f.dir, "config")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, ""), "writing %q", file)
	}
	return nil
}

// blobs fetches the blobs of what stands there that have not come with the trees,
// by their ids. An error is noParts unless there is too much of them, or it is of
// this machine.
func (f parts) blobs(ctx context.Context, s standing) error {
	g, where := f.git, redact(f.place.URL)
	ids, err := s.ids(), error(nil)
	if f.place.Folder == "" {
		ids, err = g.missing(ctx, f.dir, ids)
	}
	if err != nil || ids == "" {
		return err
	}
	most := min(g.cfg.MaxSize, partsLimit)
	err = effect.Do("git.blobs.fetch", func() error {
		_, err := g.run(ctx, call{
			protocol: f.protocol, gitDir: f.dir, most: most, in: strings.NewReader(ids),
			args: append(fetching(), "--no-write-fetch-head", "--filter=blob:none", "--stdin", "--", f.place.URL),
		})
		return err
	})
	if err = full(f.dir, most, err); err != nil {
		err = fault.Add(err, "fetching the files of commit %s of %q", f.head.Commit, where)
		if ctx.Err() == nil && !errors.Is(err, TooBig) && !isMachines(err) {
			return noParts{err}
		}
		return err
	}
	if len(s.modules) > 0 { // one that came without its tree was not looked at as what it is
		args := []string{"fsck", "--no-dangling", "--no-reflogs", "--no-progress", f.head.Commit}
		if _, err := g.run(ctx, call{protocol: local, gitDir: f.dir, args: args}); err != nil {
			return fault.Add(err, "checking commit %s of %q", f.head.Commit, where)
		}
	}
	return f.forget()
}

// missing is those of these objects, a line each, that dir does not hold.
func (g *Git) missing(ctx context.Context, dir, ids string) (string, error) {
	out, err := g.run(ctx, call{protocol: local, gitDir: dir, args: []string{"cat-file", "--batch-check", "--buffer"}, in: strings.NewReader(ids)})
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		if id, is := strings.CutSuffix(line, " missing\n"); is {
			b.WriteString(id + "\n")
		}
	}
	return b.String(), err
}

// ids is those of all the blobs that will be read, a line each, once each.
func (s standing) ids() string {
	var ids []string
	for _, e := range slices.Concat([]entry{s.manifest}, s.below, s.above, s.modules) {
		if e.kind == "blob" {
			ids = append(ids, e.id+"\n")
		}
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), "")
}

// atOnce remembers which forges do not give a commit in parts, and until when
// that is believed.
type atOnce struct {
	mu    sync.Mutex // guards until
	until map[string]time.Time
}

const (
	// partsAgain is after what time a forge that gave no parts is asked for them again.
	partsAgain = time.Hour

	maxHosts = 10_000 // that are remembered
)

func (a *atOnce) is(forge string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return now.Before(a.until[forge])
}

func (a *atOnce) remember(forge string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.until) >= maxHosts {
		clear(a.until)
	}
	a.until[forge] = now.Add(partsAgain)
}
