package delivery

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"noxmesh/delivery/build"
	"noxmesh/delivery/source"
	"noxmesh/manifest"
)

// builderWords says what an open request waits for, for people.
func builderWords(f Facts) string {
	words, _ := taker(f)
	return words
}

// taker is the builder that a request waits for, in words, and whether there is one.
func taker(f Facts) (words string, there bool) {
	what := "a builder for " + f.Platform
	var unwell, lack, others []string
	for _, b := range f.Builders {
		name := cmp.Or(b.Name, b.ID)
		switch {
		case b.Platform != f.Platform:
			others = append(others, name+" is for "+cmp.Or(b.Platform, "no platform yet"))
		case b.Unwell != "":
			unwell = append(unwell, name+" takes no work, "+b.Unwell)
		case b.Sandbox == "" || !runsCommands(f):
			return what, true
		default:
			lack = append(lack, name+" has none, "+b.Sandbox)
		}
	}
	switch {
	case len(unwell) > 0:
		return what + ": " + slices.Min(unwell), false
	case len(lack) > 0:
		return what + " with a sandbox, since it has commands to run: " + slices.Min(lack), false
	case len(others) > 0:
		return what + ", none has joined: " + slices.Min(others), false
	}
	return what + ", none has joined", false
}

// runsCommands reports whether a build of the source runs anything of it.
func runsCommands(f Facts) bool {
	b := f.Source.Manifest.Build
	return b != nil && len(b.Run)+len(b.Test) > 0
}

// BuilderName is what a builder is called, or its id where nobody knows.
func BuilderName(f Facts, id string) string {
	for _, b := range f.Builders {
		if b.ID == id {
			return cmp.Or(b.Name, id)
		}
	}
	return cmp.Or(f.Names[id], id)
}

// Named is what the record says of builders, with their names in place of their ids.
func Named(f Facts, text string) string {
	for _, id := range slices.Sorted(maps.Keys(f.Names)) {
		if name := f.Names[id]; id != "" && name != "" {
			text = strings.ReplaceAll(text, id, name)
		}
	}
	return text
}

// outcomeWords says how a request ended, for people.
func outcomeWords(f Facts, a Asked) string {
	switch {
	case a.State == Withdrawn:
		return "the build was withdrawn, " + Named(f, a.Why)
	case a.Outcome == build.OutcomeFailed:
		return fmt.Sprintf("%s failed: %s", a.Step, a.Why)
	case a.Outcome == build.OutcomeEnvironment:
		return "the builder could not: " + a.Why
	case a.Outcome == build.OutcomeBuilt && wasMade(f, a.Closure):
		return "built, and no longer in the registry"
	case a.Outcome == build.OutcomeBuilt:
		return "built, and of something else than was asked for"
	}
	return "not answered"
}

// sourceWords says how a source stands, for people. What has several lines, or
// says where in a file it is, begins on a line of its own, where editors find it.
func sourceWords(s source.Source) string {
	switch {
	case s.Why == "":
		return s.State.String()
	case strings.Contains(s.Why, "\n") || strings.HasPrefix(s.Why, manifest.Name+":"):
		return s.State.String() + ":\n" + s.Why
	}
	return s.State.String() + ": " + s.Why
}
