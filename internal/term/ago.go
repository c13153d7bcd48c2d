package term

import (
	"fmt"
	"time"
)

// Ago is how long ago something was that was d before now.
func Ago(d time.Duration) string {
	switch {
	case d <= -time.Second:
		return "in " + Span(-d)
	case d < time.Second:
		return "just now"
	}
	return Span(d) + " ago"
}

// Span is a length of time in its largest unit, rounded down: what has been
// waited for is never said to be longer than it is. What began by a clock that
// has been set back since has lasted no time that is known.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// Bytes is a size as a person reads it, in powers of 1024.
func Bytes(n int64) string {
	const step = 1024
	if n < step {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/step, 0
	for value >= step && unit < len("KMGTPE")-1 {
		value /= step
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTPE"[unit])
}
