package manifest

import (
	"math"
	"regexp"
	"strconv"
	"time"

	"noxmesh/document"
)

// BuildLimits is what one build asks to have, where it is not the builder's
// default. A builder gives no more than it may.
type BuildLimits struct {
	Memory    string `json:"memory,omitempty"`    // "512MiB", "4GiB"
	Disk      string `json:"disk,omitempty"`      // the same
	Processes int64  `json:"processes,omitempty"` // at one time, threads included
	Time      string `json:"time,omitempty"`      // "90s", "20m", "2h"
}

var (
	sizeText = regexp.MustCompile(`^([1-9][0-9]{0,5})(MiB|GiB)$`)
	timeText = regexp.MustCompile(`^([1-9][0-9]{0,4})(s|m|h)$`)
)

// mostProcesses is what the kernel counts up to.
const mostProcesses = 1 << 22

const (
	wantSize = `want a number and MiB or GiB, as "512MiB"`
	wantTime = `want a number and s, m or h, as "20m"`
)

// MemoryBytes is how much memory is asked for; zero where nothing is said.
func (l BuildLimits) MemoryBytes() int64 { return sizeOf(l.Memory) }

// DiskBytes is how much of the disk is asked for; zero where nothing is said.
func (l BuildLimits) DiskBytes() int64 { return sizeOf(l.Disk) }

// Duration is how long it asks to take; zero where nothing is said.
func (l BuildLimits) Duration() time.Duration {
	unit := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}
	n, of := numberOf(timeText, l.Time)
	return time.Duration(n) * unit[of]
}

func sizeOf(text string) int64 {
	unit := map[string]int64{"MiB": 1 << 20, "GiB": 1 << 30}
	n, of := numberOf(sizeText, text)
	return n * unit[of]
}

func numberOf(form *regexp.Regexp, text string) (n int64, unit string) {
	parts := form.FindStringSubmatch(text)
	if parts == nil {
		return 0, ""
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return math.MaxInt32, parts[2]
	}
	return n, parts[2]
}

func (c *checker) limits(path string, l BuildLimits) {
	for key, text := range map[string]string{"memory": l.Memory, "disk": l.Disk} {
		if text != "" && !sizeText.MatchString(text) {
			c.Fault(path+"."+key, wantSize, "%q is no size", document.Short(text))
		}
	}
	if l.Time != "" && !timeText.MatchString(l.Time) {
		c.Fault(path+".time", wantTime, "%q is no time", document.Short(l.Time))
	}
	if l.Processes < 0 || l.Processes > mostProcesses {
		c.Fault(path+".processes", "want 1 to "+strconv.Itoa(mostProcesses), "%d processes", l.Processes)
	}
}
