package db

import (
	"context"
	"errors"
)

// MoveOn opens a record as a later version would, whose schema is one further.
func MoveOn(ctx context.Context, dsn string) error {
	d, err := Open(ctx, dsn)
	if err != nil {
		return err
	}
	return errors.Join(d.migrateBy(ctx, newer("INSERT INTO next (a) SELECT count(*) FROM setting;")), d.Close())
}
