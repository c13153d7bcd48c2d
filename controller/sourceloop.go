package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	mesh "noxmesh"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/imports/spoken"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/git"
	"noxmesh/internal/loop"
	"noxmesh/internal/planted"
	"noxmesh/manifest"
	"noxmesh/plan"
)

// sourceStep looks at one module's source and records what it found. A failure
// is recorded as a state, and returned too, so that it counts as trouble.
func (c *Controller) sourceStep(ctx context.Context, name string) (loop.Result, error) {
	m, was, err := c.sourceRow(ctx, name)
	if fault.KindOf(err) == fault.NotFound {
		return loop.Result{}, nil
	}
	if err != nil {
		return loop.Result{}, err
	}
	now := clock.Now()
	c.hooks.looking(name, git.Key(m.Repository), now) // a hook that comes from here on means one more look
	if err := c.keepForged(ctx, name); err != nil {
		return loop.Result{}, err
	}
	said := c.hooks.saidOf(name)
	seen, err := c.see(ctx, m.Module, was)
	if later, is := errors.AsType[git.Later](err); is {
		return loop.Result{After: later.After, Unseen: true}, nil
	}
	next := source.Look(was, seen, now)
	next.Module = name
	if planted.Is("a missing source is no module") && (next.State == source.Gone || next.State == source.Empty || next.State == source.NoRef) {
		if err := c.write(ctx, func(tx *db.Tx) error { return undeclareAll(tx, name) }); err != nil {
			return loop.Result{}, err
		}
	}
	for _, p := range said {
		next = source.Heed(next, p, now)
	}
	if ctx.Err() != nil {
		return loop.Result{}, ctx.Err()
	}
	if err := c.saveSource(ctx, was, next); err != nil {
		return loop.Result{}, err
	}
	c.hooks.heeded(name, len(said))
	c.looked.Store(name, now) // after the record: a fresh look is of what it found
	return c.lookedAt(ctx, m.Module, next)
}

// lookedAt ends a look whose find is recorded: what came before the commit is
// asked, what stands in the way is said, and when to come again.
func (c *Controller) lookedAt(ctx context.Context, m mesh.Module, is source.Source) (loop.Result, error) {
	next, err := c.judge(ctx, m, is)
	later, sent := errors.AsType[git.Later](err)
	if err != nil && !sent {
		return loop.Result{}, err
	}
	if next.State != source.Read {
		return loop.Result{}, fault.New(kindOf(next.State), "source of %q: %s: %s", m.Name, next.State, next.Why)
	}
	_, behind := next.Behind()
	if patience := c.hooks.patience(m.Name, behind); patience > 0 && (!sent || patience < later.After) {
		return loop.Result{After: patience}, nil
	}
	return loop.Result{After: later.After}, nil
}

// sourceRow is what the record has of a module's source before a look at it.
func (c *Controller) sourceRow(ctx context.Context, name string) (m deliverystore.ModuleRow, was source.Source, err error) {
	err = c.db.Read(ctx, func(tx *db.Tx) (err error) {
		if m, err = deliverystore.Module(tx, name); err != nil {
			return err
		}
		if was, err = deliverystore.Source(tx, name); err != nil {
			return err
		}
		return c.recallForged(tx, name)
	})
	return m, was, err
}

// undeclareAll is a planted bug: what cannot be read is taken for what is not there.
func undeclareAll(tx *db.Tx, module string) error {
	rows, err := deliverystore.Declared(tx)
	for _, d := range rows {
		if err == nil && d.Module == module {
			err = deliverystore.Undeclare(tx, module, d.Node)
		}
	}
	return err
}

