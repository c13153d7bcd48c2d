package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	mesh "noxmesh"
	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/delivery/build"
	"noxmesh/delivery/graph"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/spoken"
	"noxmesh/delivery/source"
	"noxmesh/internal/clock"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	"noxmesh/manifest"
	"noxmesh/plan"
	"noxmesh/status"
)

// refsOf is what a person may mean by a branch, a tag or a commit, the likeliest
// first.
func refsOf(rev string) ([]string, error) {
	if git.CheckCommit(rev) == nil {
		return []string{rev}, nil
	}
	var refs []string
	for _, begin := range []string{"", "refs/", "refs/heads/", "refs/tags/"} {
		if git.CheckRef(begin+rev) == nil {
			refs = append(refs, begin+rev)
		}
	}
	if len(refs) == 0 {
		return nil, fault.New(fault.Invalid, "%q is not a branch, a tag or a commit", rev).With("mesh plan --commit MODULE@REV, as site@main or site@v1.2")
	}
	return refs, nil
}

// answerChange is what a commit would change. It reads the commit as a look at
// the source would, and works with what it found beside the record.
func (c *Controller) answerChange(ctx context.Context, _ api.Who, in api.ChangeIn) (out api.ChangeOut, err error) {
	refs, err := refsOf(in.Rev)
	if err != nil {
		return out, err
	}
	var base base
	err = c.with(ctx, func(v *view) (err error) {
		base, err = v.base(in.Module)
		return err
	})
	if err != nil {
		return out, err
	}
	seen, err := c.seeRev(ctx, base.module, in.Rev, refs)
	if err != nil {
		return out, err
	}
	change := base.with(seen)
	out = api.ChangeOut{
		Module: in.Module, Ref: seen.Ref, Commit: seen.Commit, Tree: seen.Tree, Now: base.source.Commit, Same: seen.Tree == base.source.Tree,
		Rebuilt: []api.Rebuilt{}, Added: edgesIn(change.Added), Removed: edgesIn(change.Removed), Against: []string{}, Nodes: []api.ChangedNode{},
		Requires: movedNames(base.source.Manifest.Requires, seen.Manifest.Requires),
		Provides: movedNames(provided(base.source.Manifest), provided(seen.Manifest)),
	}
	for _, w := range delivery.InputsOf(delivery.Facts{Source: source.Source{Code: seen.Code}}, graph.Laid{Open: change.Open, Nobodys: change.Nobodys}, nil).Lacks {
		out.Against = append(out.Against, "waits for "+w.For)
	}
	err = c.with(ctx, func(v *view) error {
		f := v.facts(v.modules[in.Module].row)
		f.Source.Manifest = seen.Manifest
		w := v.wantedAt(in.Module, seen)
		out.Environment = status.EnvironmentOf(f, w)
		if was := base.source.Manifest.Build; was != nil && was.In != w.In && base.source.Commit != "" {
			out.Instead = was.In
		}
		if says := w.Words(); says != "" {
			out.Against = append(out.Against, "waits for "+says)
		}
		out.Against = append(out.Against, v.unmet(in.Module, seen.Manifest)...)
		v.rebuilt(change, &out)
		return nil
	})
	return out, err
}

// base is what a commit is compared with.
type base struct {
	module mesh.Module
	source source.Source
	moved  bool // the image that it is built in is another than its newest build was made in
	code   graph.Code
	codes  []graph.Code
}

func (v *view) base(module string) (b base, err error) {
	m, err := v.module(module)
	if err != nil {
		return b, err
	}
	b.module, b.source, b.code = m.Module, v.source(module), v.modules[module].code
	b.moved = v.imageMoved(module)
	for _, name := range v.names {
		b.codes = append(b.codes, v.modules[name].code)
	}
	return b, nil
}

// places is repositories in one form: to work it out costs more than the edges of
// a module.
type places map[string]string

// codeOf is what the graph needs to know of a module with this source.
func (p places) codeOf(m mesh.Module, s source.Source) graph.Code {
	code := graph.Code{Module: m.Name, Repository: p.of(m.Repository), Folder: m.Folder, Says: s.Code.Says}
	return withImages(code, s.Manifest, s.Lines)
}

