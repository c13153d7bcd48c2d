//go:build meshcrash

package clock

import (
	"os"
	"strings"
	"time"
	"unsafe"
)

// Now is the wall clock's reading with the offset that the environment asks
// for, and the monotonic one as it is.
func Now() time.Time {
	return shift(time.Now(), asked())
}

// asked is the offset in whole seconds.
func asked() time.Duration {
	off := parse("MESH_CLOCK", os.Getenv("MESH_CLOCK"))
	path := os.Getenv("MESH_CLOCK_FILE")
	if path == "" {
		return off
	}
	text, err := os.ReadFile(path)
	if err != nil {
		panic("MESH_CLOCK_FILE: " + err.Error())
	}
	return off + parse("MESH_CLOCK_FILE", strings.TrimSpace(string(text)))
}

func parse(where, text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(where + ": " + err.Error())
	}
	return d.Truncate(time.Second)
}

// shift sets the wall reading of a time forward and leaves its monotonic one.
// No function of package time does that: its Add moves both, and a step of the
// clock would look like time that has passed. A time with a monotonic reading
// keeps the seconds since 1885 in the 33 bits above the nanoseconds.
func shift(t time.Time, by time.Duration) time.Time {
	const monotonic, nanoseconds = 1 << 63, 30
	wall := (*uint64)(unsafe.Pointer(&t)) //nolint:gosec // the first field of time.Time; TestShift holds the layout
	if *wall&monotonic == 0 {
		return t.Add(by)
	}
	*wall += uint64(int64(by/time.Second)) << nanoseconds // a step backwards wraps round, as it must
	*wall |= monotonic
	return t
}
