package host

import (
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/report"
)

// Whatever a report says changes what it says: a field that has no part in it is
// one of those that are named here.
func TestWhatAReportSays(t *testing.T) {
	t.Parallel()
	silent := []string{"Sequence", "Cause", "Began", "Ended", "Facts"}
	fresh := func() report.Report {
		return report.Report{
			Trouble: &report.Trouble{}, Modules: make([]declaration.Module, 1), Resources: []report.Resource{{Contested: &report.Contested{}}}, Facts: &report.Facts{},
		}
	}
	before := says(fresh())
	var change func(path string, v func(*report.Report) reflect.Value)
	change = func(path string, at func(*report.Report) reflect.Value) {
		r := fresh()
		v := at(&r)
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				change(path+"."+v.Type().Field(i).Name, func(r *report.Report) reflect.Value { return at(r).Field(i) })
			}
			return
		case reflect.Pointer:
			change(path, func(r *report.Report) reflect.Value { return at(r).Elem() })
			v.SetZero()
		case reflect.Slice:
			change(path, func(r *report.Report) reflect.Value { return at(r).Index(0) })
			v.SetZero()
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		default:
			v.SetInt(7)
		}
		if got := says(r); (got == before) != slices.Contains(silent, path) {
			t.Errorf("%s: it says the same %v", path, got == before)
		}
	}
	top := reflect.TypeFor[report.Report]()
	for i := range top.NumField() {
		f := top.Field(i)
		if f.Name == "Facts" {
			continue
		}
		change(f.Name, func(r *report.Report) reflect.Value { return reflect.ValueOf(r).Elem().Field(i) })
	}
	two := fresh()
	two.Modules[0] = declaration.Module{Module: "ab", Content: "c"}
	other := fresh()
	other.Modules[0] = declaration.Module{Module: "a", Content: document.Digest("bc")}
	if says(two) == says(other) {
		t.Error("where a word ends has no part in it")
	}
}

// What is not as declared stands in the log with its reason: once while it stays
// so, anew when it is so again, and never more of it than a person reads.
func TestWhatIsNotAsDeclaredIsInTheLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	r := &runner{node: &node{cfg: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}}
	pass := func(want int, all ...report.Resource) {
		t.Helper()
		log.Reset()
		r.complain(report.Report{Resources: all})
		if got := strings.Count(log.String(), "\n"); got != want {
			t.Errorf("%d lines of %d resources, want %d:\n%s", got, len(all), want, log.String())
		}
	}
	full := report.Resource{ID: "site/conf", State: report.StateFailed, Error: `write "/etc/conf": no space left on device`}
	well := report.Resource{ID: "site/conf", State: report.StateOK}
	pass(0, well)
	pass(1, full)
	if want := `level=WARN msg="not as declared" resource=site/conf state=failed why="write \"/etc/conf\": no space left on device"`; !strings.Contains(log.String(), want) {
		t.Errorf("%q lacks %q", log.String(), want)
	}
	pass(0, full)
	pass(0, well)
	pass(1, full)
	var many []report.Resource
	for i := range complaints + 5 {
		many = append(many, report.Resource{ID: strconv.Itoa(i), State: report.StateFailed, Error: "no"})
	}
	pass(complaints+1, many...)
	pass(0, many...)
}