// of is a repository in that form.
func (p places) of(repository string) string {
	key, there := p[repository]
	if !there {
		key = git.Key(repository)
		p[repository] = key
	}
	return key
}

// withImages is a module's code with the images that its manifest asks for and
// makes: they are edges like any other.
func withImages(code graph.Code, m manifest.Source, lines manifest.Lines) graph.Code {
	code.Beside = nil
	if m.Build == nil {
		return code
	}
	var beside graph.Beside
	for _, i := range m.AskedImages() {
		at := imports.Place{File: path.Join(code.Folder, manifest.Name), Line: lines.OfImage(i.Artifact)}
		beside.Asks = append(beside.Asks, graph.Asked{Language: build.InImages, Name: i.Name, At: at})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Images())) {
		beside.Owns = append(beside.Owns, graph.Owned{Language: build.InImages, Name: name})
	}
	if len(beside.Asks)+len(beside.Owns) > 0 {
		code.Beside = &beside
	}
	return code
}

// with is what follows where the module is what was seen.
func (b base) with(seen source.Seen) graph.Change {
	was, is := graph.NewBuilds(spoken.Languages()), graph.NewBuilds(spoken.Languages())
	for _, code := range b.codes {
		was.Set(code)
		is.Set(code)
	}
	code := b.code
	code.Says = seen.Code.Says
	is.Set(withImages(code, seen.Manifest, seen.Lines))
	return graph.Would(was, is, b.module.Name, seen.Tree != b.source.Tree || b.moved)
}

// seeRev is the first of these refs that is there, read as a look would read it.
// It waits for nobody's turn and is counted nowhere.
func (c *Controller) seeRev(ctx context.Context, m mesh.Module, rev string, refs []string) (source.Seen, error) {
	what := fmt.Sprintf("look at %s of %q", rev, m.Name)
	seen, err := c.seeFirst(ctx, m, refs)
	if err == nil && seen.State == source.NoRef && begins(rev) {
		seen, err = c.seeShort(ctx, m, strings.ToLower(rev))
	}
	if err != nil {
		return seen, fault.Add(err, "%s", what)
	}
	switch seen.State {
	case source.Read:
		return seen, nil
	case source.NoRef:
		e := fault.New(fault.NotFound, "%s: there is no such branch or tag in %q", what, m.Repository)
		if hexadecimal(rev) {
			return seen, e.With("of a commit at least %d digits are wanted: git rev-parse %s says them", git.ShortLimit, rev)
		}
		return seen, e.With("git ls-remote %s lists those that are there; is it pushed?", m.Repository)
	case source.NoCommit:
		return seen, fault.New(fault.NotFound, "%s: there is no such commit in %q", what, m.Repository).With("is it pushed?")
	case source.Unreachable, source.Denied, source.Gone, source.Empty, source.Refused, source.NeverLooked:
		return seen, fault.New(fault.Unavailable, "%s: %s: %s", what, seen.State, seen.Why)
	case source.NoFolder, source.NoManifest, source.NotFile, source.BadManifest, source.WrongModule:
	}
	return seen, fault.New(fault.Conflict, "%s: at commit %s %s: %s", what, seen.Commit[:min(7, len(seen.Commit))], seen.State, seen.Why).
		With("the mesh would go on with the commit before, and status would say this")
}

// seeFirst is the first of these refs that is there.
func (c *Controller) seeFirst(ctx context.Context, m mesh.Module, refs []string) (seen source.Seen, err error) {
	for _, ref := range refs {
		m.Ref = ref
		if seen, err = c.seeSoon(ctx, m); err != nil || seen.State != source.NoRef {
			break
		}
	}
	return seen, err
}

