package db

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	driversqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
)

// classify says of which kind a database's error is. An error that has a kind keeps it.
func (e engine) classify(err error, doing string) error {
	if fault.KindOf(err) != fault.Unknown {
		return err
	}
	var file *driversqlite.Error
	var server *pgconn.PgError
	var path *fs.PathError
	var connect *pgconn.ConnectError
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO):
		return e.disk(err, doing)
	case errors.As(err, &file):
		return e.classifySQLite(file, doing)
	case errors.As(err, &server):
		return e.classifyPostgres(server, doing)
	case errors.As(err, &path):
		return fault.Wrap(fault.Invalid, err, "%s at %s", doing, e.name).With("give a file in a folder that is there and can be written")
	case errors.As(err, &connect):
		// The driver's words hold the user and the address: say the cause alone.
		return fault.Wrap(fault.Unavailable, errors.Unwrap(connect), "%s at %s", doing, e.name)
	case unreachable(err):
		return fault.Wrap(fault.Unavailable, err, "%s at %s", doing, e.name)
	}
	return fault.Wrap(fault.Broken, err, "%s at %s", doing, e.name)
}

func unreachable(err error) bool {
	var network net.Error
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, driver.ErrBadConn) || errors.As(err, &network) ||
		strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "conn closed") ||
		strings.Contains(err.Error(), "database is closed")
}

func (e engine) classifySQLite(err *driversqlite.Error, doing string) error {
	switch err.Code() & 0xff { // the rest of the code says where in the file
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN:
		return e.fileError(err, doing)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return e.damaged(err.Error())
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_INTERRUPT, lib.SQLITE_NOMEM, lib.SQLITE_PROTOCOL:
		return fault.Wrap(fault.Unavailable, err, "%s at %s", doing, e.name)
	case lib.SQLITE_CONSTRAINT:
		return fault.Wrap(fault.Conflict, err, "%s at %s", doing, e.name)
	case lib.SQLITE_TOOBIG:
		return fault.Wrap(fault.Invalid, err, "%s at %s", doing, e.name)
	}
	return fault.Wrap(fault.Broken, err, "%s at %s", doing, e.name)
}

func (e engine) classifyPostgres(err *pgconn.PgError, doing string) error {
	class := ""
	if len(err.Code) == 5 {
		class = err.Code[:2]
	}
	switch {
	case err.Code == "53100":
		return fault.Wrap(fault.Unavailable, err, "%s at %s: the database server's disk is full", doing, e.name).
			With("make room on the filesystem that holds the server's data directory; what was recorded is unharmed")
	case err.Code == "XX001", err.Code == "XX002":
		return e.damaged(err.Message)
	case class == "08", class == "53", class == "57", class == "58", class == "40", class == "55":
		return fault.Wrap(fault.Unavailable, err, "%s at %s", doing, e.name)
	case class == "23":
		return fault.Wrap(fault.Conflict, err, "%s at %s", doing, e.name)
	case class == "22":
		return fault.Wrap(fault.Invalid, err, "%s at %s", doing, e.name)
	case class == "28", class == "3D", err.Code == "42501":
		return fault.Wrap(fault.Denied, err, "%s at %s", doing, e.name)
	}
	return fault.Wrap(fault.Broken, err, "%s at %s", doing, e.name)
}

// again reports whether the transaction did nothing and may simply be done once more.
func again(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && (server.Code == "40001" || server.Code == "40P01")
}

func (e engine) damaged(says string) error {
	f := fault.New(fault.Broken, "the record at %s is damaged: %s", e.name, says)
	if e.kind == sqlite {
		return f.With("nothing is declared from it; stop the controller, keep the file, and restore a backup of it")
	}
	return f.With("nothing is declared from it; stop the controller and restore the database from a backup")
}

// disk is an error of the file's filesystem, which it names.
func (e engine) disk(err error, doing string) error {
	return fault.Wrap(fault.Unavailable, disk.Say(err, e.path), "%s at %s", doing, e.name).With("what was recorded is unharmed")
}

// refusal is an error of the driver, which says by a number of its own what the kernel said.
type refusal struct {
	error
	kernel syscall.Errno
}

func (r refusal) Unwrap() error { return r.kernel }

// tried is what the kernel says to a file in this folder.
func tried(dir string) syscall.Errno {
	f, err := os.CreateTemp(dir, ".try-*")
	if err == nil {
		_, err = f.Write(make([]byte, 4096))
		err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return no
	}
	return 0
}

// fileError is a driver's error of the file, as the kernel would say it.
func (e engine) fileError(err *driversqlite.Error, doing string) error {
	kernel := map[int]syscall.Errno{lib.SQLITE_FULL: syscall.ENOSPC, lib.SQLITE_IOERR: syscall.EIO, lib.SQLITE_READONLY: syscall.EROFS}[err.Code()&0xff]
	if kernel == 0 || kernel == syscall.EIO { // it cannot be opened, or written, and the driver does not say why
		kernel = cmp.Or(tried(filepath.Dir(e.path)), kernel)
	}
	if lib.SQLITE_READONLY == err.Code()&0xff && !disk.Of(e.path).ReadOnly {
		return fault.Wrap(fault.Unavailable, err, "%s at %s", doing, e.name).With("let the controller's user write the file and the folder it lies in; what was recorded is unharmed")
	}
	return e.disk(refusal{err, kernel}, doing)
}
