package host

import (
	"fmt"
	"strings"
	"testing"

	"noxmesh/declaration"
)

func group(id, name string, gid int64) declaration.Resource {
	return declaration.Resource{ID: "m/" + id, Type: declaration.Group, Traits: &declaration.Traits{Name: name, GID: gid}}
}

func user(id string, t declaration.Traits, after ...string) declaration.Resource {
	return declaration.Resource{ID: "m/" + id, Type: declaration.User, Traits: &t, After: after}
}

// list is several resources.
func list(all ...declaration.Resource) []declaration.Resource { return all }

// accounts is what the machine says of these users and groups.
func (r *real) accounts(t testing.TB) string {
	t.Helper()
	return r.sh(t, `getent passwd board shop was; getent group board shop was extra more; getent shadow board shop was | cut -d: -f1,2; true`)
}

func TestUsersAndGroupsOnAMachine(t *testing.T) {
	t.Parallel()
	r := boots(t)
	r.turn(t, "made, changed and removed", func(t *testing.T) {
		all := list(group("extra", "extra", 0), group("team", "board", 712), user("user", declaration.Traits{
			Name: "board", UID: 713, Group: "board", Groups: []string{"extra", "audio"}, Home: "/srv/board", Shell: "/bin/sh",
		}, "m/extra", "m/team"), user("shop", declaration.Traits{Name: "shop"}))
		r.says(t, all, "extra changed", "team changed", "user changed", "shop changed")
		if got := r.sh(t, "id board; getent passwd board | cut -d: -f6,7; getent passwd shop | cut -d: -f6,7; id -gn shop"); got !=
			"uid=713(board) gid=712(board) groups=712(board),29(audio),"+r.sh(t, "getent group extra | cut -d: -f3")+"(extra)\n/srv/board:/bin/sh\n/nonexistent:/usr/sbin/nologin\nshop" {
			t.Error(got)
		}
		r.says(t, all, "extra ok", "team ok", "user ok", "shop ok")
		r.sh(t, "usermod -s /bin/false board; gpasswd -d board extra >/dev/null; gpasswd -a board cdrom >/dev/null")
		if rep := r.says(t, all, "extra ok", "team ok", "user changed", "shop ok"); rep.Resources[2].Found != "shell /bin/false, not in extra" || !rep.Resources[2].Fixed {
			t.Errorf("%+v", rep.Resources[2])
		}
		// Out of what the host put it into, and of nothing else.
		all[2] = user("user", declaration.Traits{Name: "board", Group: "board"}, "m/team")
		r.says(t, all, "extra ok", "team ok", "user changed", "shop ok")
		if got := r.sh(t, "id -Gn board"); got != "board cdrom" {
			t.Error(got)
		}
		r.says(t, nil, "extra removed", "shop removed", "team removed", "user removed")
		if got := r.accounts(t); got != "" {
			t.Errorf("there is still\n%s", got)
		}
	})
	r.turn(t, "what was there stays", func(t *testing.T) {
		r.sh(t, "groupadd -g 700 was; groupadd more; useradd -u 701 -g was -s /bin/false -d /was was; gpasswd -a was more >/dev/null")
		all := list(group("g", "was", 0), user("u", declaration.Traits{Name: "was", Groups: []string{"audio"}, Shell: "/bin/sh"}))
		r.says(t, all, "g ok", "u changed")
		r.says(t, nil, "g removed [group was was there before, and stays]", "u removed [user was was there before, and stays]")
		if got := r.sh(t, "id was"); got != "uid=701(was) gid=700(was) groups=700(was),"+r.sh(t, "getent group more | cut -d: -f3")+"(more)" {
			t.Error(got)
		}
		// A user that the host makes into a group that was there leaves the group.
		r.sh(t, "userdel was 2>/dev/null; getent group was >/dev/null || groupadd -g 700 was")
		r.says(t, list(user("u", declaration.Traits{Name: "was"})), "u changed")
		r.says(t, nil, "u removed")
		if got := r.sh(t, "getent group was; getent passwd was || echo none"); got != "was:x:700:\nnone" {
			t.Error(got)
		}
		r.sh(t, "groupdel was; groupdel more")
	})
	r.turn(t, "what is refused", func(t *testing.T) {
		r.sh(t, "groupadd -g 700 was; useradd -u 701 -g was was; groupadd board")
		r.says(
			t, list(
				group("number", "was", 705), user("uid", declaration.Traits{Name: "was", UID: 705}), user("none", declaration.Traits{Name: "shop", Groups: []string{"nope"}}),
				group("held", "board", 0), user("after", declaration.Traits{Name: "board", UID: 701}),
			),
			`number failed (change "group was": it has gid 700, declared is 705, and files belong to the number; declare that one, or take the group away yourself once nothing belongs to it)`,
			`uid failed (change "user was": it has uid 701, declared is 705, and files belong to the number; declare that one, or take the user away yourself once nothing belongs to it)`,
			`none failed (change "user shop": there is no group "nope"; declare the group before the user)`,
			`held ok`,
			`after failed (change "user board": "useradd" ended with 4: useradd: UID 701 is not unique)`,
		)
		r.says(t, nil, "after removed", "held removed [group board was there before, and stays]")
		r.sh(t, "userdel was; groupdel was 2>/dev/null; groupdel board")
	})
	r.turn(t, "never while it is used", func(t *testing.T) {
		all := list(group("g", "board", 0), user("u", declaration.Traits{Name: "board", Group: "board"}, "m/g"))
		r.says(t, all, "g changed", "u changed")
		pid := r.sh(t, "setpriv --reuid board --clear-groups sleep 600 >/dev/null 2>&1 & echo $!; until [ $(stat -c %%U /proc/$!) = board ]; do sleep 0.05; done")
		r.says(t, nil,
			`g failed (remove "group board": it is the own group of board; give each another one with usermod --gid)`,
			fmt.Sprintf(`u failed (remove "user board": processes of it run: sleep (pid %s); stop them: it is removed when none runs)`, pid),
		)
		r.sh(t, "kill %s; while [ -d /proc/%s ]; do sleep 0.05; done", pid, pid)
		r.says(t, nil, "g removed", "u removed")
	})
	r.turn(t, "whoever has the lock is waited for", func(t *testing.T) {
		r.sh(t, "sleep 600 >/dev/null 2>&1 & printf %%s $! | tee /root/pid >/etc/passwd.lock")
		rep, _ := r.apply(t, list(user("u", declaration.Traits{Name: "board"})))
		if got := sketch(rep); !strings.HasPrefix(got, `u waiting (change "user board": useradd: lock /etc/passwd.lock already used by PID `) ||
			!strings.Contains(got, "cannot lock /etc/passwd; try again later") {
			t.Error(got)
		}
		r.sh(t, "kill $(cat /root/pid); rm /etc/passwd.lock")
		r.says(t, list(user("u", declaration.Traits{Name: "board"})), "u changed")
		r.says(t, nil, "u removed")
	})
	r.turn(t, "half of it is missing", func(t *testing.T) { r.halfOfAccounts(t) })
	r.turn(t, "planned, and not made", func(t *testing.T) {
		bash := declaration.Resource{ID: "m/bash", Type: declaration.Package, Traits: &declaration.Traits{Name: "bash"}}
		none := declaration.Resource{ID: "m/none", Type: declaration.Service, Traits: &declaration.Traits{Unit: "none-such.service", State: declaration.Running}}
		mine := textFile("mine", "/srv/mine", "x")
		mine.After, mine.Traits = []string{"m/user"}, &declaration.Traits{Owner: "board"}
		all := list(group("team", "board", 712), user("user", declaration.Traits{Name: "board", Group: "board", Shell: "/bin/sh"}, "m/team"), bash, none, mine)
		r.plans(
			t, all, 3,
			`make    m/team  group board: nothing → {"gid":712}`,
			`refuse  m/none  service none-such.service: no such unit, not there to be enabled: change "service none-such.service": systemd has no such unit; put its file below "/etc/systemd/system", or install the package that brings it`,
			`later   m/user  user board: nothing: change "user board": there is no group "board"; declare the group before the user`,
			`later   m/mine  /srv/mine: there is no user "board" in "/etc/passwd"; declare the user before it; one that only a directory service knows is named by its number`,
			`plan: 1 as declared, 1 to make, 0 to change, 0 to remove, 0 to let go of, 0 to report, 1 refused, 2 known later`,
		)
		r.says(t, all[:2], "team changed", "user changed")
		r.sh(t, "usermod -s /bin/false board")
		r.plans(
			t, all[:2], 3, `change  m/user  user board: shell /bin/false → {"group":"board","shell":"/bin/sh"}`,
			`plan: 1 as declared, 0 to make, 1 to change, 0 to remove, 0 to let go of, 0 to report, 0 refused, 0 known later`,
		)
		r.sh(t, "usermod -s /bin/sh board")
		r.plans(t, all[:3], 0, `plan: 3 as declared, 0 to make, 0 to change, 0 to remove, 0 to let go of, 0 to report, 0 refused, 0 known later`)
		r.plans(
			t, nil, 3, `remove  m/team  group board`, `remove  m/user  user board`,
			`plan: 0 as declared, 0 to make, 0 to change, 2 to remove, 0 to let go of, 0 to report, 0 refused, 0 known later`,
		)
		r.says(t, nil, "team removed", "user removed")
	})
	r.turn(t, "killed anywhere", func(t *testing.T) {
		first := list(group("extra", "extra", 0), group("team", "board", 712), user("user", declaration.Traits{
			Name: "board", UID: 713, Group: "board", Groups: []string{"extra"}, Shell: "/bin/sh",
		}, "m/extra", "m/team"), user("shop", declaration.Traits{Name: "shop", UID: 714}))
		then := list(group("extra", "extra", 0), group("team", "board", 712), user("user", declaration.Traits{
			Name: "board", Group: "board", Groups: []string{"audio"}, Shell: "/bin/false",
		}, "m/team"))
		r.sweep(t, []string{"resource."}, r.accounts, first, then)
	})
}

