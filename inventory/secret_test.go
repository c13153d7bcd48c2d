package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/document"
	"noxmesh/inventory"
	"noxmesh/report"
)

// A secret is applied in a version where every file that has it is as declared, and
// nothing else says so.
func TestWhichSecretsAReportSaysAreApplied(t *testing.T) {
	t.Parallel()
	sum := func(s string) document.Digest { return document.Sum([]byte(s)) }
	file := func(of string, versions map[string]int64) inventory.SecretFile {
		return inventory.SecretFile{Digest: sum(of), Versions: versions}
	}
	files := map[string]inventory.SecretFile{
		"app/a": file("a", map[string]int64{"url": 3, "key": 1}), "app/b": file("b", map[string]int64{"url": 3}), "web/a": file("w", map[string]int64{"url": 7}),
	}
	said := func(a, b, w report.State) report.Report {
		return report.Report{Resources: []report.Resource{
			{ID: "app/a", Digest: sum("a"), State: a}, {ID: "app/b", Digest: sum("b"), State: b}, {ID: "web/a", Digest: sum("w"), State: w}, {ID: "app/c", Digest: sum("c"), State: report.StateOK},
		}}
	}
	ok, changed, failed, differs := report.StateOK, report.StateChanged, report.StateFailed, report.StateDiffers
	other := said(ok, ok, ok)
	other.Resources[0].Digest = sum("another a")
	cut := said(ok, ok, ok)
	cut.Resources = cut.Resources[1:]
	type versions = map[string]map[string]int64
	for name, c := range map[string]struct {
		r    report.Report
		want versions
	}{
		"all":                  {said(ok, changed, ok), versions{"app": {"url": 3, "key": 1}, "web": {"url": 7}}},
		"one of two failed":    {said(ok, failed, ok), versions{"app": {"key": 1}, "web": {"url": 7}}},
		"it only differs":      {said(differs, ok, differs), versions{"app": {}, "web": {}}},
		"of other content":     {other, versions{"app": {}, "web": {"url": 7}}},
		"left out of a report": {cut, versions{"app": {}, "web": {"url": 7}}},
		"nothing":              {report.Report{}, versions{"app": {}, "web": {}}},
	} {
		if diff := cmp.Diff(c.want, inventory.AppliedSecrets(c.r, files)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
