package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	mesh "noxmesh"
	"noxmesh/delivery/imports"
	"noxmesh/delivery/source"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/loop"
	"noxmesh/manifest"
)

// nudged is the modules that are compared for what f does.
func nudged(t *testing.T, c *Controller, f func() error) (names []string) {
	t.Helper()
	const begin, end = "^", "~" // the only one that is listed, and one that comes after all that f nudges
	reached := map[string]chan struct{}{begin: make(chan struct{}), end: make(chan struct{})}
	spec := c.spec("build", func(context.Context) ([]string, error) { return []string{begin}, nil }, func(_ context.Context, name string) (loop.Result, error) {
		if at, mark := reached[name]; mark {
			close(at)
		} else {
			names = append(names, name)
		}
		return loop.Result{}, nil
	}, time.Hour)
	spec.Workers = 1
	c.builds = loop.New(spec)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.builds.Run(ctx) }()
	<-reached[begin]
	if err := f(); err != nil {
		t.Error(err)
	}
	c.builds.Nudge(end)
	<-reached[end]
	stop()
	<-ended
	slices.Sort(names)
	return names
}

// Whoever is built against a module is compared when what they see of it has
// moved. Where it stands, and that a look has failed, is nothing to them.
func TestUsersAreComparedForWhatTheySee(t *testing.T) {
	t.Parallel()
	c := bare(dbtest.Open(t, dbtest.SQLite(t), "nudge"))
	c.declares = c.loop("declare", nil, nil, time.Hour) // does not run
	says := func(name string, asks ...string) imports.Reading {
		f := imports.Found{Owns: []imports.Own{{Name: "example.com/" + name}}}
		for _, to := range asks {
			f.Imports = append(f.Imports, imports.Import{Name: "example.com/" + to})
		}
		return imports.Reading{Key: imports.Key("linux/amd64", name, "t1"), Says: imports.Say(map[string]imports.Found{"go": f})}
	}
	at := func(name string, code imports.Reading) source.Source {
		return source.Source{
			Module: name, Ref: "refs/heads/main", Commit: "c1", Tree: "t1", Head: "c1", State: source.Read,
			Manifest: manifest.Source{Module: name}, Code: code,
		}
	}
	is := at("core", says("core"))
	err := c.write(t.Context(), func(tx *db.Tx) error {
		for _, s := range []source.Source{is, at("site", says("site", "core")), at("top", says("top", "site")), at("other", says("other"))} {
			m := mesh.Module{Name: s.Module, Repository: "https://forge.example/" + s.Module + ".git", Ref: "refs/heads/main", Folder: s.Module}
			if err := deliverystore.AddModule(tx, m, "me", time.UnixMilli(1)); err != nil {
				return err
			}
			if err := deliverystore.SaveSource(tx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	alone, users := []string{"core"}, []string{"core", "site", "top"}
	for _, step := range []struct {
		what string
		move func(*source.Source)
		want []string
	}{
		{"nothing", func(*source.Source) {}, nil},
		{"a look that failed", func(s *source.Source) { s.State, s.Why = source.Unreachable, "the forge is away" }, alone},
		{"and one that did not", func(s *source.Source) { s.State, s.Why = source.Read, "" }, alone},
		{"a commit with the folder as it was", func(s *source.Source) { s.Commit, s.Head = "c2", "c2" }, alone},
		{"another tree", func(s *source.Source) { s.Commit, s.Head, s.Tree = "c3", "c3", "t3" }, users},
		{"code that is read again", func(s *source.Source) { s.Code.Key += "'" }, users},
		{"a commit no more", func(s *source.Source) { s.State, s.Commit, s.Head = source.Gone, "", "" }, users},
	} {
		was := is
		step.move(&is)
		got := nudged(t, c, func() error { return c.saveSource(t.Context(), was, is) })
		if !slices.Equal(got, step.want) {
			t.Errorf("%s: %q are compared, and not %q", step.what, got, step.want)
		}
	}
}

// What a commit says, and that a module is no more, is read by itself: the book
// goes on, however large the record is.
func TestTheBookGoesOnWhereCodeMoves(t *testing.T) {
	t.Parallel()
	c := bare(dbtest.Open(t, dbtest.SQLite(t), "book"))
	s := source.Source{Module: "core", Ref: "refs/heads/main", Commit: "c1", Tree: "t1", State: source.Read, Manifest: manifest.Source{Module: "core"}}
	read := func() *view {
		t.Helper()
		var is *view
		if err := c.with(t.Context(), func(v *view) error {
			is = v
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return is
	}
	write := func(f func(tx *db.Tx) error) {
		t.Helper()
		if err := c.write(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	add := func(module string) {
		t.Helper()
		write(func(tx *db.Tx) error {
			return deliverystore.AddModule(tx, mesh.Module{Name: module, Repository: "https://forge.example/" + module + ".git", Ref: "refs/heads/main"}, "me", time.UnixMilli(1))
		})
	}
	add("core")
	was := read()
	add("other")
	if is := read(); is != was || is.modules["other"] == nil {
		t.Errorf("with one more module: the book is another (%v), or does not have it", is != was)
	}
	for _, name := range []string{"a", "b"} {
		f := imports.Found{Owns: []imports.Own{{Name: "example.com/" + name}}}
		s.Code = imports.Reading{Key: name, Says: imports.Say(map[string]imports.Found{"go": f})}
		write(func(tx *db.Tx) error { return deliverystore.SaveSource(tx, s) })
		if is := read(); is != was || is.code.Owner("go", "example.com/"+name) != "core" {
			t.Errorf("%s: the book is another (%v), or does not have it: it is %q's", name, is != was, is.code.Owner("go", "example.com/"+name))
		}
	}
	write(func(tx *db.Tx) error { return deliverystore.RemoveModule(tx, "core", time.UnixMilli(2)) })
	if is := read(); is != was || is.code.Owner("go", "example.com/b") != "" {
		t.Errorf("without the module: the book is another (%v), or has it", is != was)
	}
}
