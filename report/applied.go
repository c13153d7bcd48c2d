package report

import (
	"slices"
	"strings"

	"noxmesh/declaration"
	"noxmesh/document"
)

// AppliedModules is the modules of the report that are applied on its node: each
// of their resources was read back as declared, and of none of them is anything
// left that is no longer declared. A module without resources is applied by
// being named: there is nothing of it that could not be there. Where the whole
// failed and no resource says why, or a new host is not confirmed, none is.
func AppliedModules(r Report) []declaration.Module {
	if r.Outcome != OutcomeApplied && r.Outcome != OutcomeFailed {
		return nil
	}
	open := map[string]bool{}
	for _, res := range r.Resources {
		if !settled(res) {
			open[moduleOf(res.ID)] = true
		}
	}
	if r.Outcome == OutcomeFailed && len(open) == 0 {
		return nil
	}
	var applied []declaration.Module
	for _, m := range r.Modules {
		if !open[m.Module] {
			applied = append(applied, m)
		}
	}
	return applied
}

// Matches reports whether the report says that the node is exactly this body:
// the same modules, each resource read back with the digest that it has here,
// and nothing left of what is not in it. What is wanting in a report (a resource
// that it does not list) is found by nothing but this comparison.
func Matches(r Report, body declaration.Body) (bool, error) {
	if r.Outcome != OutcomeApplied || len(r.Modules) != len(body.Modules) {
		return false, nil
	}
	applied := AppliedModules(r)
	for _, m := range body.Modules {
		if !slices.Contains(applied, m) {
			return false, nil
		}
	}
	return readBack(r, body)
}

// readBack reports whether the resources of the report are those of the body.
func readBack(r Report, body declaration.Body) (bool, error) {
	read := map[string]document.Digest{}
	for _, res := range r.Resources {
		if !settled(res) {
			return false, nil
		}
		if res.State != StateRemoved {
			read[res.ID] = res.Digest
		}
	}
	for _, res := range body.Resources {
		want, err := res.ContentDigest()
		if err != nil {
			return false, err
		}
		if read[res.ID] != want {
			return false, nil
		}
	}
	return len(read) == len(body.Resources), nil
}

// settled reports whether the machine is, for this resource, as it should be.
func settled(res Resource) bool {
	switch res.State {
	case StateOK, StateChanged:
		return res.Digest != ""
	case StateRemoved:
		return res.Digest == ""
	case StateDiffers, StateWaiting, StateFailed, StateBlocked:
		return false
	}
	return false // a state that nobody knows proves nothing
}

func moduleOf(id string) string {
	module, _, _ := strings.Cut(id, "/")
	return module
}
