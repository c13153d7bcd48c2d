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

// MoveOnAndAsk is MoveOn twice, the first of which is cut off before the schema
// moves, and then the answer to a query.
func MoveOnAndAsk(ctx context.Context, dsn, query string, answer any) error {
	d, err := Open(ctx, dsn)
	if err != nil {
		return err
	}
	err = d.copyTables(ctx, int64(schema()))
	if err == nil {
		err = d.migrateBy(ctx, newer(""))
	}
	if err == nil { // another program that had begun before finds it moved, and copies nothing
		err = d.copyTables(ctx, int64(schema()))
	}
	if err == nil {
		err = d.writer.QueryRowContext(ctx, query).Scan(answer)
	}
	return errors.Join(err, d.Close())
}

// Schema is the newest that this program knows.
func Schema() int { return schema() }
