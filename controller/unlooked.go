package controller

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"noxmesh/delivery"
	"noxmesh/delivery/source"
)

// unlooked is a module that nobody has looked at yet.
type unlooked struct {
	module string
	since  time.Time
}

func (u unlooked) compare(o unlooked) int {
	return cmp.Or(o.since.Compare(u.since), strings.Compare(u.module, o.module))
}

// setUnlooked puts a module among those that nobody has looked at yet, or takes it
// from there.
func (v *view) setUnlooked(module string, is bool) {
	m := v.modules[module]
	if m.unlooked != nil {
		if at, there := slices.BinarySearchFunc(v.unlooked, *m.unlooked, unlooked.compare); there {
			v.unlooked = slices.Delete(v.unlooked, at, at+1)
		}
		m.unlooked = nil
	}
	if is {
		m.unlooked = &unlooked{module, m.row.AddedAt}
		at, _ := slices.BinarySearchFunc(v.unlooked, *m.unlooked, unlooked.compare)
		v.unlooked = slices.Insert(v.unlooked, at, *m.unlooked)
	}
}

// mayOwn is the last to come of the others that nobody has looked at yet, where a
// module's code asks for what nobody owns.
func (v *view) mayOwn(module string) *delivery.Unlooked {
	at := slices.IndexFunc(v.unlooked, func(u unlooked) bool { return u.module != module })
	if at < 0 {
		return nil
	}
	e, is := v.code.Nobodys(module)
	if !is {
		return nil
	}
	u := v.unlooked[at]
	return &delivery.Unlooked{Module: u.module, Since: u.since, Asked: e.Name + " (" + e.At.String() + ")"}
}

// nudgeAwaiting lets what waits for first looks be compared, once the last of them is
// over.
func (c *Controller) nudgeAwaiting(ctx context.Context, was, next source.Source) error {
	if was.State != source.NeverLooked || next.State == source.NeverLooked {
		return nil
	}
	return c.with(ctx, func(v *view) error {
		if len(v.unlooked) == 0 {
			c.builds.NudgeAll()
		}
		return nil
	})
}
