package resource

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/report"
)

func TestApplyMakesAndAgainIsNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	all := []declaration.Resource{
		directory("a/dir", "/etc/app", "0750"),
		m.depot.file("a/conf", "/etc/app/conf", "hello\n"),
		symlink("a/link", "/etc/current", "app/conf"),
		m.depot.archive(t, "a/site", "/opt/site", map[string]string{"index.html": "<p>", "img/a": "a", "img/l": "->a", "empty": "/"}),
	}
	r := m.applied(all...)
	for _, res := range r.Resources {
		if res.State != report.StateChanged || res.Fixed || res.Digest == "" {
			t.Errorf("%s: %s fixed=%v digest=%q", res.ID, res.State, res.Fixed, res.Digest)
		}
	}
	m.is("/etc/app/conf", "hello\n")
	m.is("/etc/current", "->app/conf")
	m.is("/opt/site/img/a", "a")
	m.is("/opt/site/img/l", "->a")
	m.is("/opt/site/empty", "/")
	info, err := os.Stat(m.at("/etc/app"))
	must(t, err)
	if info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v", info.Mode())
	}
	before := m.snapshot()
	for range 2 {
		again := m.applied(all...)
		if again.Wrote {
			t.Error("a second apply says that it wrote")
		}
		if got := m.snapshot(); !slices.Equal(got, before) {
			t.Errorf("a second apply wrote:\n%s\nwas\n%s", strings.Join(got, "\n"), strings.Join(before, "\n"))
		}
		m.restart()
	}
}

func TestDriftIsPutBack(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	all := []declaration.Resource{
		directory("a/dir", "/d", "0755"),
		m.depot.file("a/f", "/d/f", "as declared"),
		m.depot.file("a/g", "/d/g", "as declared too"),
		symlink("a/l", "/d/l", "f"),
		m.depot.archive(t, "a/ar", "/ar", map[string]string{"x": "xx", "y/z": "zz"}),
	}
	m.applied(all...)
	cases := map[string]struct {
		id    string
		drift func()
		path  string
		want  string
		found string
	}{
		"content":           {"a/f", func() { m.plant("/d/f", "by hand") }, "/d/f", "as declared", "other content"},
		"longer":            {"a/f", func() { m.plant("/d/f", "as declared, and more") }, "/d/f", "as declared", "other content"},
		"gone":              {"a/f", func() { must(t, os.Remove(m.at("/d/f"))) }, "/d/f", "as declared", "nothing"},
		"mode":              {"a/g", func() { must(t, os.Chmod(m.at("/d/g"), 0o600)) }, "/d/g", "as declared too", "mode 0600"},
		"setuid":            {"a/g", func() { must(t, os.Chmod(m.at("/d/g"), 0o644|os.ModeSetuid)) }, "/d/g", "as declared too", "mode 4644"},
		"directory's mode":  {"a/dir", func() { must(t, os.Chmod(m.at("/d"), 0o777)) }, "/d", "/", "mode 0777"},
		"link's target":     {"a/l", func() { must(t, os.Remove(m.at("/d/l"))); m.plant("/d/l", "->/elsewhere") }, "/d/l", "->f", "a link to /elsewhere"},
		"file for a link":   {"a/l", func() { must(t, os.Remove(m.at("/d/l"))); m.plant("/d/l", "file") }, "/d/l", "->f", "a file"},
		"link for a file":   {"a/f", func() { must(t, os.Remove(m.at("/d/f"))); m.plant("/d/f", "->g") }, "/d/f", "as declared", "a link"},
		"empty dir":         {"a/f", func() { must(t, os.Remove(m.at("/d/f"))); m.plant("/d/f", "/") }, "/d/f", "as declared", "a directory"},
		"inside an archive": {"a/ar", func() { m.plant("/ar/y/z", "by hand") }, "/ar/y/z", "zz", "y/z: other content"},
		"archive's folder":  {"a/ar", func() { must(t, os.RemoveAll(m.at("/ar/y"))) }, "/ar/y/z", "zz", "y/z: nothing"},
	}
	for name, c := range cases { //nolint:paralleltest // one machine after another's drift
		t.Run(name, func(t *testing.T) {
			c.drift()
			r := m.applied(all...)
			got := m.state(r, c.id, report.StateChanged)
			if !got.Fixed || !strings.Contains(got.Found, c.found) {
				t.Errorf("fixed=%v found=%q, want %q in it", got.Fixed, got.Found, c.found)
			}
			m.is(c.path, c.want)
			for _, other := range r.Resources {
				if other.ID != c.id && other.State != report.StateOK {
					t.Errorf("%s is %s as well", other.ID, other.State)
				}
			}
			if again := m.applied(all...); again.Wrote {
				t.Error("once more, and it wrote")
			}
		})
	}
}

