package controller

import (
	"strings"
	"testing"
	"time"

	mesh "noxmesh"
	"noxmesh/api"
	"noxmesh/delivery"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/plan"
	"noxmesh/status"
)

// source commits a module that says this beside its name, and reads it.
func (r *rig) sourced(name, says string) {
	r.t.Helper()
	if says != "" {
		says = ", " + says
	}
	r.commit(name, map[string]string{"module.json": `{"module": "` + name + `"` + says + `}`})
	if _, known := r.known(name); !known {
		r.add(name, api.ModuleAddIn{Repository: r.address(name)})
	}
	r.step(name)
}

func (r *rig) known(name string) (row deliverystore.ModuleRow, known bool) {
	r.t.Helper()
	row, _, _, err := r.factsOf(r.t.Context(), name)
	return row, err == nil
}

func (r *rig) asks(module string) error {
	_, err := r.answerAssign(r.t.Context(), api.Who{Name: "anna"}, api.AssignIn{Node: "node1", Module: module})
	return err
}

// belongs is what belongs on the node, and what of it is in its plan.
func (r *rig) belongs() (belong, planned string) {
	r.t.Helper()
	_, err := r.declareStep(r.t.Context(), testNode)
	r.must(err)
	out, err := r.answerPlans(r.t.Context(), api.Who{}, api.PlansIn{})
	r.must(err)
	node, err := r.answerNode(r.t.Context(), api.Who{}, api.NodeIn{Node: "node1"})
	r.must(err)
	for _, m := range out.Plans[0].Modules {
		planned += " " + m.Module
	}
	return strings.Join(node.Modules, " "), strings.TrimSpace(planned)
}

func (r *rig) want(what, belong, planned string) {
	r.t.Helper()
	if b, p := r.belongs(); b != belong || p != planned {
		r.t.Errorf("%s: %q belongs there and %q is in the plan, want %q and %q", what, b, p, belong, planned)
	}
}

// Only decisions let go of what is declared on a node: a commit of a module that
// is not declared there yet never does.
func TestACommitOfWhatIsNotDeclaredLetsNothingGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		decide func(*rig)
		belong string
		plan   string
	}{
		{"it is declared", func(r *rig) { r.declared("app") }, "app other", "app other"},
		{
			"it is unassigned", func(r *rig) {
				_, err := r.answerUnassign(r.t.Context(), api.Who{}, api.UnassignIn{Node: "node1", Module: "app"})
				r.must(err)
			}, "other", "other",
		},
		{"another is declared again", func(r *rig) { r.sourced("other", `"summary": "x"`); r.declared("other") }, "app base lib other", "base lib other"},
		{
			"what it requires after all", func(r *rig) { r.sourced("app", `"requires": ["lib"]`); r.declared("app") },
			"base lib app other", "base lib app other",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.node()
			r.sourced("base", "")
			r.sourced("lib", `"requires": ["base"]`)
			r.sourced("app", `"requires": ["lib"]`)
			r.sourced("other", "")
			r.assign("app")
			r.assign("other")
			for _, m := range []string{"base", "lib", "other"} {
				r.declared(m)
			}
			r.want("at first", "base lib app other", "base lib other")
			r.sourced("app", "") // a commit that requires nothing any more, and nobody has declared it
			r.want("after the commit", "app base lib other", "base lib other")
			r.restart()
			r.want("after a restart", "app base lib other", "base lib other")
			c.decide(r)
			r.want(c.name, c.belong, c.plan)
		})
	}
}

