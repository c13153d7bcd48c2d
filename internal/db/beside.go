package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
)

var created = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)

// copyTables keeps, in one transaction, what every table of the record holds with
// this schema, in a table before_N_NAME. Of two programs that begin at once, one
// copies; the other finds the record moved.
func (d *DB) copyTables(ctx context.Context, has int64) error {
	tables, err := tablesOf()
	if err != nil {
		return err
	}
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := copyWithin(ctx, tx, tables, has); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func copyWithin(ctx context.Context, tx *sql.Tx, tables []string, has int64) error {
	if _, err := tx.ExecContext(ctx, `LOCK TABLE schema_version IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return err
	}
	var now int64
	if err := tx.QueryRowContext(ctx, `SELECT max(version_id) FROM schema_version WHERE is_applied`).Scan(&now); err != nil || now != has {
		return err
	}
	for _, table := range tables {
		var there bool
		if err := tx.QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, table).Scan(&there); err != nil {
			return err
		}
		if !there {
			continue // a newer schema makes it
		}
		beside := fmt.Sprintf("before_%d_%s", has, table)
		if _, err := tx.ExecContext(ctx, `DROP TABLE IF EXISTS `+beside); err != nil { // of a move that did not come to its end
			return err
		}
		if _, err := tx.ExecContext(ctx, `CREATE TABLE `+beside+` AS TABLE `+table); err != nil {
			return err
		}
	}
	return nil
}

// tablesOf is every table that a record has, or had.
func tablesOf() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var tables []string
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for _, found := range created.FindAllStringSubmatch(string(text), -1) {
			tables = append(tables, found[1])
		}
	}
	return tables, nil
}
