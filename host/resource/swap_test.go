package resource

import (
	"maps"
	"os"
	"strings"
	"syscall"
	"testing"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/report"
)

// swapped says of an archive that it comes all at once.
func swapped(r declaration.Resource) declaration.Resource {
	r.Traits = &declaration.Traits{Swap: true}
	return r
}

func (m *machine) inode(path string) uint64 {
	m.t.Helper()
	var s syscall.Stat_t
	must(m.t, syscall.Lstat(m.at(path), &s))
	return s.Ino
}

// beside is what waits in a folder under a name of the host's.
func (m *machine) beside(dir string) string {
	m.t.Helper()
	names, err := os.ReadDir(m.at(dir))
	must(m.t, err)
	for _, n := range names {
		if strings.HasPrefix(n.Name(), ".mesh-new-") {
			return n.Name()
		}
	}
	return ""
}

func TestAnArchiveIsSwapped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	old := map[string]string{"same": strings.Repeat("the same\n", 1000), "page": "one", "was/a": "a", "turns": "file", "l": "->page", "in/to": "x"}
	is := map[string]string{"same": old["same"], "page": "two", "new/b": "b", "turns/in": "folder", "l": "->same", "in": "file now"}
	site := func(files map[string]string) declaration.Resource {
		return swapped(m.depot.archive(t, "m/site", "/srv/site", files))
	}
	m.applied(site(old))
	folder, same := m.inode("/srv/site"), m.inode("/srv/site/same")
	m.depot.read = 0
	r := m.applied(site(is))
	if m.inode("/srv/site") == folder {
		t.Error("it is the same folder")
	}
	if m.inode("/srv/site/same") != same {
		t.Error("what is the same was written anew")
	}
	if got := m.beside("/srv"); got != "" {
		t.Errorf("%s is left", got)
	}
	for p, want := range is {
		m.is("/srv/site/"+p, want)
	}
	for _, p := range []string{"was", "was/a", "in/to"} {
		m.is("/srv/site/"+p, "")
	}
	if got := state(t, r, "m/site"); got.State != report.StateChanged || got.Fixed {
		t.Errorf("%+v", got)
	}
	m.restart()
	if r := m.applied(site(is)); r.Wrote {
		t.Errorf("it wrote: %s", words(r))
	}
	// What drifts is put back where it is.
	folder = m.inode("/srv/site")
	m.plant("/srv/site/page", "by hand")
	if r := m.applied(site(is)); !state(t, r, "m/site").Fixed || m.inode("/srv/site") != folder {
		t.Errorf("%s", words(r))
	}
	m.applied()
	m.is("/srv/site", "")
}

