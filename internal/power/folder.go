package power

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Unmount takes away what is mounted at a folder. It waits for processes that were
// killed to let go, and for children and sandboxes that have just been made, which have
// a copy of each open file or of the mount until they are what they are to be.
func Unmount(dir string) error {
	over := time.Now().Add(patience)
	for {
		err := unix.Unmount(dir, 0)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(over) {
			return fmt.Errorf("unmount %q: %w", dir, err)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// Sync has the file system of a folder write down all that it has in memory.
func Sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