// What cannot come to anything is refused when it is assigned, and what stands
// against it is named.
func TestAssignRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node()
	r.sourced("web", `"claims": ["tcp:80"], "resources": [{"id": "f", "type": "file", "path": "/etc/web", "content": ""}]`)
	r.sourced("proxy", `"claims": ["tcp:80"]`)
	r.sourced("files", `"resources": [{"id": "f", "type": "file", "path": "/etc/web", "content": ""}]`)
	r.sourced("ports", `"settings": {"port": {"type": "integer", "default": 80}}, "claims": ["tcp:${settings.port}"]`)
	r.sourced("lamp", `"requires": ["light"]`)
	r.sourced("room", `"requires": ["lamp"]`)
	r.sourced("tcp", `"provides": ["net"]`)
	r.sourced("udp", `"provides": ["net"]`)
	r.sourced("call", `"requires": ["net"]`)
	r.sourced("hen", `"requires": ["egg"]`)
	r.sourced("egg", `"requires": ["hen"]`)
	r.must(r.asks("web"))
	for module, want := range map[string]string{
		"proxy": `proxy: it claims tcp:80, which "web" has`,
		"files": `files: it claims /etc/web, which "web" has`,
		"ports": `ports: it claims tcp:80, which "web" has`,
		"lamp":  `lamp: requires "light", and no module provides it`,
		"room":  `lamp: requires "light", and no module provides it`,
		"call":  `call: requires "net", and tcp and udp provide it`,
		"hen":   `egg: is in a cycle of requirements: egg → hen → egg`,
	} {
		err := r.asks(module)
		if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), want) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v, want %q", module, err, want)
		}
	}
	r.want("nothing of it is assigned", "web", "")
	if _, err := r.answerAssign(t.Context(), api.Who{}, api.AssignIn{Node: "node1", Module: "ports", Settings: map[string]string{"port": "81"}}); err != nil {
		t.Errorf("another port: %v", err)
	}
	r.must(r.asks("web")) // again is no conflict with itself
	// While a source was never read, nobody can say that a name is provided by none.
	r.add("late", api.ModuleAddIn{Repository: r.address("late")})
	out, err := r.answerAssign(t.Context(), api.Who{}, api.AssignIn{Node: "node1", Module: "lamp"})
	if err != nil || len(out.LeftOut) != 1 || !strings.Contains(out.LeftOut[0].Why, `"light"`) {
		t.Errorf("%+v, %v", out, err)
	}
}

// Why something cannot be worked out is shown with since when, everywhere, over
// restarts, and is over by itself.
func TestWhatIsNotWorkedOutSaysSinceWhen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node()
	r.sourced("lamp", "")
	r.must(r.asks("lamp"))
	reason := func() (plan.Reason, status.Node) {
		t.Helper()
		if _, err := r.declareStep(t.Context(), testNode); err != nil {
			t.Fatal(err)
		}
		out, err := r.answerPlans(t.Context(), api.Who{}, api.PlansIn{})
		r.must(err)
		all := append(out.Plans[0].LeftOut, out.Plans[0].Held...)
		if len(all) == 0 {
			return plan.Reason{}, r.status().Nodes[0]
		}
		return all[0], r.status().Nodes[0]
	}
	before := clock.Now().Add(-time.Second)
	first, n := reason()
	if first.Why != plan.NotDeclared || first.Since.Before(before) || n.NotWorkedOut != 1 || len(n.Reasons) != 0 {
		t.Fatalf("%+v %+v", first, n)
	}
	r.sourced("lamp", `"requires": ["light"]`)
	second, n := reason()
	if !strings.Contains(second.Why, `"light"`) || second.Since.Before(first.Since) || len(n.Reasons) != 1 || n.Reasons[0] != second {
		t.Fatalf("%+v %+v", second, n)
	}
	r.restart()
	if again, _ := reason(); again != second {
		t.Errorf("after a restart %+v, before %+v", again, second)
	}
	shown, err := r.answerNode(t.Context(), api.Who{}, api.NodeIn{Node: "node1"})
	if err != nil || len(shown.Reasons) != 1 || shown.Reasons[0] != second {
		t.Errorf("node show: %+v %v", shown, err)
	}
	r.sourced("light", "")
	r.declared("lamp")
	r.declared("light")
	if over, n := reason(); over.Why != "" || n.NotWorkedOut != 0 {
		t.Errorf("over: %+v %+v", over, n)
	}
	r.must(r.write(t.Context(), func(tx *db.Tx) error {
		return inventorystore.Assign(tx, mesh.Assignment{Module: "lamp", Node: testNode, Settings: map[string]string{"x": "y"}}, "anna", clock.Now())
	}))
	if bad, _ := reason(); bad.Why == "" || bad.Since.IsZero() {
		t.Errorf("a setting that it has not: %+v", bad)
	}
	if _, err := r.answerNodeRemove(t.Context(), api.Who{}, api.NodeIn{Node: "node1"}); err != nil {
		t.Fatal(err)
	}
	r.must(r.with(t.Context(), func(v *view) error {
		if len(v.troubles) > 0 {
			t.Errorf("left behind: %+v", v.troubles)
		}
		return nil
	}))
}

