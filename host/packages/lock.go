package packages

import (
	"context"
	"time"

	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

const (
	patience = 5 * time.Second // for whoever has a lock: what takes longer is waited for by the next look
	again    = 250 * time.Millisecond
)

// locks is what apt and dpkg lock, each for some of their work.
func (Debian) locks() []string {
	return []string{"/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/cache/apt/archives/lock", "/var/lib/apt/lists/lock"}
}

// locked is which lock somebody has, and who; none where all are free.
func (d Debian) locked() (file, by string, err error) { return lockedOf(d.sys, d.locks()) }

// lockedOf is which of these files somebody has locked, and who; none where all are free.
func lockedOf(sys *system.Root, files []string) (file, by string, err error) {
	for _, file := range files {
		by, err := sys.LockedBy(file)
		if err != nil {
			return "", "", fault.Wrap(fault.Conflict, system.Cause(err), "look who has locked %q", file)
		}
		if by != "" {
			return file, by, nil
		}
	}
	return "", "", nil
}

// free waits for a moment until nobody has a lock, and says who has one still.
func free(ctx context.Context, locked func() (file, by string, err error)) error {
	tick := time.NewTicker(again)
	defer tick.Stop()
	for waited := time.Duration(0); ; waited += again {
		file, by, err := locked()
		if err != nil || file == "" {
			return err
		}
		if waited >= patience {
			return fault.New(fault.Unavailable, "%q is locked by %s", file, by).With("it is tried again when that has ended")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
