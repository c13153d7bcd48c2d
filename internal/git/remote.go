package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// Head is where a ref of a remote repository stands.
type Head struct {
	Ref    string // in full; the default branch's name where none was asked for, HEAD where it has none
	Commit string // a tag's is the commit that it names
}

// LsRemote is where ref stands now, or the default branch where ref is empty. A
// commit stands where it is: nobody is asked. Its errors have the causes
// NoRepository, Empty and NoRef.
func (g *Git) LsRemote(ctx context.Context, url, ref string) (Head, error) {
	if ref != "" {
		if err := CheckRef(ref); err != nil {
			return Head{}, err
		}
		if document.IsObjectID(ref) {
			return Head{Ref: ref, Commit: ref}, CheckURL(url, g.cfg.Allow)
		}
	}
	return g.together.do(ctx, url+"\x00"+ref, func() (Head, error) {
		if ref == "" {
			return g.defaultHead(ctx, url)
		}
		return g.refHead(ctx, url, ref)
	})
}

func (g *Git) refHead(ctx context.Context, url, ref string) (Head, error) {
	refs, _, err := g.list(ctx, url, ref, ref+"^{}")
	if err != nil {
		return Head{}, err
	}
	if commit := refs[ref+"^{}"]; commit != "" {
		return Head{ref, commit}, nil
	}
	if commit := refs[ref]; commit != "" {
		return Head{ref, commit}, nil
	}
	return Head{}, g.noRef(ctx, url, ref)
}

// defaultHead follows HEAD, under whatever name the branch has today.
func (g *Git) defaultHead(ctx context.Context, url string) (Head, error) {
	refs, symref, err := g.list(ctx, url, "HEAD")
	if err != nil {
		return Head{}, err
	}
	commit := refs["HEAD"]
	if commit == "" {
		return Head{}, g.noRef(ctx, url, "HEAD")
	}
	if symref == "" || CheckRef(symref) != nil {
		symref = "HEAD"
	}
	return Head{symref, commit}, nil
}

// noRef tells an empty repository from one that has other refs.
func (g *Git) noRef(ctx context.Context, url, ref string) error {
	refs, _, err := g.list(ctx, url)
	if err != nil {
		return err
	}
	if len(refs) == 0 {
		return fault.Wrap(fault.NotFound, Empty, "repository %q", redact(url)).With("push a first commit")
	}
	if ref == "HEAD" {
		return fault.Wrap(fault.NotFound, NoRef, "repository %q has no default branch", redact(url)).
			With("name the branch, or set the default branch at the forge")
	}
	return fault.Wrap(fault.NotFound, NoRef, "ref %q of %q", ref, redact(url))
}

// list is what the remote says of the refs with exactly these names, or of all.
// A page of a web server can look like a repository without refs: that nothing
// is there is believed only of what speaks git's protocol.
func (g *Git) list(ctx context.Context, url string, names ...string) (refs map[string]string, symref string, err error) {
	protocol, err := parseURL(url, g.cfg.Allow)
	if err != nil {
		return nil, "", err
	}
	err = effect.Do("git.refs.list", func() error {
		if g.web != nil && (protocol == "https" || protocol == "http") {
			var o oddAnswer
			if refs, symref, err = g.web.list(ctx, url, names...); !errors.As(err, &o) {
				return err
			}
		}
		out, err := g.run(ctx, call{protocol: protocol, trace: len(names) == 0, args: append([]string{"ls-remote", "--quiet", "--symref", "--", url}, names...)})
		refs, symref = parseRefs(out, names)
		return err
	})
	if err != nil {
		return nil, "", fault.Add(err, "asking %q for its refs", redact(url))
	}
	return refs, symref, nil
}

// parseRefs reads "COMMIT\tREF" and "ref: REF\tHEAD", and of refs only those
// with exactly these names, or all. Any other line says nothing.
func parseRefs(out []byte, names []string) (refs map[string]string, symref string) {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	refs = map[string]string{}
	for line := range strings.Lines(string(out)) {
		left, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch target, isSymref := strings.CutPrefix(left, "ref: "); {
		case !ok, len(names) > 0 && !wanted[name]:
		case isSymref && name == "HEAD":
			symref = target
		case document.IsObjectID(left):
			refs[name] = left
		}
	}
	return refs, symref
}

