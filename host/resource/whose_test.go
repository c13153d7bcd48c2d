package resource

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"noxmesh/declaration"
	"noxmesh/report"
)

// of says whose a resource is.
func of(r declaration.Resource, owner, group, mode string) declaration.Resource {
	r.Traits, r.Mode = &declaration.Traits{Owner: owner, Group: group}, mode
	return r
}

func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: only root gives files to others")
	}
}

// belongs fails where something is of others, or may be used by others.
func (m *machine) belongs(path, want string) {
	m.t.Helper()
	var s syscall.Stat_t
	must(m.t, syscall.Lstat(m.at(path), &s))
	if got := fmt.Sprintf("%d:%d %04o", s.Uid, s.Gid, s.Mode&0o7777); got != want {
		m.t.Errorf("%s is %s, want %s", path, got, want)
	}
}

// passwd writes the accounts of the machine: each is NAME:NUMBER, a user and a group.
func (m *machine) passwd(accounts ...string) {
	m.t.Helper()
	var users, groups strings.Builder
	for _, a := range accounts {
		name, number, _ := strings.Cut(a, ":")
		fmt.Fprintf(&users, "%s:x:%s:%s::/:/bin/sh\n", name, number, number)
		fmt.Fprintf(&groups, "%s:x:%s:\n", name, number)
	}
	m.plant("/etc/passwd", users.String())
	m.plant("/etc/group", groups.String())
}

func TestWhatIsDeclaredBelongsToWhomItSays(t *testing.T) {
	t.Parallel()
	onlyRoot(t)
	m := newMachine(t)
	m.passwd("root:0", "board:712", "team:713")
	site := m.depot.archive(t, "m/site", "/site", map[string]string{"page": "x", "d/": "/", "l": "->page"})
	all := []declaration.Resource{
		of(m.depot.file("m/file", "/f", "text"), "board", "team", "0640"), of(directory("m/dir", "/d", ""), "board", "", "2775"),
		of(symlink("m/link", "/l", "f"), "712", "713", ""), of(site, "board", "board", ""),
		of(m.depot.file("m/in", "/d/f", "text"), "", "0", ""), m.depot.file("m/any", "/d/any", "text"),
	}
	m.applied(all...)
	right := func() {
		t.Helper()
		for path, want := range map[string]string{
			"/f": "712:713 0640", "/d": "712:0 2775", "/l": "712:713 0777", "/site": "712:712 0755", "/site/page": "712:712 0644", "/site/d": "712:712 0755",
			"/site/l": "712:712 0777", "/d/f": "0:0 0644", "/d/any": "0:0 0644",
		} {
			m.belongs(path, want)
		}
	}
	right()
	before := m.snapshot()
	if r := m.applied(all...); r.Wrote {
		t.Errorf("it wrote: %s", words(r))
	}
	if after := m.snapshot(); strings.Join(before, "\n") != strings.Join(after, "\n") {
		t.Error("it wrote where nothing had changed")
	}
	// What has drifted is said, by name where there is one, and put back.
	must(t, os.Lchown(m.at("/f"), 713, 9999))
	must(t, os.Chmod(m.at("/d"), 0o700))
	must(t, os.Lchown(m.at("/l"), 0, 713))
	must(t, os.Lchown(m.at("/site/l"), 1, -1))
	must(t, os.Lchown(m.at("/site/page"), -1, 1))
	must(t, os.Lchown(m.at("/d/any"), 1, 1)) // nobody said anything about that
	r := m.applied(all...)
	for id, want := range map[string]string{
		"m/file": "owner team, group 9999", "m/dir": "mode 0700", "m/link": "owner root", "m/site": "l: owner 1; page: group 1", "m/in": "", "m/any": "",
	} {
		if got := state(t, r, id); got.Found != want || got.Fixed != (want != "") {
			t.Errorf("%s: %+v, want %q", id, got, want)
		}
	}
	m.belongs("/d/any", "1:1 0644")
	must(t, os.Lchown(m.at("/d/any"), 0, 0))
	right()
	// A user that was made anew has another number.
	m.passwd("root:0", "board:812", "team:713")
	r = m.applied(all...)
	if got := state(t, r, "m/file"); got.Found != "owner 712" || !got.Fixed {
		t.Errorf("%+v", got)
	}
	m.belongs("/f", "812:713 0640")
	m.belongs("/l", "712:713 0777")
	m.restart()
	m.passwd("team:713")
	r = m.apply(all...)
	if got, want := state(t, r, "m/file").Error, `there is no user "board" in "/etc/passwd"; declare the user before it; one that only a directory service knows is named by its number`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r.Outcome != report.OutcomeFailed {
		t.Error(r.Outcome)
	}
	m.state(r, "m/link", report.StateOK)
	m.state(r, "m/in", report.StateBlocked)
	m.applied()
	m.is("/f", "")
	m.is("/site", "")
}

// A file with another name as well is not given away under it: the one at the path
// is made anew.
func TestAFileIsNotGivenAwayUnderItsOtherName(t *testing.T) {
	t.Parallel()
	onlyRoot(t)
	m := newMachine(t)
	m.plant("/etc/shadow", "text")
	must(t, os.Chmod(m.at("/etc/shadow"), 0o600))
	must(t, os.MkdirAll(m.at("/srv"), 0o755))
	must(t, os.Link(m.at("/etc/shadow"), m.at("/srv/f")))
	r := m.applied(of(m.depot.file("m/f", "/srv/f", "text"), "712", "712", "0644"))
	if got := state(t, r, "m/f"); got.Found != "mode 0600, owner 0, group 0" {
		t.Errorf("%+v", got)
	}
	m.belongs("/etc/shadow", "0:0 0600")
	m.belongs("/srv/f", "712:712 0644")
	m.applied()
	m.belongs("/srv/f", "712:712 0644") // it was there before
}

// What was there is taken over, and is let go of as it is then.
func TestWhoseItWasIsNotPutBack(t *testing.T) {
	t.Parallel()
	onlyRoot(t)
	m := newMachine(t)
	m.plant("/f", "theirs")
	m.plant("/d/", "/")
	must(t, os.Chown(m.at("/f"), 5, 6))
	must(t, os.Chown(m.at("/d"), 5, 6))
	m.applied(m.depot.file("m/f", "/f", "ours"), of(directory("m/d", "/d", ""), "7", "", "1777"))
	m.belongs("/f", "0:0 0644") // written anew, and nobody else was named
	m.belongs("/d", "7:6 1777")
	m.applied()
	m.is("/f", "ours")
	m.belongs("/d", "7:6 1777")
}
