package resource

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// given reports whether something has the mode and the owner that it is to have: all
// twelve bits of the one, and of the other what is declared.
func given(info system.Info, want keep.Thing) bool {
	return info.Mode&keep.AllBits == want.Mode && owned(info, want)
}

func owned(info system.Info, want keep.Thing) bool {
	return want.Owner.Is(info.UID) && want.Group.Is(info.GID)
}

// giving is what makes a thing so.
func giving(want keep.Thing) system.Given {
	to := system.Given{UID: system.Anybody, GID: system.Anybody, Mode: want.Mode}
	if n, said := want.Owner.Number(); said {
		to.UID = n
	}
	if n, said := want.Group.Number(); said {
		to.GID = n
	}
	return to
}

// give gives something that is there its owner and its mode, and changes nothing else.
func give(pl place, f found, want keep.Thing) error {
	return effect.Do("resource.mode.set", func() error { return pl.dir.Give(pl.name, f.info, giving(want)) })
}

// unlike is how the mode and the owner are other than they are to be.
func (e *eye) unlike(info system.Info, want keep.Thing) string {
	var says []string
	if want.Kind != keep.Link && info.Mode&keep.AllBits != want.Mode {
		says = append(says, fmt.Sprintf("mode %04o", keep.Bits(info.Mode)))
	}
	if !want.Owner.Is(info.UID) {
		says = append(says, "owner "+e.accounts.userOf(info.UID))
	}
	if !want.Group.Is(info.GID) {
		says = append(says, "group "+e.accounts.groupOf(info.GID))
	}
	return strings.Join(says, ", ")
}

// userOf is the name of the user with this number, or the number.
func (a *accounts) userOf(number uint32) string {
	if a != nil {
		for _, u := range a.users {
			if u.uid == int64(number) {
				return u.name
			}
		}
	}
	return strconv.FormatUint(uint64(number), 10)
}

// groupOf is that of a group.
func (a *accounts) groupOf(number uint32) string {
	if a != nil {
		return a.called(int64(number))
	}
	return strconv.FormatUint(uint64(number), 10)
}

// owners finds out, for each item that says whose it is, which numbers these names
// have on this machine now. They are looked up anew in each wave: one before it may
// have made a user, and somebody may have made one anew.
func (p *pass) owners(items []*item) {
	var a *accounts
	p.each(items, func(it *item) {
		t := it.res.Traits
		if t == nil || cmp.Or(t.Owner, t.Group) == "" {
			return
		}
		if a == nil {
			read, err := readAccounts(p.sys)
			if err != nil {
				it.fail(err)
				return
			}
			a = &read
		}
		if err := it.belongs(*t, *a); err != nil {
			it.fail(err)
		}
	})
	for i := range p.eyes {
		p.eyes[i].accounts = a
	}
}

// belongs says of all that an item consists of whose it is to be.
func (it *item) belongs(t declaration.Traits, a accounts) error {
	owner, err := numberOf(t.Owner, "user", passwdFile, func(name string) (int64, bool) { u, ok := a.users[name]; return u.uid, ok })
	if err != nil {
		return err
	}
	group, err := numberOf(t.Group, "group", groupFile, func(name string) (int64, bool) { g, ok := a.teams[name]; return g.gid, ok })
	if err != nil {
		return err
	}
	for _, w := range it.works {
		w.want.Owner, w.want.Group = owner, group
	}
	return nil
}

func numberOf(text, what, file string, find func(name string) (int64, bool)) (keep.Account, error) {
	if text == "" {
		return 0, nil
	}
	if n, ok := declaration.AccountNumber(text); ok {
		return keep.AccountOf(n), nil
	}
	n, there := find(text)
	if !there {
		return 0, fault.New(fault.Conflict, "there is no %s %q in %q", what, text, file).
			With("declare the %s before it; one that only a directory service knows is named by its number", what)
	}
	if n < 0 || n > 1<<32-2 {
		return 0, fault.New(fault.Conflict, "the %s %q has the number %d in %q, which is none", what, text, n, file)
	}
	return keep.AccountOf(uint32(n)), nil
}