// What is not the module's alone is not swapped away: nothing has been touched then.
func TestWhatIsNotTheModulesIsNotSwappedAway(t *testing.T) {
	t.Parallel()
	files := map[string]string{"page": "one", "d/x": "x"}
	const move = `; move it away, or declare the archive without "swap"`
	for name, c := range map[string]struct {
		others func(m *machine)
		want   string
	}{
		"a file":       {func(m *machine) { m.plant("/site/d/foreign", "x") }, `swap "/site": "/site" holds d/foreign, which the host did not make, and a swap would take it away` + move},
		"a folder":     {func(m *machine) { m.plant("/site/cache/", "/") }, `swap "/site": "/site" holds cache, which the host did not make, and a swap would take it away` + move},
		"another kind": {func(m *machine) { must(m.t, os.Remove(m.at("/site/page"))); m.plant("/site/page", "->x") }, `swap "/site": "/site" holds page, which the host did not make, and a swap would take it away` + move},
		"many": {func(m *machine) {
			for _, n := range strings.Fields("a b c e f g h") {
				m.plant("/site/"+n, "x")
			}
		}, `swap "/site": "/site" holds a; b; c; e; f; and more, which the host did not make, and a swap would take it away` + move},
		"no folder": {func(m *machine) { must(m.t, os.RemoveAll(m.at("/site"))); m.plant("/site", "->d") }, `swap "/site": it was there before, and a swap would take it away`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.applied(swapped(m.depot.archive(t, "m/site", "/site", files)))
			c.others(m)
			before := m.snapshot()
			is := maps.Clone(files)
			is["page"] = "two"
			r := m.apply(swapped(m.depot.archive(t, "m/site", "/site", is)))
			if name == "no folder" {
				m.is("/site/page", "two") // the host had made something there, and this takes its place
				return
			}
			if got := m.state(r, "m/site", report.StateFailed); got.Error != c.want {
				t.Errorf("got  %s\nwant %s", got.Error, c.want)
			}
			if after := m.snapshot(); strings.Join(before, "\n") != strings.Join(after, "\n") {
				t.Errorf("before\n%s\nafter\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			// In place it is done.
			m.applied(m.depot.archive(t, "m/site", "/site", is))
			m.is("/site/page", "two")
		})
	}
}

func TestAFolderThatWasThereIsNotSwapped(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.plant("/site/mine", "mine")
	r := m.apply(swapped(m.depot.archive(t, "m/site", "/site", map[string]string{"page": "one"})))
	want := `swap "/site": it was there before, and a swap would take it away; move it away, or declare the archive without "swap"`
	if got := m.state(r, "m/site", report.StateFailed); got.Error != want {
		t.Error(got.Error)
	}
	m.is("/site/page", "")
	r = m.apply(swapped(m.depot.archive(t, "m/site", "/other", map[string]string{"page": "one"})), m.depot.file("m/in", "/other/conf", "x"))
	want = `"m/in" declares "/other/conf", which a swap of "/other" would take away; declare it elsewhere, or the archive without "swap"`
	if got := m.state(r, "m/site", report.StateFailed); got.Error != want {
		t.Error(got.Error)
	}
}

// What comes into the folder in the last moment goes with it, and is not removed: it is
// said where it is until somebody has taken it.
func TestWhatComesInTheLastMomentIsKeptAndNamed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	files := map[string]string{"page": "one", "d/x": "x"}
	m.applied(swapped(m.depot.archive(t, "m/site", "/site", files)))
	// As a kill right after the exchange leaves it, with a file that came before it.
	m.engine.record.Entries.Put(changing(m, "/site"))
	must(t, m.folder.SaveRecord(m.engine.record))
	dir, err := m.sys.Dir("/")
	must(t, err)
	temp := place{dir, "site"}.temp()
	must(t, os.CopyFS(m.at("/"+temp), os.DirFS(m.at("/site"))))
	m.plant("/"+temp+"/d/upload", "precious")
	m.restart()
	files["page"] = "two"
	r := m.apply(swapped(m.depot.archive(t, "m/site", "/site", files)))
	want := `clear what was beside "/site": "/` + temp + `", which was swapped out of "/site", holds d/upload, which the host did not make; move that to where it belongs`
	if got := m.state(r, "m/site", report.StateFailed); got.Error != want {
		t.Errorf("got  %s\nwant %s", got.Error, want)
	}
	m.is("/"+temp+"/d/upload", "precious")
	m.is("/"+temp+"/page", "")
	m.is("/site/page", "one")
	must(t, os.Rename(m.at("/"+temp+"/d/upload"), m.at("/upload")))
	m.applied(swapped(m.depot.archive(t, "m/site", "/site", files)))
	m.is("/site/page", "two")
	if got := m.beside("/"); got != "" {
		t.Errorf("%s is left", got)
	}
}

func TestASwapWhoseBytesDoNotComeLeavesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.applied(swapped(m.depot.archive(t, "m/site", "/site", map[string]string{"page": "one", "d/x": "x"})))
	next := swapped(m.depot.archive(t, "m/site", "/site", map[string]string{"page": strings.Repeat("two", 100), "d/y": "y"}))
	good := m.depot.blobs[next.Digest]
	m.depot.blobs[next.Digest] = append([]byte{}, good...)
	m.depot.blobs[next.Digest][len(good)/2] ^= 1
	before := m.snapshot()
	r := m.apply(next)
	m.state(r, "m/site", report.StateFailed)
	if got := m.beside("/"); got != "" {
		t.Errorf("%s is left", got)
	}
	after := m.snapshot()
	if strings.Join(things(before), "\n") != strings.Join(things(after), "\n") {
		t.Error("what was there was touched")
	}
	m.depot.blobs[next.Digest] = good
	m.applied(next)
	m.is("/site/d/y", "y")
}

func changing(m *machine, path string) keep.Entry {
	e, _ := m.engine.record.Entries.Get(path)
	e.Phase = keep.Changing
	return e
}
