package resource

import (
	"context"
	"strconv"
	"strings"

	"noxmesh/host/keep"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// groups is the groups of the machine.
type groups struct{}

func (groups) look(_ context.Context, p *pass, all []*holding) {
	a, err := readHalves(p.sys)
	for _, h := range all {
		if err != nil {
			h.failed(err)
			continue
		}
		t, there := a.teams[h.name()]
		right := there && (h.want.GID == 0 || h.want.GID == t.gid)
		half := a.halves[h.hold.Subject]
		h.found = stand{there: there, same: right && half == "", half: right, says: nothing, memory: right}
		switch {
		case right && half != "":
			h.found.says = half
		case there:
			h.found.says = "gid " + strconv.FormatInt(t.gid, 10)
		}
	}
}

// mean refuses another number: files belong to the one that is there.
func (groups) mean(_ *pass, all []*holding) {
	for _, h := range all {
		if right, _ := h.found.memory.(bool); h.found.there && !right {
			h.refused("declare that one, or take the group away yourself once nothing belongs to it",
				"it has %s, declared is %d, and files belong to the number", h.found.says, h.want.GID)
		}
	}
}

func (groups) change(ctx context.Context, p *pass, all []*holding) {
	each(ctx, accountsLimit, all, func(ctx context.Context, h *holding) error {
		if h.found.there { // and half of it is missing
			return effect.Do("resource.group.mend", func() error { return p.run(ctx, "groupmod", "--password", noPassword, h.name()) })
		}
		args := []string{"--system"}
		if h.want.GID != 0 {
			args = append(args, "--gid", strconv.FormatInt(h.want.GID, 10))
		}
		return effect.Do("resource.group.add", func() error { return p.run(ctx, "groupadd", append(args, h.name())...) })
	})
}

func (groups) leave(ctx context.Context, p *pass, all []*holding) {
	each(ctx, accountsLimit, all, func(ctx context.Context, h *holding) error {
		if h.hold.Origin == keep.TakenOver {
			h.stays = h.hold.Subject + " was there before, and stays"
			return nil
		}
		a, err := readAccounts(p.sys)
		t, there := a.teams[h.name()]
		if err != nil || !there {
			return err
		}
		if users := a.primaryOf(t.gid); len(users) > 0 {
			return fault.New(fault.Conflict, "it is the own group of %s", strings.Join(users, ", ")).With("give each another one with usermod --gid")
		}
		if err := effect.Do("resource.group.remove", func() error { return p.run(ctx, "groupdel", h.name()) }); err != nil {
			return err
		}
		if a, err = readAccounts(p.sys); err == nil && a.teams[h.name()].name != "" {
			err = fault.New(fault.Conflict, "it is there again")
		}
		return err
	})
}
