package resource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// users is the system users of the machine: without a password, without a folder.
// The note of one is what the host has made, as words: "OWN" for a group of its own,
// the home and the shell that it was made with, and each group that it was put into.
type users struct{}

// The note's words that are the name of no group: those are in lower case.
const (
	own       = "OWN"
	madeHome  = "HOME="
	madeShell = "SHELL="
)

const noPassword = "!" // no password is this one

func noteOf(h *holding) []string { return strings.Fields(h.hold.Note) }

// joined is the groups that the host has put a user into.
func joined(h *holding) []string {
	return slices.DeleteFunc(noteOf(h), func(word string) bool {
		return word == own || strings.HasPrefix(word, madeHome) || strings.HasPrefix(word, madeShell)
	})
}

func (users) look(_ context.Context, p *pass, all []*holding) {
	a, err := readHalves(p.sys)
	for _, h := range all {
		if err != nil {
			h.failed(err)
			continue
		}
		u, there := a.users[h.name()]
		if !there {
			h.found = stand{says: nothing}
			continue
		}
		entry, groups := unlikeEntry(h, a, u), append(unlikeGroups(h, a), lacks(h, a, u)...)
		h.found = stand{
			there: true, same: len(entry)+len(groups) == 0, half: len(entry) == 0 && madeAs(h, u),
			says: strings.Join(append(entry, groups...), ", "),
		}
	}
}

// madeAs reports whether a user has what the host meant to make it with.
func madeAs(h *holding, u account) bool {
	note := noteOf(h)
	return slices.Contains(note, madeHome+u.home) && slices.Contains(note, madeShell+u.shell)
}

// unlikeEntry is how a user's own entry is not as declared.
func unlikeEntry(h *holding, a accounts, u account) []string {
	var says []string
	for _, f := range []struct{ what, is, want string }{
		{"uid", number(u.uid), number(h.want.UID)},
		{"group", a.called(u.gid), h.want.Group},
		{"home", u.home, h.want.Home},
		{"shell", u.shell, h.want.Shell},
	} {
		if f.want != "" && f.is != f.want {
			says = append(says, f.what+" "+f.is)
		}
	}
	return says
}

// unlikeGroups is how the groups that it is in are not as declared.
func unlikeGroups(h *holding, a accounts) []string {
	var says []string
	if missing := missing(h, a); len(missing) > 0 {
		says = append(says, "not in "+strings.Join(missing, ", "))
	}
	if old := dropped(h, a); len(old) > 0 {
		says = append(says, "still in "+strings.Join(old, ", "))
	}
	return says
}

// lacks is what of a user is not there because somebody was ended in the middle of making it.
func lacks(h *holding, a accounts, u account) []string {
	var says []string
	if half := a.halves[h.hold.Subject]; half != "" {
		says = append(says, half)
	}
	if lacksGroup(h, a, u) {
		says = append(says, "there is no group "+strconv.FormatInt(u.gid, 10))
	}
	return says
}

// lacksGroup reports whether the group is not there that was to be made with the user.
func lacksGroup(h *holding, a accounts, u account) bool {
	return h.want.Group == "" && slices.Contains(noteOf(h), own) && a.called(u.gid) == strconv.FormatInt(u.gid, 10) && a.teams[h.name()].name == ""
}

// missing is the groups that the user is not in yet.
func missing(h *holding, a accounts) []string {
	return slices.DeleteFunc(slices.Clone(h.want.Groups), func(g string) bool { return a.in(h.name(), g) })
}