func TestRemovesWhatItMadeAndNothingElse(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.plant("/etc/before", "was here")
	m.plant("/etc/same", "same")
	m.plant("/opt/site/mine", "foreign")
	f := m.depot.file("a/f", "/new/deep/f", "x")
	over := m.depot.file("a/over", "/etc/before", "taken over")
	same := m.depot.file("a/same", "/etc/same", "same")
	ar := m.depot.archive(t, "a/ar", "/opt/site", map[string]string{"a/b": "b", "c": "c"})
	m.applied(f, over, same, ar)
	m.is("/etc/before", "taken over")
	m.restart()
	r := m.applied()
	for _, id := range []string{"a/f", "a/over", "a/same", "a/ar"} {
		m.state(r, id, report.StateRemoved)
	}
	if got := state(t, r, "a/over"); !strings.Contains(got.Found, "was there before") {
		t.Errorf("released without a word: %q", got.Found)
	}
	m.is("/new", "")
	m.is("/etc/before", "taken over")
	m.is("/etc/same", "same")
	m.is("/opt/site/mine", "foreign")
	m.is("/opt/site/a", "")
	m.is("/opt/site/c", "")
	if got := m.engine.Paths(); len(got) != 0 {
		t.Errorf("the record still has %v", got)
	}
	if r := m.applied(); len(r.Resources) != 0 || r.Wrote {
		t.Errorf("a second time: %s", words(r))
	}
}

func TestForeignThingsInsideMadeDirectoriesStay(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.applied(directory("a/d", "/d", ""), m.depot.file("a/f", "/d/e/f", "x"))
	m.plant("/d/e/foreign", "keep me")
	r := m.applied()
	m.is("/d/e/foreign", "keep me")
	m.is("/d/e/f", "")
	m.state(r, "a/f", report.StateRemoved)
	m.state(r, "a/d", report.StateRemoved)
	if r := m.applied(); len(r.Resources) != 0 {
		t.Errorf("told twice: %s", words(r))
	}
}

// TestRemovesOnlyWhereItMade puts a link in the place of a directory that the
// host made: what it leads to has the same names, and is somebody else's.
func TestRemovesOnlyWhereItMade(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.applied(m.depot.file("a/x", "/d/e/x", "x"))
	must(t, os.Rename(m.at("/d"), m.at("/moved")))
	m.plant("/other/e/x", "x")
	m.plant("/d", "->other")
	m.applied()
	m.is("/other/e/x", "x")
	m.is("/d", "->other")
	m.is("/moved/e/x", "x")
}

// TestWhatLedThroughARemovedLinkIsNotApplied: the link goes after the file that
// it led to was read back.
func TestWhatLedThroughARemovedLinkIsNotApplied(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.plant("/way", "->step")
	m.applied(symlink("a/step", "/step", "."))
	r := m.apply(m.depot.file("a/f", "/way/f", "f"))
	m.state(r, "a/f", report.StateFailed)
	if r.Outcome != report.OutcomeFailed {
		t.Errorf("outcome %s, and /way/f is %q", r.Outcome, describe(m.at("/way/f")))
	}
}

// TestAPathThatLeadsElsewhereLeavesNothingBehind: a link on the way goes, and
// what was made through it goes too.
func TestAPathThatLeadsElsewhereLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.plant("/one/", "/")
	m.plant("/way", "->one")
	f := m.depot.file("a/f", "/way/deep/f", "f")
	m.applied(f)
	m.is("/one/deep/f", "f")
	must(t, os.Remove(m.at("/way")))
	m.plant("/two/deep/f", "f")
	m.plant("/way", "->two")
	m.applied(f)
	m.is("/one/deep", "")
	m.is("/one", "/")
	m.applied()
	m.is("/two/deep/f", "f")
}