// halfOfAccounts is what a program that was ended in the middle leaves of users and groups:
// it is noticed, and made whole, also by a host that is killed over it.
func (r *real) halfOfAccounts(t *testing.T) {
	const spoil = `sed -i /^board/d /etc/shadow /etc/gshadow; sed -i /^shop/d /etc/group /etc/gshadow`
	all := list(group("g", "board", 0), user("u", declaration.Traits{Name: "board", Group: "board"}, "m/g"), user("shop", declaration.Traits{Name: "shop", UID: 714}))
	r.says(t, all, "g changed", "u changed", "shop changed")
	whole := r.accounts(t)
	gid := r.sh(t, "id -g shop")
	r.sh(t, spoil)
	rep := r.says(t, all, "g changed", "u changed", "shop changed")
	if rep.Resources[0].Found != "no line in /etc/gshadow" || rep.Resources[1].Found != "no line in /etc/shadow" || rep.Resources[2].Found != "there is no group "+gid {
		t.Errorf("%+v", rep.Resources)
	}
	for _, effect := range []string{"resource.group.mend", "resource.user.change", "resource.user.complete"} {
		for _, when := range []string{":before", ":after"} {
			r.sh(t, spoil)
			if _, killed := r.apply(t, all, "MESH_CRASH="+effect+"#1"+when); !killed {
				t.Errorf("%s%s: it was not killed", effect, when)
			}
			r.apply(t, all)
			r.says(t, all, "g ok", "u ok", "shop ok")
			if got := r.sh(t, "grpck -r; pwck -qr | grep -e board -e shop; true"); got != "" {
				t.Errorf("%s%s: %s", effect, when, got)
			}
		}
	}
	if got := r.accounts(t); sorted(got) != sorted(whole) {
		t.Errorf("got\n%s\nwant\n%s", got, whole)
	}
	r.sh(t, "userdel shop; groupadd -g %s shop", gid) // it was ended before it had taken the group away
	r.says(t, nil, "g removed", "shop removed [group shop is there, which may have been made with it, and stays]", "u removed")
	r.sh(t, "groupdel shop")
}
