package host

import (
	"strings"
	"testing"

	"noxmesh/declaration"
)

// of says whose a resource is.
func of(r declaration.Resource, owner, group, mode string, after ...string) declaration.Resource {
	r.Traits, r.After = &declaration.Traits{Owner: owner, Group: group}, after
	if mode != "" {
		r.Mode = mode
	}
	return r
}

func dirAt(id, path, mode string) declaration.Resource {
	return declaration.Resource{ID: "m/" + id, Type: declaration.Directory, Path: path, Mode: mode}
}

func TestOwnersOnAMachine(t *testing.T) {
	t.Parallel()
	r := boots(t)
	account := user("user", declaration.Traits{Name: "board", UID: 713, Group: "board"}, "m/team")
	team := group("team", "board", 712)
	link := declaration.Resource{ID: "m/link", Type: declaration.Link, Path: "/srv/board/link", Target: "conf"}
	first := list(
		team, account, of(dirAt("dir", "/srv/board", "2770"), "board", "board", "", "m/user"),
		of(textFile("conf", "/srv/board/conf", "secret"), "root", "board", "0640", "m/dir"), of(link, "board", "", "", "m/dir"),
		of(dirAt("tmp", "/srv/board/tmp", "1777"), "", "www-data", "", "m/dir"), of(textFile("exim", "/srv/exim", "x"), "8", "12", "0600"),
	)
	facts := func(t testing.TB) string {
		t.Helper()
		return r.sh(t, "stat -c '%%n %%U:%%G %%a' $(find /srv /etc/board 2>/dev/null); cat /srv/board/conf /srv/exim; true")
	}
	const made = "/srv root:root 755\n/srv/board board:board 2770\n/srv/board/conf root:board 640\n/srv/board/link board:board 777\n/srv/board/tmp root:www-data 1777\n/srv/exim mail:man 600\nsecretx"
	r.turn(t, "made, and read back", func(t *testing.T) {
		r.says(t, first, "team changed", "user changed", "dir changed", "conf changed", "link changed", "tmp changed", "exim changed")
		if got := facts(t); sorted(got) != sorted(made) {
			t.Error(got)
		}
		rep := r.says(t, first, "team ok", "user ok", "dir ok", "conf ok", "link ok", "tmp ok", "exim ok")
		if f := rep.Facts; f == nil || f.Machine == nil || f.Machine.Virtual != "systemd-nspawn" || !strings.HasPrefix(f.Machine.System, "Debian") || f.Machine.Kernel == "" || len(f.Machine.Disks) == 0 {
			t.Errorf("it says of itself %+v", f)
		}
	})
	r.turn(t, "what has drifted is said and put back", func(t *testing.T) {
		r.sh(t, "chown www-data:users /srv/board/conf; chmod 755 /srv/board; chown -h 4242 /srv/board/link; chmod 666 /srv/exim; userdel board; groupadd -g 812 board 2>/dev/null || groupmod -g 812 board; useradd -u 813 -g board board")
		first[0].GID, first[1].UID = 0, 0
		rep := r.says(t, first, "team ok", "user ok", "dir changed", "conf changed", "link changed", "tmp ok", "exim changed")
		found := ""
		for _, res := range rep.Resources[2:] {
			found += res.Found + "\n"
		}
		if want := "mode 2755, owner 713, group 712\nowner www-data, group users\nowner 4242\n\nmode 0666\n"; found != want {
			t.Errorf("%q", found)
		}
		if got := facts(t); sorted(got) != sorted(made) {
			t.Error(got)
		}
	})
	r.turn(t, "who is not there is named", func(t *testing.T) {
		r.says(t, list(of(dirAt("a", "/srv/a", ""), "nope", "", "0755"), of(dirAt("b", "/srv/b", ""), "", "nope", "0755"), dirAt("c", "/srv/c", "0755")),
			`a failed (there is no user "nope" in "/etc/passwd"; declare the user before it; one that only a directory service knows is named by its number)`,
			`b failed (there is no group "nope" in "/etc/group"; declare the group before it; one that only a directory service knows is named by its number)`,
			`c changed`, `conf removed`, `dir removed`, `exim removed`, `link removed`, `team removed`, `tmp removed`, `user removed`)
		r.says(t, nil, "c removed")
	})
	r.turn(t, "killed anywhere", func(t *testing.T) {
		first[0].GID, first[1].UID = 712, 713
		then := list(
			team, account, of(dirAt("dir", "/srv/board", "0750"), "root", "board", "", "m/user"),
			of(textFile("conf", "/srv/board/conf", "secret"), "board", "www-data", "0400", "m/dir"), of(link, "root", "root", "", "m/dir"),
		)
		r.sweep(t, []string{"resource.mode", "resource.link", "resource.directory.make", "resource.file"}, facts, first, then)
	})
}