func TestArchiveChangesInPlace(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	big := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB, more than a frame
	one := m.depot.archive(t, "a/ar", "/ar", map[string]string{"big": big, "gone/x": "x", "stays": "s", "kind": "file", "turns/y": "y"})
	two := m.depot.archive(t, "a/ar", "/ar", map[string]string{"big": big, "new/x": "x", "stays": "s", "kind/now": "dir", "turns": "->stays"})
	m.applied(one)
	m.plant("/ar/foreign", "f")
	before, err := os.Stat(m.at("/ar/big"))
	must(t, err)
	read := m.depot.read
	m.applied(two)
	after, err := os.Stat(m.at("/ar/big"))
	must(t, err)
	if !os.SameFile(before, after) {
		t.Error("a file that did not change was written")
	}
	if fetched := m.depot.read - read; fetched > 64<<10 {
		t.Errorf("fetched %d bytes for three small files", fetched)
	}
	m.is("/ar/gone", "")
	m.is("/ar/new/x", "x")
	m.is("/ar/kind/now", "dir")
	m.is("/ar/turns", "->stays")
	m.is("/ar/foreign", "f")
	m.applied(one)
	m.is("/ar/kind", "file")
	m.is("/ar/turns/y", "y")
	m.is("/ar/new", "")
	m.is("/ar/foreign", "f")
}

func TestArchiveIsReadBackWithoutTheRegistry(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	ar := m.depot.archive(t, "a/ar", "/ar", map[string]string{"x": "xx", "y": "yy"})
	f := m.depot.file("a/f", "/f", "f")
	m.applied(ar, f)
	m.restart()
	m.depot.absent = true
	m.applied(ar, f)
	must(t, os.Remove(m.at("/ar/x")))
	must(t, os.Remove(m.at("/f")))
	r := m.apply(ar, f)
	for _, id := range []string{"a/ar", "a/f"} {
		if got := m.state(r, id, report.StateWaiting); !strings.Contains(got.Error, "r.example") {
			t.Errorf("it does not say what it waits for: %q", got.Error)
		}
	}
	m.is("/ar/y", "yy")
	m.depot.absent = false
	if got := state(t, m.applied(ar, f), "a/ar"); !got.Fixed {
		t.Error("drift that waited is not said to be put back")
	}
	m.is("/ar/x", "xx")
}

func TestNothingIsRemovedWhileItsSuccessorWaits(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.applied(m.depot.archive(t, "a/ar", "/ar", map[string]string{"x": "1"}), m.depot.file("a/f", "/old", "f"))
	next := m.depot.archive(t, "a/ar", "/ar", map[string]string{"y": "2"})
	moved := m.depot.file("a/f", "/new", "other")
	m.depot.absent = true
	m.apply(next, moved)
	m.is("/ar/x", "1")
	m.is("/old", "f")
	m.depot.absent = false
	m.applied(next, moved)
	m.is("/ar/x", "")
	m.is("/ar/y", "2")
	m.is("/old", "")
	m.is("/new", "other")
}

func TestTypesChangeAtOnePath(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	forms := map[string]declaration.Resource{
		"file":      m.depot.file("a/p", "/p", "file"),
		"directory": directory("a/p", "/p", ""),
		"link":      symlink("a/p", "/p", "elsewhere"),
		"archive":   m.depot.archive(t, "a/p", "/p", map[string]string{"in/side": "s", "l": "->in"}),
		"below":     m.depot.file("a/p", "/p/q/r", "deep"),
		"none":      m.depot.file("a/p", "/other", "o"),
	}
	for from, a := range forms {
		for to, b := range forms {
			m.applied(a)
			r := m.apply(b)
			if r.Outcome != report.OutcomeApplied {
				t.Errorf("%s to %s: %s", from, to, words(r))
			}
			m.restart()
			if again := m.applied(b); again.Wrote {
				t.Errorf("%s to %s: it is not over: %s", from, to, words(again))
			}
			m.applied()
			if left := m.snapshot(); len(left) != 0 {
				t.Fatalf("%s to %s: left %v", from, to, left)
			}
		}
	}
}

