package resource

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

const (
	passwdFile = "/etc/passwd"
	groupFile  = "/etc/group"
	shadow     = "/etc/shadow" // where the passwords of users are, where it is there
	gshadow    = "/etc/gshadow"

	accountsMost  = 8 << 20         // bytes that are read of either file
	accountsLimit = 2 * time.Minute // for one program that changes them: it waits some seconds for their lock
)

// account is a line of /etc/passwd.
type account struct {
	name        string
	uid, gid    int64
	home, shell string
	hides       bool // its password is in the file for that, says its line
}

// team is a line of /etc/group.
type team struct {
	name    string
	gid     int64
	members []string
	hides   bool
}

// accounts is what the machine's own files say of users and groups. What a
// directory service would say has no part in it.
type accounts struct {
	users map[string]account
	teams map[string]team

	halves map[string]string // users and groups of which not every file has a line, and what it is then
}

func readAccounts(sys *system.Root) (accounts, error) {
	a := accounts{users: map[string]account{}, teams: map[string]team{}}
	for file, line := range map[string]func([]string){passwdFile: a.user, groupFile: a.team} {
		text, err := sys.Text(file, accountsMost)
		if system.Absent(err) {
			continue
		}
		if err != nil {
			return a, fault.Wrap(fault.Conflict, system.Cause(err), "read %q", file)
		}
		for entry := range strings.Lines(text) {
			line(strings.Split(strings.TrimSuffix(entry, "\n"), ":"))
		}
	}
	return a, nil
}

// readHalves is readAccounts, with what programs that were ended in the middle have left
// of users and groups, or had not come to.
func readHalves(sys *system.Root) (accounts, error) {
	a, err := readAccounts(sys)
	if err != nil {
		return a, err
	}
	a.halves = map[string]string{}
	lines, err := namesOfLines(sys, shadow)
	for name, u := range a.users {
		if lines != nil && u.hides && !lines[name] {
			a.halves["user "+name] = "no line in " + shadow
		}
	}
	if err != nil {
		return a, err
	}
	lines, err = namesOfLines(sys, gshadow)
	for name, t := range a.teams {
		if lines != nil && t.hides && !lines[name] {
			a.halves["group "+name] = "no line in " + gshadow
		}
	}
	return a, err
}

// namesOfLines is whom the lines of such a file are about; nil where there is no file.
func namesOfLines(sys *system.Root, file string) (map[string]bool, error) {
	text, err := sys.Text(file, accountsMost)
	if system.Absent(err) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, fault.Wrap(fault.Conflict, system.Cause(err), "read %q", file)
	}
	names := map[string]bool{}
	for entry := range strings.Lines(text) {
		name, _, _ := strings.Cut(entry, ":")
		names[name] = true
	}
	return names, nil
}

// user takes in a line of /etc/passwd. Of two with one name the first counts, as
// everywhere; what is no line is nobody.
func (a accounts) user(f []string) {
	if len(f) != 7 || f[0] == "" {
		return
	}
	uid, bad := strconv.ParseInt(f[2], 10, 64)
	gid, worse := strconv.ParseInt(f[3], 10, 64)
	if _, there := a.users[f[0]]; there || bad != nil || worse != nil {
		return
	}
	a.users[f[0]] = account{name: f[0], uid: uid, gid: gid, home: f[5], shell: f[6], hides: f[1] == "x"}
}

func (a accounts) team(f []string) {
	if len(f) != 4 || f[0] == "" {
		return
	}
	gid, bad := strconv.ParseInt(f[2], 10, 64)
	if _, there := a.teams[f[0]]; there || bad != nil {
		return
	}
	a.teams[f[0]] = team{name: f[0], gid: gid, members: strings.FieldsFunc(f[3], func(r rune) bool { return r == ',' }), hides: f[1] == "x"}
}

// in reports whether a user is listed as a member of a group.
func (a accounts) in(user, group string) bool { return slices.Contains(a.teams[group].members, user) }

// called is the name of the group with this number, or the number.
func (a accounts) called(gid int64) string {
	for _, t := range a.teams {
		if t.gid == gid {
			return t.name
		}
	}
	return strconv.FormatInt(gid, 10)
}

// primaryOf is the users whose own group has this number.
func (a accounts) primaryOf(gid int64) []string {
	var users []string
	for _, u := range a.users {
		if u.gid == gid {
			users = append(users, u.name)
		}
	}
	slices.Sort(users)
	return users
}

// run runs one of the programs that change users and groups. They write the
// files anew and rename them, under one lock.
func (p *pass) run(ctx context.Context, name string, args ...string) error {
	done, err := p.sys.Run(ctx, system.Command{Name: name, Args: args})
	if err != nil || done.Code == 0 {
		return err
	}
	by := system.Blamed(done.Said, "/etc")
	if by == nil {
		by = system.Unwritable("/etc") // they call that a lock
	}
	if by != nil {
		return fault.Wrap(fault.Conflict, by, "%q", name)
	}
	if strings.Contains(done.Said, "cannot lock") {
		return fault.New(fault.Unavailable, "%s", strings.ReplaceAll(done.Said, "\n", "; ")).
			With("somebody else is changing users or groups; where nobody is, remove what is named")
	}
	return done.Failed(name)
}