// seeShort is the one commit whose id begins so.
func (c *Controller) seeShort(ctx context.Context, m mesh.Module, short string) (source.Seen, error) {
	commit, err := soon(ctx, func() (string, error) { return c.git.Whole(ctx, m.Repository, short) })
	switch {
	case errors.Is(err, git.NoCommit):
		return source.Seen{}, fault.New(fault.NotFound, "there is no branch or tag with that name in %q, and no commit of one that begins so", m.Repository).
			With("git log --all shows the commits, git ls-remote %s the branches and tags; is it pushed?", m.Repository)
	case err != nil:
		return source.Seen{}, err
	}
	m.Ref = commit
	return c.seeSoon(ctx, m)
}

// patience is how long a person's question waits for a forge that has enough to do.
const patience = 10 * time.Second

// seeSoon is see for somebody who waits.
func (c *Controller) seeSoon(ctx context.Context, m mesh.Module) (source.Seen, error) {
	return soon(ctx, func() (source.Seen, error) { return c.see(ctx, m, source.Source{Module: m.Name}) })
}

// soon asks a forge for somebody who waits until it may be asked.
func soon[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	for until := clock.Now().Add(patience); ; {
		got, err := ask()
		later, is := errors.AsType[git.Later](err)
		switch {
		case ctx.Err() != nil:
			return got, ctx.Err()
		case !is:
			return got, err
		case clock.Now().Add(later.After).After(until):
			return got, fault.Wrap(fault.Unavailable, later, "ask its forge").With("it has named that time itself, or is slow; ask again then")
		}
		rest(ctx, later.After)
	}
}

func hexadecimal(s string) bool {
	return len(s) >= 4 && strings.Trim(strings.ToLower(s), "0123456789abcdef") == ""
}

// begins reports whether somebody may mean the commit whose id begins so.
func begins(s string) bool { return len(s) >= git.ShortLimit && hexadecimal(s) }

func edgesIn(edges []graph.Edge) []api.Edge {
	return append([]api.Edge{}, buildEdges(edges)...)
}

func provided(m manifest.Source) []string {
	var all []string
	for _, p := range m.Provides {
		all = append(all, p.Name)
	}
	return all
}

func movedNames(was, is []string) api.Moved {
	without := func(names, others []string) []string {
		out := append([]string{}, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })...)
		slices.Sort(out)
		return slices.Compact(out)
	}
	return api.Moved{Added: without(is, was), Removed: without(was, is)}
}

// unmet is what nothing would provide, of what the module requires and of what
// others require of it, where it has this manifest.
func (v *view) unmet(module string, is manifest.Source) []string {
	modules, asked := v.known.Near(v.names, nil)
	there := v.known.There(append(asked, provided(is)...))
	says := func(modules []plan.Module) map[string]bool {
		all := map[string]bool{}
		for _, n := range plan.Needs(modules, there) {
			if n.Why != "" {
				all[n.From+" "+n.Why] = true
			}
		}
		return all
	}
	before := says(modules)
	changed := slices.DeleteFunc(slices.Clone(modules), func(m plan.Module) bool { return m.Name == module })
	after := says(append(changed, plan.Module{Name: module, Source: &is}))
	maps.DeleteFunc(after, func(why string, _ bool) bool { return before[why] })
	return slices.Sorted(maps.Keys(after))
}

// rebuilt fills in what is built again, and on which nodes that is.
func (v *view) rebuilt(change graph.Change, out *api.ChangeOut) {
	on := map[string]*api.ChangedNode{}
	for _, r := range change.Rebuilt {
		one := api.Rebuilt{Module: r.Module, Moved: r.Moved, Against: append([]string{}, r.Against...), Problem: r.Problem, Nodes: names(v, v.nodesOf(r.Module))}
		out.Rebuilt = append(out.Rebuilt, one)
		for _, node := range one.Nodes {
			n := on[node]
			if n == nil {
				n = &api.ChangedNode{Name: node, Auto: []string{}, Manual: []string{}}
				on[node] = n
			}
			if delivery.Policy(v.at(r.Module).row.Policy) == delivery.Auto {
				n.Auto = append(n.Auto, r.Module)
			} else {
				n.Manual = append(n.Manual, r.Module)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(on)) {
		out.Nodes = append(out.Nodes, *on[name])
	}
}