func TestAPathMovesBetweenResources(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.applied(m.depot.file("a/f", "/p", "1"), m.depot.archive(t, "a/ar", "/ar", map[string]string{"x": "x"}))
	r := m.applied(m.depot.file("b/f", "/p", "2"), m.depot.file("b/x", "/ar/x", "mine now"))
	m.is("/p", "2")
	m.is("/ar/x", "mine now")
	m.state(r, "a/f", report.StateRemoved)
	m.state(r, "a/ar", report.StateRemoved)
	m.applied()
	if left := m.snapshot(); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestFailuresBlockWhatComesAfterAndNothingElse(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.plant("/busy/by/somebody", "x")
	bad := m.depot.file("a/bad", "/busy", "f")
	after := m.depot.file("a/after", "/after", "f")
	after.After = []string{"a/bad"}
	last := m.depot.file("a/last", "/last", "f")
	last.After = []string{"a/after"}
	free := m.depot.file("a/free", "/free", "f")
	r := m.apply(bad, after, last, free)
	if r.Outcome != report.OutcomeFailed {
		t.Errorf("outcome %s", r.Outcome)
	}
	if got := m.state(r, "a/bad", report.StateFailed); !strings.Contains(got.Error, "by, which the host did not make") {
		t.Errorf("it does not say what is in the way: %q", got.Error)
	}
	if got := m.state(r, "a/after", report.StateBlocked); !strings.Contains(got.Error, `"a/bad"`) {
		t.Errorf("blocked by what? %q", got.Error)
	}
	m.state(r, "a/last", report.StateBlocked)
	m.state(r, "a/free", report.StateChanged)
	m.is("/busy/by/somebody", "x")
	m.is("/after", "")
	must(t, os.RemoveAll(m.at("/busy")))
	m.applied(bad, after, last, free)
	m.is("/last", "f")
}

func TestForeignThingsAreNotReplacedByDirectories(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.plant("/f", "foreign")
	m.plant("/l", "->somewhere")
	must(t, syscall.Mkfifo(m.at("/fifo"), 0o644))
	r := m.apply(directory("a/f", "/f", ""), m.depot.archive(t, "a/l", "/l", map[string]string{"x": "x"}),
		m.depot.file("a/fifo", "/fifo", "x"), m.depot.file("a/under", "/f/x", "x"))
	for _, res := range r.Resources {
		if res.State != report.StateFailed && res.State != report.StateBlocked {
			t.Errorf("%s is %s", res.ID, res.State)
		}
	}
	m.is("/f", "foreign")
	m.is("/l", "->somewhere")
	m.applied()
	m.is("/f", "foreign")
	m.is("/l", "->somewhere")
}

func TestNeverWritesThroughALinkThatLeavesTheRoot(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	m := newMachine(t)
	m.plant("/out", "->"+outside)
	m.plant("/up", "->../../../../../../.."+outside)
	r := m.apply(m.depot.file("a/abs", "/out/f", "x"), m.depot.file("a/rel", "/up/f", "x"),
		m.depot.archive(t, "a/ar", "/out/ar", map[string]string{"x": "x"}))
	names, err := os.ReadDir(outside)
	must(t, err)
	if len(names) != 0 {
		t.Errorf("outside the root there is %v: %s", names, words(r))
	}
	m.is("/out", "->"+outside)
}

func TestLinksInsideTheRootAreFollowed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.plant("/run/", "/")
	m.plant("/var/run", "->/run")
	f := m.depot.file("a/f", "/var/run/f", "x")
	m.applied(f)
	m.is("/run/f", "x")
	// The same place under its other name: what is declared is not removed.
	g := m.depot.file("a/g", "/run/f", "x")
	m.applied(g)
	m.is("/run/f", "x")
	m.applied()
	m.is("/run/f", "") // made by the host, whatever its name was then
	m.applied(g)
	m.applied(f)
	m.applied()
	m.is("/run/f", "")
	r := m.apply(f, g)
	if state(t, r, "a/g").State != report.StateFailed {
		t.Errorf("two resources in one place: %s", words(r))
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.plant("/opt/here", "->../var/lib/mesh-host")
	m.plant("/opt/lib", "->/var/lib")
	m.plant("/opt/root", "->/")
	paths := []string{
		"/", "/var/lib/mesh-host", "/var/lib/mesh-host/record", "/etc/mesh-host", "/etc/mesh-host/x", "/usr/lib/nox-mesh-host/hook", "/usr/bin/mesh-host", "/proc/sys/x", "/sys/x", "/dev/null",
		"/opt/here/identity", "/opt/lib/mesh-host/record", "/opt/lib/mesh-host", "/opt/root/etc/mesh-host/x", "/opt/root/proc/x",
		"/etc/systemd/system/mesh-host.service", "/usr/lib/systemd/system/mesh-host.service.d/x.conf",
		"//etc/x", "/etc/x/", "/etc/../etc/x", "etc/x", "", "/etc/x\x00",
	}
	for _, p := range paths {
		body := declaration.Body{Resources: []declaration.Resource{m.depot.file("a/ok", "/ok", "x"), m.depot.file("a/bad", p, "x")}}
		err := Refuse(m.sys, body)
		if err == nil || !strings.Contains(err.Error(), `"a/bad"`) {
			t.Errorf("%q: %v", p, err)
		}
		// And where it was not seen in time, the resource fails.
		if strings.HasPrefix(p, "/opt/") {
			if r := m.apply(body.Resources...); state(t, r, "a/bad").State != report.StateFailed {
				t.Errorf("%q was written: %s", p, words(r))
			}
		}
	}
	for _, l := range []string{"/var", "/var/lib", "/etc"} {
		if err := Refuse(m.sys, declaration.Body{Resources: []declaration.Resource{symlink("a/l", l, "elsewhere")}}); err == nil {
			t.Errorf("a link in place of %q", l)
		}
	}
	for _, p := range []string{"/etc", "/var/lib", "/var/lib/mesh-hosts", "/etc/systemd/system/site.service", "/opt/ok"} {
		if err := Refuse(m.sys, declaration.Body{Resources: []declaration.Resource{directory("a/d", p, "")}}); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
	two := declaration.Body{Resources: []declaration.Resource{m.depot.file("a/1", "/x", "1"), m.depot.file("b/2", "/x", "2")}}
	if err := Refuse(m.sys, two); err == nil || !strings.Contains(err.Error(), "b/2") {
		t.Errorf("two owners of a path: %v", err)
	}
	r := m.apply(m.depot.archive(t, "a/ar", "/var/lib", map[string]string{"mesh-host/record": "x"}))
	if state(t, r, "a/ar").State != report.StateFailed {
		t.Errorf("an archive over the state: %s", words(r))
	}
	// A link that a declaration brings, and a path through it in the same one.
	r = m.apply(symlink("a/l", "/opt/way", "../var/lib"), m.depot.file("a/f", "/opt/way/mesh-host/record", "x"))
	if state(t, r, "a/f").State != report.StateFailed {
		t.Errorf("through a link of its own: %s", words(r))
	}
	m.restart()
}

func TestWrongBytesAreNeverUsed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	f := m.depot.file("a/f", "/f", "right")
	for name, body := range map[string]string{"other": "wrong", "longer": "right and more", "shorter": "rig", "none": ""} {
		m.depot.bodies[f.Digest] = []byte(body)
		r := m.apply(f)
		m.state(r, "a/f", report.StateFailed)
		m.is("/f", "")
		if left := m.snapshot(); len(left) != 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
	m.depot.bodies[f.Digest] = []byte("right")
	m.depot.breakOff = true
	m.state(m.apply(f), "a/f", report.StateWaiting)
	m.depot.breakOff = false
	m.applied(f)
	ar := m.depot.archive(t, "a/ar", "/ar", map[string]string{"x": "xx"})
	other := m.depot.archive(t, "a/other", "/ar", map[string]string{"x": "yy"})
	m.depot.blobs[ar.Digest], m.depot.indexes[other.Digest] = m.depot.blobs[other.Digest], m.depot.indexes[ar.Digest]
	r := m.apply(f, ar)
	m.state(r, "a/ar", report.StateFailed)
	m.is("/ar/x", "")
	m.state(m.apply(f, other), "a/other", report.StateFailed)
}

func TestWhatAKilledHostWasMakingIsKnown(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	f := m.depot.file("a/f", "/f", "v1")
	g := m.depot.file("a/g", "/g", "v1")
	h := m.depot.file("a/h", "/h", "v1")
	record := keep.NewRecord()
	for _, r := range []declaration.Resource{f, g, h} {
		want, err := thing(&r)
		must(t, err)
		record.Entries.Put(keep.Entry{Thing: want, ID: r.ID, Origin: keep.Made, Phase: keep.Making})
	}
	must(t, m.folder.SaveRecord(record))
	m.plant("/f", "v1")              // made, and not yet recorded
	m.plant("/g", "somebody else's") // made by another between
	pl, err := at(m.sys, "/h")
	must(t, err)
	m.plant("/"+pl.temp(), "half") // staged, and not yet committed
	m.restart()
	m.applied() // another declaration, with none of them
	m.is("/f", "")
	m.is("/g", "somebody else's")
	if left := m.snapshot(); len(left) != 1 {
		t.Errorf("left %v", left)
	}
	must(t, m.folder.SaveRecord(record))
	m.restart()
	m.applied(f, g, h)
	m.is("/g", "v1")
	m.applied()
	m.is("/f", "")
	m.is("/g", "v1") // taken over: released
	m.is("/h", "")
}
