//go:build !meshcrash

package clock

import "time"

// Now is the wall clock's reading, with the monotonic one.
func Now() time.Time { return time.Now() }