// saveSource records what is known of a source where there is something to
// record, and lets what depends on it be compared.
func (c *Controller) saveSource(ctx context.Context, was, next source.Source) error {
	if !moved(was, next) {
		return nil
	}
	if err := c.write(ctx, func(tx *db.Tx) error { return deliverystore.SaveSource(tx, next) }); err != nil {
		return err
	}
	c.log.Info("source", "module", next.Module, "state", next.State.String(), "commit", next.Commit, "why", next.Why)
	c.builds.Forgive(next.Module) // there is something new to compare, whatever was in the way before
	if movedForUsers(was, next) {
		if err := c.nudgeUsers(ctx, next.Module); err != nil {
			return err
		}
	}
	if err := c.nudgeAwaiting(ctx, was, next); err != nil {
		return err
	}
	if err := c.nudgeImage(ctx, next.Module); err != nil {
		return err
	}
	if (was.Commit == "") != (next.Commit == "") || !plan.Alike(was.Manifest, next.Manifest) {
		c.declares.NudgeAll() // what it requires may decide what belongs on a node
	}
	return nil
}

// nudgeUsers lets what is built against a module be compared.
func (c *Controller) nudgeUsers(ctx context.Context, module string) error {
	return c.with(ctx, func(v *view) error {
		for _, name := range v.code.Above([]string{module}) {
			if name != module {
				c.builds.Nudge(name)
			}
		}
		return nil
	})
}

// judge finds out whether the newest commit comes after the one before, once it
// has gone on its way. A forge that does not answer is asked at the next look, and
// so is one that this machine could not ask; one that is not to be asked now is a
// git.Later.
func (c *Controller) judge(ctx context.Context, m mesh.Module, s source.Source) (source.Source, error) {
	from, to, is := s.Unjudged()
	if !is || s.State != source.Read {
		return s, nil
	}
	d, err := c.git.Descends(ctx, git.Place{URL: m.Repository, Ref: s.Ref, Folder: m.Folder}, to, from)
	later, sent := errors.AsType[git.Later](err)
	switch {
	case sent:
		return s, later
	case ctx.Err() != nil:
		return s, nil //nolint:nilerr // the next look asks again
	case err != nil && !answered(err):
		c.log.Warn("it is not known yet what came before a commit; the next look asks again", "module", m.Name, "commit", to, "why", err)
		return s, nil
	}
	next := source.Judged(s, kindOfDescent(d))
	return next, c.saveSource(ctx, s, next)
}

// answered reports whether the forge has answered, and what it has does not say.
func answered(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.NotFound || kind == fault.Invalid || kind == fault.Denied
}

func kindOfDescent(d git.Descent) source.Kind {
	switch d {
	case git.Rewritten:
		return source.Rewritten
	case git.Unrelated:
		return source.Unrelated
	case git.FarApart:
		return source.FarApart
	case git.Forward:
	}
	return ""
}

// kindOf says whether to back off. Where the forge has answered and what is there
// is wrong, only a change can mend it, and that goes out within one look.
func kindOf(s source.State) fault.Kind {
	switch s {
	case source.Unreachable, source.Denied, source.Refused, source.NoCommit:
		return fault.Unavailable
	case source.NeverLooked, source.Read, source.Gone, source.Empty, source.NoRef, source.NoFolder, source.NoManifest, source.NotFile,
		source.BadManifest, source.WrongModule:
	}
	return fault.Invalid
}

// moved reports whether there is anything to record: the time of a look is not.
func moved(was, next source.Source) bool {
	return was.Commit != next.Commit || was.Tree != next.Tree || was.Ref != next.Ref || was.State != next.State ||
		was.Why != next.Why || was.Head != next.Head || was.Code.Key != next.Code.Key || !was.Since.Equal(next.Since) ||
		!slices.EqualFunc(was.Notices, next.Notices, func(a, b source.Notice) bool {
			return a.Since.Equal(b.Since) && a.String() == b.String() && a.Kind == b.Kind
		})
}

// movedForUsers reports whether what others are built against may be another, or
// what they ask for somebody else's. Neither where the source stands nor that a
// look failed is.
func movedForUsers(was, next source.Source) bool {
	return was.Tree != next.Tree || was.Code.Key != next.Code.Key || (was.Commit == "") != (next.Commit == "")
}

