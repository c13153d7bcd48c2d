package db

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

//go:embed migrations/*.sql
var migrations embed.FS

func (d *DB) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fault.Wrap(fault.Broken, err, "read the migrations")
	}
	return d.migrateBy(ctx, files)
}

// migrateBy brings the schema to the newest of files. Each step is one
// transaction: the record is as it was or as it will be. A record that holds
// something is copied first: a SQLite file to a file beside it, and the copy is
// checked; in Postgres each table to one beside it.
func (d *DB) migrateBy(ctx context.Context, files fs.FS) error {
	p, err := d.provider(files)
	if err != nil {
		return fault.Wrap(fault.Broken, err, "read the migrations")
	}
	has, wants, err := p.GetVersions(ctx)
	if err != nil {
		return d.engine.classify(err, "read the version of the record")
	}
	if has > wants {
		return fault.New(fault.Conflict, "the record at %s has schema %d, and this program knows %d", d.engine.name, has, wants).
			With("it was written by a newer version of mesh: run that version or a newer one; what this version left of it when it was replaced is %s", d.copyName(wants))
	}
	if has == wants {
		return nil
	}
	if has > 0 && d.engine.kind == sqlite {
		if err := d.backup(ctx, fmt.Sprintf("%s.schema-%d", d.engine.path, has)); err != nil {
			return err
		}
	}
	err = effect.Do("db.schema.migrate", func() error {
		if has > 0 && d.engine.kind == postgres {
			if err := d.copyTables(ctx, has); err != nil {
				return fault.Wrap(fault.Unavailable, err, "copy the tables beside themselves, as they were with schema %d", has).
					With("the record is as it was; there must be room for twice of it")
			}
		}
		_, err := p.Up(ctx)
		return err
	})
	if err != nil {
		return d.engine.classify(err, fmt.Sprintf("move the record from schema %d to %d", has, wants))
	}
	return nil
}

// copyName is where the record as this schema had it is kept when a newer one comes.
func (d *DB) copyName(schema int64) string {
	if d.engine.kind == sqlite {
		return fmt.Sprintf("the file %s.schema-%d", d.engine.path, schema)
	}
	return fmt.Sprintf("in the tables before_%d_… of the same database", schema)
}

func (d *DB) provider(files fs.FS) (*goose.Provider, error) {
	options := []goose.ProviderOption{
		goose.WithLogger(goose.NopLogger()),
		goose.WithTableName("schema_version"),
		goose.WithDisableGlobalRegistry(true),
	}
	if d.engine.kind == sqlite {
		return goose.NewProvider(goose.DialectSQLite3, d.writer, files, options...)
	}
	// Two controllers may start on one database at the same moment.
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, d.writer, files, append(options, goose.WithSessionLocker(locker))...)
}

// backup writes a checked copy of the whole record to path. A copy that was cut short never stands there.
func (d *DB) backup(ctx context.Context, path string) error {
	partial := path + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return d.engine.classify(err, "back up the record")
	}
	err := effect.Do("db.backup.copy", func() error {
		_, err := d.writer.ExecContext(ctx, `VACUUM INTO $1`, partial)
		return err
	})
	if err != nil {
		return d.engine.classify(err, "back up the record")
	}
	if err := d.checkCopy(ctx, partial); err != nil {
		return err
	}
	err = effect.Do("db.backup.keep", func() error {
		if err := syncFile(partial); err != nil {
			return err
		}
		if err := os.Rename(partial, path); err != nil {
			return err
		}
		return syncDir(filepath.Dir(path))
	})
	if err != nil {
		return d.engine.classify(err, "back up the record")
	}
	return nil
}

func (d *DB) checkCopy(ctx context.Context, path string) error {
	copied, err := parseSQLite(path)
	if err != nil {
		return err
	}
	pool, err := openSQLite(copied.reads)
	if err != nil {
		return copied.classify(err, "check the backup")
	}
	defer pool.Close()
	return quickCheck(ctx, copied, pool)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := f.Chmod(0o600); err != nil {
		_ = f.Close()
		return err
	}
	err = f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
