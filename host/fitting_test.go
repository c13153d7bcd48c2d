package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/report"
)

// long is a report of a node on which n resources of each of 50 modules failed
// with so many bytes to say, and as many are as declared.
func long(n, text int) report.Report {
	tuple := declaration.Tuple{Epoch: 1, Generation: 1, Digest: document.Sum(nil)}
	r := report.Report{
		Format: report.Format, Mesh: testMesh, Node: testNode, Sequence: 1, Accepted: tuple, Cause: report.CauseDrift, Outcome: report.OutcomeFailed,
		Began: 1, Ended: 1, Modules: []declaration.Module{},
	}
	for m := range 50 {
		name := fmt.Sprintf("module%d", m)
		r.Modules = append(r.Modules, declaration.Module{Module: name, Content: document.Sum(nil)})
		for i := range n {
			digest := document.Sum([]byte{byte(i)})
			r.Resources = append(r.Resources,
				report.Resource{ID: fmt.Sprintf("%s/ok%d", name, i), Digest: digest, State: report.StateOK},
				report.Resource{ID: fmt.Sprintf("%s/failed%d", name, i), Digest: digest, State: report.StateFailed, Error: strings.Repeat("\x01", text)})
		}
	}
	return r
}

// What a resource is taken to need at most, without being encoded, is never too little.
func TestMostIsNoLessThanItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		res := report.Resource{
			ID: rapid.StringMatching(`[a-z]{1,9}/[a-z0-9._-]{1,30}`).Draw(t, "id"), Digest: document.Sum(nil),
			State: rapid.SampledFrom([]report.State{report.StateOK, report.StateChanged, report.StateBlocked, report.StateDiffers}).Draw(t, "state"),
			Error: rapid.String().Draw(t, "error"), Found: rapid.String().Draw(t, "found"), Fixed: rapid.Bool().Draw(t, "fixed"),
		}
		if rapid.Bool().Draw(t, "is contested") {
			res.Contested = &report.Contested{Since: rapid.Int64Range(0, 1<<53).Draw(t, "since"), Count: rapid.Int64Range(0, 1<<53).Draw(t, "count")}
		}
		if is, err := sizeOf(res); err != nil || is > most(&res) {
			t.Fatalf("%d bytes, at most %d are expected: %v", is, most(&res), err)
		}
	})
}

func TestALongReportIsCutAndNotLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		per, text int
		whole     bool // no resource is left out
	}{
		"short":          {10, 100, true},
		"long texts":     {20, 2000, true},
		"many resources": {250, 2000, false},
		"too many":       {450, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := long(c.per, c.text)
			r, err := fitting(was)
			must(t, err)
			b, err := r.Encode()
			must(t, err)
			if len(b) > report.Limits.Bytes {
				t.Errorf("%d bytes", len(b))
			}
			if r, err = report.Decode(b); err != nil {
				t.Fatal(err)
			}
			if whole := len(r.Resources) == len(was.Resources); whole != c.whole {
				t.Errorf("%d of %d resources", len(r.Resources), len(was.Resources))
			}
			if got := report.AppliedModules(r); len(got) != 0 || r.Outcome != report.OutcomeFailed {
				t.Errorf("%s, and %d modules are applied by a report that was cut", r.Outcome, len(got))
			}
			if c.text > 0 && (r.Resources[0].Error == "" && r.Resources[1].Error == "" || strings.Contains(was.Resources[1].Error, "…")) {
				t.Error("nothing is said of why, or the report that was given has changed")
			}
		})
	}
}

// What a mesh could not be told of for its length is all the same counted and shown.
func TestWhatIsAppliedByHandIsShownInFull(t *testing.T) {
	t.Parallel()
	const many = 9_000
	root, long := t.TempDir(), strings.Repeat("x", 58)
	must(t, os.WriteFile(filepath.Join(root, "d"), nil, 0o644)) // stands in the way of the first, which all others wait for
	b := bundled(t, 1, func(p *packer) []declaration.Resource {
		all := []declaration.Resource{p.directory("d", "/d")}
		for i := range many {
			r := p.directory(fmt.Sprintf("%s%d", long, i), fmt.Sprintf("/d%d", i))
			r.After = []string{all[0].ID}
			all = append(all, r)
		}
		return all
	})
	_, out, errs := answers(t, "apply", b.file, "--root", root)
	want := fmt.Sprintf("failed: 0 as declared, 0 changed, 0 removed, 1 failed, %d blocked, 0 waiting", many)
	if !strings.Contains(out, want) || strings.Count(out, "\n") != many+2 {
		t.Errorf("%s%s", out[max(0, len(out)-300):], errs)
	}
}