// A build that was given up is asked for again when a person says so, and only then.
func TestLookAsksAgainForWhatWasGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sourced("site", "")
	_, err := r.buildStep(t.Context(), "site")
	if fault.KindOf(err) != fault.Unknown && err != nil {
		t.Fatal(err)
	}
	requests := func() (all []deliverystore.RequestRow) {
		r.must(r.record.Read(t.Context(), func(tx *db.Tx) (err error) {
			all, err = deliverystore.Requests(tx, "site", "")
			return err
		}))
		return all
	}
	r.tx(func(tx *db.Tx) error {
		return deliverystore.Withdraw(tx, requests()[0].ID, "3 leases of it were lost", clock.Now())
	})
	_, f, _, err := r.factsOf(t.Context(), "site")
	r.must(err)
	d := delivery.Compare(f, clock.Now().Add(1000*time.Hour))
	if len(d.Waiting) != 1 || d.Waiting[0].For != "a new commit, or mesh module look site: the build was withdrawn, 3 leases of it were lost" || d.Ask != nil {
		t.Fatalf("%+v", d)
	}
	out, err := r.answerLook(t.Context(), api.Who{}, api.LookIn{Module: "site"})
	if err != nil || out.Attempt != 0 || len(requests()) != 1 {
		t.Fatalf("a look that does not ask again: %+v %v %d", out, err, len(requests()))
	}
	for range 2 { // the second finds the request that the first made
		if out, err = r.answerLook(t.Context(), api.Who{}, api.LookIn{Module: "site", Again: true}); err != nil || len(requests()) != 2 {
			t.Fatalf("%+v %v %d", out, err, len(requests()))
		}
	}
	if _, err := r.buildStep(t.Context(), "site"); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "none has joined") {
		t.Errorf("nobody takes it: %v", err)
	}
}

// Adding what is there is nothing, and adding something else under its name is
// told what differs.
func TestAddingAModuleThatIsThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const at = "https://git.example.org:3000/web/site.git"
	add := func(in api.ModuleAddIn) (api.ModuleOut, error) {
		in.Module = "site"
		return r.answerModuleAdd(t.Context(), api.Who{Name: "anna"}, in)
	}
	first, err := add(api.ModuleAddIn{Repository: at, Ref: "refs/heads/main"})
	if err != nil || first.Already {
		t.Fatalf("%+v %v", first, err)
	}
	for _, same := range []string{at, "https://git.example.org:3000/web/site", "https://GIT.example.org:3000/web/site/"} {
		if out, err := add(api.ModuleAddIn{Repository: same, Ref: "refs/heads/main"}); err != nil || !out.Already || out.Repository != at || !out.AddedAt.Equal(first.AddedAt.Truncate(time.Millisecond)) {
			t.Errorf("%s: %+v %v", same, out, err)
		}
	}
	for want, in := range map[string]api.ModuleAddIn{
		`its repository is "https://git.example.org:3000/web/site.git", not "https://git.example.org/web/site.git"`:    {Repository: "https://git.example.org/web/site.git", Ref: "refs/heads/main"},
		`its repository is "https://git.example.org:3000/web/site.git", not "ssh://git@git.example.org:3000/web/site"`: {Repository: "ssh://git@git.example.org:3000/web/site", Ref: "refs/heads/main"},
		`its ref is "refs/heads/main", not the default branch`:                                                         {Repository: at},
		`its folder is the root, not "a"`: {Repository: at, Ref: "refs/heads/main", Folder: "a"},
	} {
		_, err := add(in)
		if fault.KindOf(err) != fault.Conflict || !strings.HasSuffix(err.Error(), "there is a module \"site\" already: "+want) || !strings.Contains(fault.HintOf(err), "mesh module remove site") {
			t.Errorf("%+v: %v", in, err)
		}
	}
}