// Fetch brings one commit, without its history, into dir, a new bare
// repository. Where the forge gives no commit by its id, ref is fetched and must
// hold it. The cause NoCommit says that the forge has it no more.
func (g *Git) Fetch(ctx context.Context, url, commit, ref, dir string) error {
	protocol, err := g.checkFetch(url, commit, ref)
	if err != nil {
		return err
	}
	if err := g.initBare(ctx, commit, dir); err != nil {
		return err
	}
	err = effect.Do("git.commit.fetch", func() error {
		err := g.fetch(ctx, protocol, dir, "--depth=1", url, commit)
		if errors.Is(err, errUnadvertised) && ref != "" {
			err = g.fetchThrough(ctx, fetchThrough{protocol, dir, url, ref, commit})
		}
		return err
	})
	if err = full(dir, g.cfg.MaxSize, err); err != nil {
		return fault.Add(err, "fetching commit %s of %q", commit, redact(url))
	}
	return g.hold(ctx, dir, commit)
}

// full is the error of a fetch, which says so where it ended because a file
// became as big as it may: the kernel stops git there before it can.
func full(dir string, most int64, err error) error {
	if err == nil {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", "*")) // the pattern is a good one
	if slices.ContainsFunc(files, func(f string) bool {
		st, err := os.Lstat(f)
		return err == nil && st.Size() >= most
	}) {
		return fault.Wrap(fault.Invalid, TooBig, "more than %d bytes", most)
	}
	return err
}

func (g *Git) checkFetch(url, commit, ref string) (protocol string, err error) {
	if protocol, err = parseURL(url, g.cfg.Allow); err != nil {
		return "", err
	}
	if err := CheckCommit(commit); err != nil {
		return "", err
	}
	if ref != "" && ref != "HEAD" {
		err = CheckRef(ref)
	}
	return protocol, err
}

func (g *Git) initBare(ctx context.Context, commit, dir string) error {
	format := "sha1"
	if len(commit) == 64 {
		format = "sha256"
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, ""), "making %q", dir)
	}
	args := []string{"init", "--quiet", "--bare", "--template=", "--initial-branch=none", "--object-format=" + format, "--", dir}
	if _, err := g.run(ctx, call{protocol: local, args: args}); err != nil {
		return fault.Add(err, "making a repository in %q", dir)
	}
	return nil
}

func (g *Git) fetch(ctx context.Context, protocol, dir string, args ...string) error {
	opts := fetching()
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		opts, args = append(opts, args[0]), args[1:]
	}
	opts = append(append(opts, "--"), args...)
	_, err := g.run(ctx, call{protocol: protocol, gitDir: dir, args: opts})
	return err
}

// fetching is how every fetch begins.
func fetching() []string {
	return []string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-gc", "--no-write-commit-graph"}
}

type fetchThrough struct{ protocol, dir, url, ref, commit string }

// fetchThrough gets a commit through a ref: its tip first, and all of its
// history only if the tip has moved on.
func (g *Git) fetchThrough(ctx context.Context, f fetchThrough) error {
	if document.IsObjectID(f.ref) {
		return fault.Wrap(fault.NotFound, NoCommit, "no branch to find it through").
			With("name the branch or tag that holds the commit")
	}
	if err := g.fetch(ctx, f.protocol, f.dir, "--depth=1", f.url, f.ref); err != nil {
		return err
	}
	if err := g.hold(ctx, f.dir, f.commit); !errors.Is(err, NoCommit) {
		return err
	}
	return g.fetch(ctx, f.protocol, f.dir, "--unshallow", f.url, f.ref)
}

// hold refuses a dir that does not have exactly this commit: NoCommit where git
// has looked, and says so.
func (g *Git) hold(ctx context.Context, dir, commit string) error {
	out, err := g.run(ctx, call{protocol: local, gitDir: dir, args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", commit + "^{commit}"}})
	if err != nil && !saysNo(err) {
		return fault.Add(err, "looking for commit %s", commit)
	}
	if err != nil || string(bytes.TrimSpace(out)) != commit {
		return fault.Wrap(fault.NotFound, NoCommit, "commit %s", commit).With("it was pushed over, or never there: look at the source again")
	}
	return nil
}
