package controller

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	inventorystore "noxmesh/inventory/store"
)

func openExistingKeys(dir string) (keys, error) {
	if _, err := os.Stat(filepath.Join(dir, keysFile)); err != nil {
		return keys{}, fault.Wrap(fault.NotFound, err, "open the data folder %q", dir).With("--dir names the data folder of a controller that has run before")
	}
	return openKeys(dir, clock.Now())
}

// refuseRunning refuses where a controller answers on the socket.
func refuseRunning(ctx context.Context, path string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil //nolint:nilerr // nobody is there, which is what is asked
	}
	_ = conn.Close() // it was only to see whether somebody is there
	return fault.New(fault.Conflict, "another controller answers on %q", path).With("stop it first; one data folder is for one controller")
}

// TakeOver raises the epoch above every one that the record or a node has seen,
// and forgets the findings that only a takeover answers.
func TakeOver(ctx context.Context, record *db.DB, holder string) (int64, error) {
	var highest int64
	err := record.Read(ctx, func(tx *db.Tx) error {
		nodes, err := inventorystore.Nodes(tx)
		for _, n := range nodes {
			highest = max(highest, n.Accepted.Epoch, n.Wanted.Epoch)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	epoch, err := record.TakeOver(ctx, holder)
	if err != nil {
		return 0, err
	}
	if epoch <= highest {
		if epoch, err = record.RaiseEpoch(ctx, highest+1); err != nil {
			return 0, err
		}
	}
	return epoch, record.Write(ctx, func(tx *db.Tx) error {
		nodes, err := inventorystore.Nodes(tx)
		for _, n := range nodes {
			if err == nil && n.Finding != "" {
				err = inventorystore.SetFinding(tx, n.ID, "")
			}
		}
		return err
	})
}
