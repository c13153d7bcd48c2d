package db

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

type kind int

const (
	sqlite kind = iota
	postgres
)

// engine is which database stands behind the record, and where.
type engine struct {
	kind   kind
	writes string // the driver's address for the writer
	reads  string // SQLite: for the readers
	path   string // SQLite: the file
	name   string // for people; holds no password
}

func parse(dsn string) (engine, error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		return parseSQLite(path)
	}
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		u, err := url.Parse(dsn)
		if err != nil {
			// The cause would repeat the address, and with it the password.
			return engine{}, fault.New(fault.Invalid, "the record's address is not a postgres:// address")
		}
		return engine{kind: postgres, writes: dsn, name: shown(u)}, nil
	}
	scheme, _, _ := strings.Cut(dsn, ":")
	return engine{}, fault.New(fault.Invalid, "the record's address begins with %q", document.Short(scheme)).
		With("give sqlite:/absolute/path or postgres://user@host/database")
}

// shown is the address for people: where, and never as whom.
func shown(u *url.URL) string {
	host := u.Host
	if h := u.Query().Get("host"); host == "" {
		host = h
	}
	return `"postgres://` + host + u.Path + `"`
}

func parseSQLite(path string) (engine, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.Contains(path, "\x00") {
		return engine{}, fault.New(fault.Invalid, "the record's file %q is not an absolute, clean path", document.Short(path)).
			With("give sqlite:/absolute/path")
	}
	const every = "_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=temp_store(2)"
	file := "file:" + (&url.URL{Path: path}).EscapedPath() // a ? or # in a folder's name is no parameter
	return engine{
		kind: sqlite, path: path, name: `"` + path + `"`,
		writes: file + "?" + every + "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)",
		reads:  file + "?" + every + "&_pragma=query_only(1)",
	}, nil
}

// prepare makes the file where there is none, readable by its owner alone, and
// its name durable: SQLite would leave both to the umask and to chance.
func (e engine) prepare() error {
	if e.kind != sqlite {
		return nil
	}
	err := effect.Do("db.file.create", func() error {
		f, err := os.OpenFile(e.path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		return syncDir(filepath.Dir(e.path))
	})
	if err != nil {
		return e.classify(err, "open the record")
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}
