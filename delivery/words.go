package delivery

import (
	"cmp"
	"fmt"
	"slices"

	"noxmesh/delivery/build"
	"noxmesh/delivery/source"
)

// builderWords says what an open request waits for, for people.
func builderWords(f Facts) string {
	what := "a builder for " + f.Platform
	var lack []Builder
	for _, b := range f.Builders {
		if b.Platform != f.Platform {
			continue
		}
		if b.Sandbox == "" || !runsCommands(f) {
			return what
		}
		lack = append(lack, b)
	}
	if len(lack) == 0 {
		return what + ", none has joined"
	}
	b := slices.MinFunc(lack, func(a, b Builder) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return fmt.Sprintf("%s with a sandbox, since it has commands to run: %s has none, %s", what, cmp.Or(b.Name, b.ID), b.Sandbox)
}

// runsCommands reports whether a build of the source runs anything of it.
func runsCommands(f Facts) bool {
	b := f.Source.Manifest.Build
	return b != nil && len(b.Run)+len(b.Test) > 0
}

func builderName(f Facts, id string) string {
	for _, b := range f.Builders {
		if b.ID == id {
			return cmp.Or(b.Name, id)
		}
	}
	return id
}

// outcomeWords says how a request ended, for people.
func outcomeWords(f Facts, a Asked) string {
	switch {
	case a.State == Withdrawn:
		return "the build was withdrawn, " + a.Why
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

// sourceWords says how a source stands, for people.
func sourceWords(s source.Source) string {
	if s.Why == "" {
		return s.State.String()
	}
	return s.State.String() + ": " + s.Why
}
