package host

import (
	"runtime"

	"noxmesh/declaration"
	"noxmesh/internal/term"
	"noxmesh/report"
)

// showApply prints what was not as declared, and the sum.
func showApply(r report.Report, t *term.Term) int {
	if t.JSON {
		if err := t.Result(r); err != nil {
			return t.Fail(err)
		}
		return ended(r)
	}
	counts := map[report.State]int{}
	for _, res := range r.Resources {
		counts[res.State]++
		if res.State == report.StateOK {
			continue
		}
		if err := showResource(res, t); err != nil {
			return t.Fail(err)
		}
	}
	err := t.Printf("%s: %d as declared, %d changed, %d removed, %d failed, %d blocked, %d waiting\n", r.Outcome,
		counts[report.StateOK], counts[report.StateChanged], counts[report.StateRemoved],
		counts[report.StateFailed], counts[report.StateBlocked], counts[report.StateWaiting])
	if err != nil {
		return t.Fail(err)
	}
	return ended(r)
}

func showResource(r report.Resource, t *term.Term) error {
	says := r.Error
	if says == "" && r.Found != "" {
		says = "was " + r.Found
	}
	if r.Fixed {
		says += " (drift, put back)"
	}
	return t.Printf("%-8s %s  %s\n", r.State, term.Clean(r.ID), term.Clean(says))
}

func showVersion(version string, t *term.Term) int {
	var err error
	if t.JSON {
		err = t.Result(map[string]any{"version": version, "platform": runtime.GOOS + "/" + runtime.GOARCH, "speaks": speaks()})
	} else {
		err = t.Printf("mesh-host %s %s/%s, declarations of format %d\n", version, runtime.GOOS, runtime.GOARCH, declaration.Format)
	}
	if err != nil {
		return t.Fail(err)
	}
	return term.Answered
}

// speaks is the declaration formats that this program understands.
func speaks() []int { return []int{declaration.Format} }
