package report_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/report"
)

func names(modules []declaration.Module) string {
	var out []string
	for _, m := range modules {
		out = append(out, m.Module)
	}
	return strings.Join(out, " ")
}

func TestApplied(t *testing.T) {
	t.Parallel()
	ok, left := digest("x"), document.Digest("")
	for name, c := range map[string]struct {
		outcome   report.Outcome
		resources []report.Resource
		want      string
	}{
		"all":                {report.OutcomeApplied, []report.Resource{{ID: "a/1", Digest: ok, State: report.StateOK}, {ID: "b/1", Digest: ok, State: report.StateChanged}}, "a b c"},
		"one failed":         {report.OutcomeFailed, []report.Resource{{ID: "a/1", Digest: ok, State: report.StateOK}, {ID: "b/1", Digest: ok, State: report.StateFailed}}, "a c"},
		"one of two":         {report.OutcomeFailed, []report.Resource{{ID: "b/1", Digest: ok, State: report.StateOK}, {ID: "b/2", Digest: ok, State: report.StateWaiting}}, "a c"},
		"drift only":         {report.OutcomeApplied, []report.Resource{{ID: "b/1", Digest: ok, State: report.StateDiffers}}, "a c"},
		"blocked":            {report.OutcomeFailed, []report.Resource{{ID: "b/1", Digest: ok, State: report.StateBlocked}}, "a c"},
		"left and removed":   {report.OutcomeApplied, []report.Resource{{ID: "b/1", Digest: left, State: report.StateRemoved}}, "a b c"},
		"left and still":     {report.OutcomeFailed, []report.Resource{{ID: "b/1", Digest: left, State: report.StateFailed}}, "a c"},
		"left and there":     {report.OutcomeApplied, []report.Resource{{ID: "b/1", Digest: left, State: report.StateOK}}, "a c"},
		"of another":         {report.OutcomeFailed, []report.Resource{{ID: "gone/1", Digest: left, State: report.StateFailed}}, "a b c"},
		"no state":           {report.OutcomeApplied, []report.Resource{{ID: "b/1", Digest: ok}}, "a c"},
		"a state not known":  {report.OutcomeApplied, []report.Resource{{ID: "b/1", Digest: ok, State: "fine"}}, "a c"},
		"a prefix is not it": {report.OutcomeFailed, []report.Resource{{ID: "bb/1", Digest: ok, State: report.StateFailed}}, "a b c"},
		"failed, unsaid why": {report.OutcomeFailed, []report.Resource{{ID: "a/1", Digest: ok, State: report.StateOK}}, ""},
		"failed at once":     {report.OutcomeFailed, nil, ""},
		"confirming":         {report.OutcomeConfirming, []report.Resource{{ID: "a/1", Digest: ok, State: report.StateOK}}, ""},
		"no outcome":         {"", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := report.Report{
				Outcome: c.outcome, Resources: c.resources,
				Modules: []declaration.Module{{Module: "a", Content: ok}, {Module: "b", Content: ok}, {Module: "c", Content: ok}},
			}
			if got := names(report.AppliedModules(r)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func bodies() *rapid.Generator[declaration.Body] {
	return rapid.Custom(func(t *rapid.T) declaration.Body {
		b := declaration.Body{Modules: []declaration.Module{}, Resources: []declaration.Resource{}}
		for _, m := range []string{"a", "ab", "b"} {
			if !rapid.Bool().Draw(t, m) {
				continue
			}
			b.Modules = append(b.Modules, declaration.Module{Module: m, Content: digest(m)})
			for _, id := range []string{"1", "2"} {
				if rapid.Bool().Draw(t, id) {
					mode := rapid.SampledFrom([]string{"0755", "0700"}).Draw(t, "mode")
					b.Resources = append(b.Resources, declaration.Resource{ID: m + "/" + id, Type: declaration.Directory, Path: "/" + m + id, Mode: mode})
				}
			}
		}
		return b
	})
}

// honest is what a host reports that has done all of it.
func honest(t *rapid.T, b declaration.Body) report.Report {
	r := report.Report{Outcome: report.OutcomeApplied, Modules: b.Modules}
	for _, res := range b.Resources {
		d, err := res.ContentDigest()
		if err != nil {
			t.Fatal(err)
		}
		state := rapid.SampledFrom([]report.State{report.StateOK, report.StateChanged}).Draw(t, "state")
		r.Resources = append(r.Resources, report.Resource{ID: res.ID, Digest: d, State: state})
	}
	if rapid.Bool().Draw(t, "removed") {
		r.Resources = append(r.Resources, report.Resource{ID: "gone/1", State: report.StateRemoved})
	}
	return r
}

// An honest report of everything matches and applies every module. Whatever is
// then taken from it, it matches no more, and no module that lost something is
// applied.
func TestNothingIsAppliedThatWasNotReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := bodies().Draw(t, "body")
		r := honest(t, body)
		if ok, err := report.Matches(r, body); err != nil || !ok {
			t.Fatalf("an honest report does not match: %v", err)
		}
		if got := report.AppliedModules(r); !slices.Equal(got, body.Modules) {
			t.Fatalf("applied %v of %v", got, body.Modules)
		}
		if len(body.Resources) == 0 {
			return
		}
		r.Resources = slices.Clone(r.Resources)
		i := rapid.IntRange(0, len(body.Resources)-1).Draw(t, "which")
		module, _, _ := strings.Cut(body.Resources[i].ID, "/")
		switch rapid.IntRange(0, 4).Draw(t, "how") {
		case 0: // in another state
			r.Resources[i].State = rapid.SampledFrom([]report.State{
				report.StateDiffers, report.StateWaiting, report.StateFailed, report.StateBlocked, report.StateRemoved, "", "fine",
			}).Draw(t, "bad")
			if slices.ContainsFunc(report.AppliedModules(r), func(m declaration.Module) bool { return m.Module == module }) {
				t.Fatalf("%q is applied with %+v", module, r.Resources[i])
			}
		case 1: // not reported at all
			r.Resources = slices.Delete(r.Resources, i, i+1)
		case 2: // read back as another
			r.Resources[i].Digest = digest("other")
		case 3: // and something that nobody declared is still there
			r.Resources = append(r.Resources, report.Resource{ID: module + "/old", State: report.StateFailed})
			if slices.ContainsFunc(report.AppliedModules(r), func(m declaration.Module) bool { return m.Module == module }) {
				t.Fatalf("%q is applied with something left", module)
			}
		case 4: // and something was read back that is not in the body
			r.Resources = append(r.Resources, report.Resource{ID: module + "/more", Digest: digest("more"), State: report.StateOK})
		}
		if ok, err := report.Matches(r, body); err != nil || ok {
			t.Fatalf("matches %+v, %v", r, err)
		}
	})
}

// The slow model: a module is applied when no resource of its name stands
// against it, looked up one by one.
func TestAppliedAgainstTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := report.Report{Outcome: rapid.SampledFrom([]report.Outcome{report.OutcomeApplied, report.OutcomeFailed, report.OutcomeConfirming}).Draw(t, "outcome")}
		for _, m := range []string{"a", "ab", "b"} {
			r.Modules = append(r.Modules, declaration.Module{Module: m, Content: digest(m)})
		}
		for range rapid.IntRange(0, 6).Draw(t, "resources") {
			r.Resources = append(r.Resources, report.Resource{
				ID:     rapid.SampledFrom([]string{"a", "ab", "b", "gone"}).Draw(t, "module") + "/" + rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "id"),
				Digest: rapid.SampledFrom([]document.Digest{"", digest("x")}).Draw(t, "digest"),
				State:  rapid.SampledFrom(states()).Draw(t, "state"),
			})
		}
		bad := func(res report.Resource) bool {
			fine := res.State == report.StateOK || res.State == report.StateChanged
			gone := res.State == report.StateRemoved && res.Digest == ""
			return !gone && (!fine || res.Digest == "")
		}
		var want []declaration.Module
		for _, m := range r.Modules {
			if !slices.ContainsFunc(r.Resources, func(res report.Resource) bool { return strings.HasPrefix(res.ID, m.Module+"/") && bad(res) }) {
				want = append(want, m)
			}
		}
		if r.Outcome == report.OutcomeConfirming || r.Outcome == report.OutcomeFailed && !slices.ContainsFunc(r.Resources, bad) {
			want = nil
		}
		if got := report.AppliedModules(r); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
