package system

import (
	"encoding/hex"

	"golang.org/x/sys/unix"
)

// properties is what systemd says of a unit, by name.
type properties map[string]any

func (p properties) text(name string) string {
	s, _ := p[name].(string)
	return s
}

func (p properties) yes(name string) bool {
	b, _ := p[name].(bool)
	return b
}

// number is one of any size; no number of these is above what an int64 holds.
func (p properties) number(name string) int64 {
	switch n := p[name].(type) {
	case int32:
		return int64(n)
	case uint32:
		return int64(n)
	case int64:
		return n
	case uint64:
		return int64(n)
	}
	return 0
}

func hexOf(id []byte) string { return hex.EncodeToString(id) }

// uptime is the machine's monotonic clock, in microseconds, by which systemd counts too.
func uptime() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano() / 1000
}

// Changed is when what is at this name was last changed in any way, its name and
// its mode included: nanoseconds since 1970 by the machine's clock.
func (d *Dir) Changed(name string) (int64, error) {
	if err := d.single("lstat", name); err != nil {
		return 0, err
	}
	var s unix.Stat_t
	err := retry(func() error { return unix.Fstatat(d.fd, name, &s, unix.AT_SYMLINK_NOFOLLOW) })
	return s.Ctim.Nano(), d.failed("lstat", name, err)
}