// see is what the rim finds of a module's source; its only error is git.Later,
// and then nothing is.
func (c *Controller) see(ctx context.Context, m mesh.Module, was source.Source) (source.Seen, error) {
	languages := spoken.Languages()
	wanted := git.Known{Commit: was.Known(), FileLimit: imports.FileLimit, Wants: func(path string, above bool) bool { return imports.Wants(languages, path, above) }}
	read := imports.Key(c.cfg.Platform, m.Folder, "")
	var known bool
	if wanted.Code, known = strings.CutPrefix(was.Code.Key, read); !known {
		wanted.Code = ""
		if was.Known() == was.Commit {
			wanted.Commit = "" // it was read, and its code was not, or by another version
		}
	}
	found, err := c.git.Look(ctx, git.Place{URL: m.Repository, Ref: m.Ref, Folder: m.Folder}, wanted)
	if later, is := errors.AsType[git.Later](err); is {
		return source.Seen{}, later
	}
	seen := source.Seen{State: source.Read, Ref: found.Ref, Commit: found.Commit, Tree: found.Tree, Same: found.Unchanged}
	switch {
	case err != nil:
		seen.State, seen.Why = stateOf(err), err.Error()
		return seen, nil
	case found.Unchanged:
		return seen, nil
	case found.Kept:
		seen.Manifest, seen.Lines, seen.Code = was.Manifest, was.Lines, was.Code
		return seen, nil
	case found.Manifest == nil:
		seen.State, seen.Why = stateInPlace(found.Cause), found.Why
		return seen, nil
	case imports.Pointer(found.Manifest):
		seen.State, seen.Why = source.BadManifest, "it is a pointer of Git LFS, and what it points to is not in the repository: commit the file itself"
		return seen, nil
	}
	if seen.Manifest, err = manifest.DecodeSource(manifest.Name, found.Manifest); err != nil {
		seen.State, seen.Why = source.BadManifest, err.Error()
		return seen, nil //nolint:nilerr // it is a state
	}
	seen.Lines = manifest.LinesOf(found.Manifest, seen.Manifest)
	if seen.Manifest.Module != m.Name {
		seen.State = source.WrongModule
		seen.Why = fmt.Sprintf("its manifest is that of %q", seen.Manifest.Module)
	}
	seen.Code = imports.Reading{Key: read + found.Code, Says: c.readCode(m.Folder, found.Files, seen.Manifest)}
	return seen, nil
}

// readCode is what a module's code says.
func (c *Controller) readCode(folder string, files []git.File, m manifest.Source) imports.Said {
	in := imports.Input{Platform: c.cfg.Platform, Folder: folder}
	for _, f := range files {
		in.Files = append(in.Files, imports.File{Path: f.Path, Text: f.Text, Link: f.Link})
	}
	return imports.Say(withBases(imports.Read(spoken.Languages(), in), in, m))
}

// stateInPlace is the state of a commit that has something else in the manifest's place.
func stateInPlace(c git.Cause) source.State {
	switch c {
	case git.NoFolder:
		return source.NoFolder
	case git.NotFile:
		return source.NotFile
	case git.TooBig:
		return source.BadManifest
	case git.NoFile, git.NoRepository, git.Empty, git.NoRef, git.NoCommit:
	}
	return source.NoManifest
}

// stateOf is the named state that a failed look is.
func stateOf(err error) source.State {
	for _, row := range []struct {
		cause git.Cause
		state source.State
	}{
		{git.NoRepository, source.Gone},
		{git.Empty, source.Empty},
		{git.NoRef, source.NoRef},
		{git.NoCommit, source.NoCommit}, // or it was pushed over between two questions, twice
	} {
		if errors.Is(err, row.cause) {
			return row.state
		}
	}
	switch fault.KindOf(err) {
	case fault.Denied:
		return source.Denied
	case fault.Invalid:
		return source.Refused
	case fault.Unknown, fault.NotFound, fault.Conflict, fault.Unavailable, fault.Broken:
	}
	return source.Unreachable
}
