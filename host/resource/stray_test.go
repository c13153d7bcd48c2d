package resource

import (
	"os"
	"slices"
	"testing"

	"noxmesh/declaration"
)

// Where things lie that are held: what is declared by itself before what is in
// archives, and of that the nearest first.
func TestFoldersAreTheNearestFirst(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.applied(
		m.depot.archive(t, "m/site", "/a/site", map[string]string{"x": "1", "deep/er/y": "2", "deep/z": "3"}),
		m.depot.file("m/f", "/v/w/f", "x"), directory("m/d", "/e", "0755"),
	)
	folders, all := m.engine.Folders(100)
	want := []string{"/", "/v", "/v/w", "/a", "/a/site", "/a/site/deep", "/a/site/deep/er"}
	if !slices.Equal(folders, want) || all != len(want) {
		t.Errorf("%q of %d, want %q", folders, all, want)
	}
	if folders, all = m.engine.Folders(4); !slices.Equal(folders, want[:4]) || all != len(want) {
		t.Errorf("%q of %d", folders, all)
	}
}

// What strayed is found at its place, by whatever way that was reached; what was
// not made right, and what is nobody's, has not strayed.
func TestStrayed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	must(t, os.MkdirAll(m.at("real"), 0o755))
	must(t, os.Symlink("real", m.at("way")))
	all := []declaration.Resource{
		m.depot.file("m/f", "/etc/x/f", "one"), m.depot.file("m/g", "/way/g", "two"), directory("m/d", "/e", "0755"), m.depot.file("m/bad", "/bad", "three"),
	}
	m.plant("/bad/theirs", "x")
	m.apply(all...)
	m.engine.Folders(100)
	is := func(want bool, places ...string) {
		t.Helper()
		if got := m.engine.Strayed(places); got != want {
			t.Errorf("%q strayed: %v", places, got)
		}
	}
	is(false, "/etc/x/f", "/real/g", "/way/g", "/e", "/etc", "/etc/x", "/bad", "/bad/theirs", "/none")
	if m.engine.StrayedAnywhere() {
		t.Error("nothing has strayed")
	}
	for place, change := range map[string]func() error{
		"/etc/x/f": func() error { return os.Remove(m.at("etc/x/f")) },
		"/real/g":  func() error { return os.Chmod(m.at("real/g"), 0o600) },
		"/e":       func() error { return os.Chmod(m.at("e"), 0o700) },
		"/etc/x":   func() error { return os.Rename(m.at("etc/x"), m.at("etc/y")) },
	} {
		must(t, change())
		is(true, "/none", place)
		if !m.engine.StrayedAnywhere() {
			t.Errorf("%q has strayed", place)
		}
		must(t, os.RemoveAll(m.at("etc/y")))
		m.apply(all...)
		is(false, place)
	}
	must(t, os.Chmod(m.at("etc"), 0o700)) // on the way to something, its mode is nobody's
	is(false, "/etc")
}