// dropped is the groups that the host has put the user into, and that are declared no longer.
func dropped(h *holding, a accounts) []string {
	return slices.DeleteFunc(joined(h), func(g string) bool { return slices.Contains(h.want.Groups, g) || !a.in(h.name(), g) })
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// mean refuses another number, as for a group, and a group that is not there.
func (users) mean(p *pass, all []*holding) {
	a, err := readAccounts(p.sys)
	if err != nil {
		allFailed(all, err)
		return
	}
	for _, h := range all {
		u, there := a.users[h.name()]
		if there && h.want.UID != 0 && u.uid != h.want.UID {
			h.refused("declare that one, or take the user away yourself once nothing belongs to it",
				"it has uid %d, declared is %d, and files belong to the number", u.uid, h.want.UID)
		}
		for _, g := range append([]string{h.want.Group}, h.want.Groups...) {
			if g != "" && a.teams[g].name == "" {
				h.refused("declare the group before the user", "there is no group %q", g)
			}
		}
		h.hold.Note = meant(h, a, there)
	}
}

// meant is the note of a user that is about to be changed, or made.
func meant(h *holding, a accounts, there bool) string {
	var note []string
	if there {
		note = noteOf(h)
	} else if note = []string{madeHome + homeOf(h.want), madeShell + shellOf(h.want)}; a.teams[h.name()].name == "" && h.want.Group == "" {
		note = append(note, own)
	}
	note = append(note, missing(h, a)...)
	slices.Sort(note)
	return strings.Join(slices.Compact(note), " ")
}

func homeOf(t declaration.Traits) string { return cmp.Or(t.Home, "/nonexistent") }

func shellOf(t declaration.Traits) string { return cmp.Or(t.Shell, "/usr/sbin/nologin") }

func (users) change(ctx context.Context, p *pass, all []*holding) {
	each(ctx, accountsLimit, all, func(ctx context.Context, h *holding) error {
		a, err := readHalves(p.sys)
		if err != nil {
			return err
		}
		u, there := a.users[h.name()]
		if there && lacksGroup(h, a, u) {
			err = effect.Do("resource.user.complete", func() error {
				return p.run(ctx, "groupadd", "--system", "--gid", strconv.FormatInt(u.gid, 10), h.name())
			})
		}
		if err != nil {
			return err
		}
		if !there {
			err = effect.Do("resource.user.add", func() error { return p.run(ctx, "useradd", addUser(h, a)...) })
		} else if args := changeUser(h, a, u); len(args) > 0 {
			err = effect.Do("resource.user.change", func() error { return p.run(ctx, "usermod", append(args, h.name())...) })
		}
		if err == nil {
			err = joinGroups(ctx, p, h)
		}
		return err
	})
}

func addUser(h *holding, a accounts) []string {
	args := []string{"--system", "--no-create-home", "--shell", shellOf(h.want), "--home-dir", homeOf(h.want)}
	if h.want.UID != 0 {
		args = append(args, "--uid", number(h.want.UID))
	}
	group := cmp.Or(h.want.Group, h.name())
	if a.teams[group].name != "" {
		return append(args, "--gid", group, h.name())
	}
	return append(args, "--user-group", h.name())
}

func changeUser(h *holding, a accounts, u account) []string {
	var args []string
	want := &h.want
	if a.halves[h.hold.Subject] != "" {
		args = append(args, "--password", noPassword) // as useradd makes it
	}
	for _, f := range []struct{ flag, is, want string }{
		{"--gid", a.called(u.gid), want.Group}, {"--home", u.home, want.Home}, {"--shell", u.shell, want.Shell},
	} {
		if f.want != "" && f.is != f.want {
			args = append(args, f.flag, f.want)
		}
	}
	return args
}

// joinGroups puts the user into the groups that it is not in, and takes it out of
// those that the host has put it into.
func joinGroups(ctx context.Context, p *pass, h *holding) error {
	a, err := readAccounts(p.sys)
	if err != nil {
		return err
	}
	if groups := missing(h, a); len(groups) > 0 {
		err := effect.Do("resource.user.join", func() error {
			return p.run(ctx, "usermod", "--append", "--groups", strings.Join(groups, ","), h.name())
		})
		if err != nil {
			return err
		}
	}
	if err := takeOut(ctx, p, h.name(), dropped(h, a)); err != nil {
		return err
	}
	stay := joined(h)
	note := slices.DeleteFunc(noteOf(h), func(word string) bool { return slices.Contains(stay, word) && !slices.Contains(h.want.Groups, word) })
	h.hold.Note = strings.Join(note, " ")
	return nil
}

func takeOut(ctx context.Context, p *pass, user string, groups []string) error {
	for _, g := range groups {
		err := effect.Do("resource.user.part", func() error { return p.run(ctx, "gpasswd", "--delete", user, g) })
		if err != nil {
			return err
		}
	}
	return nil
}

// leave takes a user that the host made away, with the group that it made for it,
// and nobody else's.
func (users) leave(ctx context.Context, p *pass, all []*holding) {
	each(ctx, accountsLimit, all, func(ctx context.Context, h *holding) error {
		a, err := readAccounts(p.sys)
		u, there := a.users[h.name()]
		if err != nil {
			return err
		}
		if !there {
			if slices.Contains(noteOf(h), own) && a.teams[h.name()].name != "" && !p.subjects[string(declaration.Group)+" "+h.name()] {
				h.stays = "group " + h.name() + " is there, which may have been made with it, and stays"
			}
			return nil
		}
		if h.hold.Origin == keep.TakenOver {
			h.stays = h.hold.Subject + " was there before, and stays"
			return takeOut(ctx, p, h.name(), dropped(h, a))
		}
		if h.hold.Phase == keep.Making && !madeAs(h, u) {
			h.stays = h.hold.Subject + " was not made by the host, and stays"
			return nil
		}
		if err := idle(p, u); err != nil {
			return err
		}
		return removeUser(ctx, p, h, a)
	})
}

// idle is which processes of a user run, or nil.
func idle(p *pass, u account) error {
	const named = 3
	some, all, err := p.sys.Processes(u.uid, named)
	if err != nil || all == 0 {
		return err
	}
	var names []string
	for _, s := range some {
		names = append(names, fmt.Sprintf("%s (pid %d)", s.Name, s.PID))
	}
	if all > named {
		names = append(names, "and "+strconv.Itoa(all-named)+" more")
	}
	return fault.New(fault.Conflict, "processes of it run: %s", strings.Join(names, ", ")).With("stop them: it is removed when none runs")
}

// removeUser removes the entry. A group of its name userdel takes for its own:
// where the host did not make it with the user, the user is let go from it first.
// A home that is nowhere is named with that, or the files in the old one would be
// given to the other group.
func removeUser(ctx context.Context, p *pass, h *holding, a accounts) error {
	u := a.users[h.name()]
	mine := slices.Contains(noteOf(h), own) && !p.subjects[string(declaration.Group)+" "+h.name()]
	if t := a.teams[h.name()]; t.name != "" && t.gid == u.gid && !mine {
		nobodys := "nogroup"
		if a.teams[nobodys].name == "" {
			nobodys = "nobody"
		}
		err := effect.Do("resource.user.loosen", func() error {
			return p.run(ctx, "usermod", "--gid", nobodys, "--home", "/nonexistent", h.name())
		})
		if err != nil {
			return err
		}
	}
	if err := effect.Do("resource.user.remove", func() error { return p.run(ctx, "userdel", h.name()) }); err != nil {
		return err
	}
	a, err := readAccounts(p.sys)
	switch {
	case err != nil:
		return err
	case a.users[h.name()].name != "":
		return fault.New(fault.Conflict, "it is there again")
	case mine && a.teams[h.name()].name != "":
		h.stays = "group " + h.name() + ", which was made with it, is not its alone any more, and stays"
	}
	return nil
}
