package controller

import (
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/internal/clock"
)

// Modules that are added together are built in the order of their code, whichever
// is read first; what nobody can own is waited for no longer than there is
// somebody to be looked at.
func TestModulesThatAreAddedTogetherAwaitEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := func(name, imports string) map[string]string {
		return map[string]string{
			"module.json": `{"module": "` + name + `", "build": {"artifacts": {"go": {"type": "library", "language": "go"}}}}`,
			"go.mod":      "module example.com/" + name + "\n\ngo 1.26\n",
			"code.go":     "package " + name + "\n\nimport _ \"" + imports + "\"\n",
		}
	}
	r.commit("app", text("app", "example.com/lib"))
	r.commit("lib", text("lib", "example.org/third"))
	for _, name := range []string{"app", "lib", "last"} {
		r.add(name, api.ModuleAddIn{Repository: r.address(name)})
	}
	r.step("app")
	const may = "waits for the first look at last, which may own what is asked for: "
	if got := r.waits("app"); got != may+"example.com/lib (code.go:3)" {
		t.Errorf("%q", got)
	}
	_, f, _, err := r.factsOf(t.Context(), "app")
	r.must(err)
	if d := delivery.Compare(f, clock.Now().Add(2*time.Minute)); d.Ask == nil {
		t.Errorf("it waits for ever: %+v", d)
	}
	r.step("lib")
	if got := r.waits("app"); !strings.HasPrefix(got, "waits for the build of lib") {
		t.Errorf("%q", got)
	}
	if got := r.waits("lib"); got != may+"example.org/third (code.go:3)" {
		t.Errorf("%q", got)
	}
	r.restart()
	r.step("last") // there is no such repository
	if got := r.waits("lib"); !strings.HasPrefix(got, "ask ") {
		t.Errorf("%q", got)
	}
	r.library("lib", "one")
	if got := r.waits("app"); !strings.HasPrefix(got, "ask ") {
		t.Errorf("%q", got)
	}
	_, err = r.answerModuleRemove(t.Context(), api.Who{}, api.ModuleIn{Module: "last"})
	r.must(err)
	r.add("more", api.ModuleAddIn{Repository: r.address("more")})
	_, err = r.answerModuleRemove(t.Context(), api.Who{}, api.ModuleIn{Module: "more"})
	r.must(err)
	r.must(r.with(t.Context(), func(v *view) error {
		if len(v.unlooked) != 0 {
			t.Errorf("who has left is to be looked at: %+v", v.unlooked)
		}
		return nil
	}))
	r.recheckClean()
}
