package delivery

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"noxmesh/document"
)

// Retention is how much of the record of builds stays. Zero of either is all of it.
type Retention struct {
	Builds int   // the newest lines of each module, which stay in any case
	Logs   int64 // bytes that all logs may take together, as they are recorded
}

// Line is one request in the record of builds, with what decides whether it stays.
type Line struct {
	Request string
	Module  string
	Order   int64           // the record's own order of requests
	Live    bool            // it may still be answered
	Build   document.Digest // that it ended in; empty where it ended in none
	Bare    bool            // that build has no bytes in the registry any more, and nothing in the record names it
	Log     int64           // bytes that its log takes
}

// Retired is what is to be removed from the record.
type Retired struct {
	Lines []Line // with all that belongs to them
	Logs  []Line // of which only the log goes
}

// Retire decides what leaves the record. A line stays while it may still be
// answered, while it is among the newest of its module, and while its build has
// bytes or is named by something: what is declared, what can be rolled back to,
// and what a collection keeps for any other reason. Of logs the oldest go first,
// and of the modules that have most: one that says much takes no other's log.
func Retire(lines []Line, r Retention) (out Retired) {
	byModule := map[string][]Line{}
	for _, l := range lines {
		byModule[l.Module] = append(byModule[l.Module], l)
	}
	stays := map[string][]Line{}
	for _, module := range slices.Sorted(maps.Keys(byModule)) {
		all := byModule[module]
		slices.SortFunc(all, func(a, b Line) int {
			return cmp.Or(-cmp.Compare(a.Order, b.Order), cmp.Compare(a.Request, b.Request))
		})
		for i, l := range all {
			if r.Builds == 0 || i < r.Builds || l.Live || l.Build != "" && !l.Bare || named(all[:min(r.Builds, len(all))], l.Build) {
				stays[module] = append(stays[module], l)
			} else {
				out.Lines = append(out.Lines, l)
			}
		}
	}
	out.Logs = retireLogs(stays, r.Logs)
	return out
}

// named reports whether one of these lines ended in the build too.
func named(lines []Line, build document.Digest) bool {
	return build != "" && slices.ContainsFunc(lines, func(l Line) bool { return l.Build == build })
}

// retireLogs is the logs that go so that the others have no more than most bytes.
// The lines of a module come newest first.
func retireLogs(stays map[string][]Line, most int64) (out []Line) {
	if most == 0 {
		return nil
	}
	share := fairShare(stays, most)
	for _, module := range slices.Sorted(maps.Keys(stays)) {
		has := int64(0)
		for _, l := range stays[module] {
			if l.Live {
				continue
			}
			if has += l.Log; has > share && l.Log > 0 {
				out = append(out, l)
			}
		}
	}
	return out
}

// fairShare is how much each module may have, so that all together have no more
// than most: those that need less leave the rest to the others. What is being said
// does not count.
func fairShare(stays map[string][]Line, most int64) int64 {
	var needs []int64
	for _, lines := range stays {
		need := int64(0)
		for _, l := range lines {
			if !l.Live {
				need += l.Log
			}
		}
		needs = append(needs, need)
	}
	slices.Sort(needs)
	for i, need := range needs {
		share := most / int64(len(needs)-i)
		if need > share {
			return share
		}
		most -= need
	}
	return math.MaxInt64 // there is room for all
}
