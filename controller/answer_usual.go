package controller

import (
	"context"
	"slices"

	"noxmesh/delivery"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/db"
	"noxmesh/status"
)

// usual is how long the builds that are being made usually take. There are no more
// of these than builders. It is read before all else: what is shown is of one
// moment, and that is the last.
func (c *Controller) usual(ctx context.Context) (map[string]*status.Usual, error) {
	var building []string
	leased := func(a delivery.Asked) bool { return a.State == delivery.Leased }
	err := c.with(ctx, func(v *view) error {
		for _, name := range v.names {
			if slices.ContainsFunc(v.modules[name].asked, leased) {
				building = append(building, name)
			}
		}
		return nil
	})
	if err != nil || len(building) == 0 {
		return nil, err
	}
	all := make(map[string]*status.Usual, len(building))
	err = c.db.Read(ctx, func(tx *db.Tx) (err error) {
		for _, name := range building {
			if all[name], err = usualOf(tx, name, c.cfg.Platform); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// usualOf is how long builds of a module usually take.
func usualOf(tx *db.Tx, module, platform string) (*status.Usual, error) {
	past, err := deliverystore.PastOf(tx, module, platform, delivery.UsualOf)
	return status.UsualOf(delivery.Usual(past)), err
}
