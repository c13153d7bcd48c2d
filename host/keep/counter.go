package keep

import (
	"strconv"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// block is how many numbers one sync reserves: a hello a minute costs one write
// every few hours, and a restart skips at most this many.
const block = 256

// Counter is the host's one number, for hellos and for reports. It only ever
// goes up, across restarts and power cuts.
type Counter struct {
	folder   *Folder
	next     int64
	reserved int64 // durable: no number above it was ever given
}

// Counter is the counter on disk; a new one begins at 1.
func (f *Folder) Counter() (*Counter, error) {
	b, err := f.read(counterFile)
	if fault.KindOf(err) == fault.NotFound {
		return &Counter{folder: f, next: 1}, nil
	}
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n < 0 {
		return nil, f.damaged(counterFile, fault.New(fault.Invalid, "%q is not a number", document.Short(string(b))))
	}
	return &Counter{folder: f, next: n + 1, reserved: n}, nil
}

// Above makes the numbers to come higher than n, and reports whether they were not.
func (c *Counter) Above(n int64) (bool, error) {
	if n < c.next {
		return false, nil
	}
	was := *c
	c.next = n + 1
	if _, err := c.Next(); err != nil {
		*c = was
		return false, err
	}
	return true, nil
}

// Next is a number above all that were given before.
func (c *Counter) Next() (int64, error) {
	if c.next > c.reserved {
		until := c.next + block - 1
		if err := c.folder.write(counterFile, []byte(strconv.FormatInt(until, 10))); err != nil {
			return 0, err
		}
		c.reserved = until
	}
	n := c.next
	c.next++
	return n, nil
}
