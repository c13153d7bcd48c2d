package db

import (
	"context"
	"database/sql"
	"errors"

	"noxmesh/internal/fault"
	"noxmesh/internal/planted"
)

// fence is what this process writes as.
type fence struct {
	epoch  int64
	holder string
}

const (
	takeFence = `UPDATE fence SET revision = revision + 1 WHERE epoch = $1 AND holder = $2 RETURNING revision`
	readFence = `SELECT epoch, holder FROM fence`
	lockFence = `UPDATE fence SET revision = revision + 1`
	moveFence = `UPDATE fence SET epoch = $1, holder = $2`
)

// Resume lets the holder write in the epoch that it already holds, after a
// restart. A record that nobody has held yet becomes its own, in epoch 1. One
// that another holds is a Conflict: to take it is TakeOver.
func (d *DB) Resume(ctx context.Context, holder string) (int64, error) {
	return d.moveFence(ctx, func(was fence) (fence, error) {
		switch {
		case holder == "":
			return was, fault.New(fault.Invalid, "resume the record: the holder has no id")
		case was.holder == holder:
			return was, nil
		case was.epoch == 0:
			return fence{epoch: 1, holder: holder}, nil
		}
		return was, fault.New(fault.Conflict, "resume the record at %s: epoch %d is held by controller %q, and this one is %q",
			d.engine.name, was.epoch, was.holder, holder).
			With("make sure that controller %q is stopped for good, then take over from it", was.holder)
	})
}

// TakeOver begins the next epoch with this holder. From then on nobody else
// writes to the record, however long it was away.
func (d *DB) TakeOver(ctx context.Context, holder string) (int64, error) {
	return d.moveFence(ctx, func(was fence) (fence, error) {
		if holder == "" {
			return was, fault.New(fault.Invalid, "take over the record: the holder has no id")
		}
		return fence{epoch: was.epoch + 1, holder: holder}, nil
	})
}

// RaiseEpoch moves the epoch of this process up to at least this one, and returns
// the epoch that then holds. It is for a record that is older than what the
// nodes remember; whoever lost the record to another cannot.
func (d *DB) RaiseEpoch(ctx context.Context, least int64) (int64, error) {
	mine := d.fence.Load()
	return d.moveFence(ctx, func(was fence) (fence, error) {
		if mine == nil || was != *mine {
			return was, d.lost(was)
		}
		return fence{epoch: max(was.epoch, least), holder: was.holder}, nil
	})
}

// Epoch is the epoch that this process writes in; 0 before Resume or TakeOver.
func (d *DB) Epoch() int64 {
	if f := d.fence.Load(); f != nil {
		return f.epoch
	}
	return 0
}

func (d *DB) moveFence(ctx context.Context, to func(was fence) (fence, error)) (int64, error) {
	var now fence
	err := d.exclusive(ctx, "move the epoch", func(tx begun) error {
		if _, err := tx.ExecContext(ctx, lockFence); err != nil {
			return err
		}
		was, err := seeFence(ctx, tx)
		if err != nil {
			return err
		}
		if now, err = to(was); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, moveFence, now.epoch, now.holder)
		return err
	})
	if err != nil {
		return 0, err
	}
	d.fence.Store(&now)
	return now.epoch, nil
}

func seeFence(ctx context.Context, tx begun) (fence, error) {
	var f fence
	err := tx.QueryRowContext(ctx, readFence).Scan(&f.epoch, &f.holder)
	return f, err
}

// hold locks the fence for the rest of the transaction, if it is this process's,
// and is the revision that the transaction makes.
func (d *DB) hold(ctx context.Context, tx begun) (*fence, int64, error) {
	mine := d.fence.Load()
	if mine == nil {
		return nil, 0, fault.New(fault.Broken, "write to the record: neither resumed nor taken over")
	}
	var revision int64
	err := tx.QueryRowContext(ctx, takeFence, mine.epoch, mine.holder).Scan(&revision)
	if !errors.Is(err, sql.ErrNoRows) {
		return mine, revision, err
	}
	if planted.Is("a controller that was taken over writes on") {
		return mine, 0, nil
	}
	was, err := seeFence(ctx, tx)
	if err != nil {
		return nil, 0, err
	}
	return nil, 0, d.lost(was)
}

func (d *DB) lost(was fence) error {
	return fault.New(fault.Conflict, "another controller has taken over: the record at %s is in epoch %d, held by %q, and this process is in epoch %d",
		d.engine.name, was.epoch, was.holder, d.Epoch()).
		With("stop this controller; it can change nothing any more")
}

// Held reports whether this process still is the one that writes: another
// controller may have taken over since.
func (t *Tx) Held() (bool, error) {
	epoch, _, err := One(t, Number, `SELECT epoch FROM fence`)
	return err == nil && epoch == t.epoch, err
}
