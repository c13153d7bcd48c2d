package controller

import (
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/declaration"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/report"
)

const farNode = "far00000001"

// says is what the node says of itself with its next report.
func (r *rig) says(sequence int64, capabilities ...string) {
	r.t.Helper()
	r.tx(func(tx *db.Tx) error {
		said := report.Report{
			Node: testNode, Sequence: sequence, Outcome: report.OutcomeApplied, Modules: []declaration.Module{},
			Facts: &report.Facts{OS: "linux", Arch: "amd64", Capabilities: capabilities},
		}
		_, err := inventorystore.SaveReport(tx, said, []byte("envelope"), clock.Now())
		return err
	})
}

func refused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if fault.KindOf(err) != fault.Conflict {
		t.Errorf("got %v, want it refused", err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

// What is good for the whole mesh meets a requirement once it is declared on any
// node, is not brought along, and its going is said where it was needed.
func TestWhatTheWholeMeshHas(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node()
	r.tx(func(tx *db.Tx) error {
		return inventorystore.AddNode(tx, inventorystore.NewNode{ID: farNode, Name: "node2", By: "anna", At: clock.Now()})
	})
	r.sourced("dns", `"provides": [{"name": "names", "scope": "mesh"}]`)
	r.sourced("app", `"requires": ["names"]`)
	refused(t, r.asks("app"), `app: requires "names" of the mesh, and it is declared on no node: dns provides it`)

	_, err := r.answerAssign(r.t.Context(), api.Who{Name: "anna"}, api.AssignIn{Node: "node2", Module: "dns"})
	r.must(err)
	b := r.build("dns")
	far := func(id string) {
		r.must(r.declare(r.t.Context(), deliverystore.DeclareWrite{Module: "dns", Build: b.ID, Nodes: []string{id}, By: "anna", At: clock.Now()}))
	}
	far(farNode)
	r.must(r.asks("app"))
	r.declared("app")
	r.want("the mesh has it", "app", "app")

	r.must(r.answersUnassign("node2", "dns"))
	if p := r.planned(); !strings.Contains(p, `of the mesh, and it is declared on no node: dns provides it`) {
		t.Errorf("the mesh lost it: %s", p)
	}
	_, err = r.answerAssign(r.t.Context(), api.Who{Name: "anna"}, api.AssignIn{Node: "node2", Module: "dns"})
	r.must(err)
	far(farNode)
	r.want("the mesh has it again", "app", "app")
}

func (r *rig) answersUnassign(node, module string) error {
	_, err := r.answerUnassign(r.t.Context(), api.Who{}, api.UnassignIn{Node: node, Module: module})
	return err
}

// Who claims what another has, and who needs what the node has not, is refused
// when it is assigned, with both named.
func TestClaimsAndCapabilitiesAreRefusedAtAssignment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node()
	r.sourced("web", `"claims": ["tcp:80"]`)
	r.sourced("other", `"claims": ["tcp:80"]`)
	r.sourced("unit", `"capabilities": ["systemd", "amd64"]`)
	r.sourced("box", `"capabilities": ["podman"]`)
	r.must(r.asks("web"))
	refused(t, r.asks("other"), `other: it claims tcp:80, which "web" has`)

	r.must(r.asks("unit")) // nobody knows yet
	if p := r.planned(); !strings.Contains(p, "has not reported yet which it has") {
		t.Errorf("it has not said: %s", p)
	}
	r.says(1, "systemd")
	refused(t, r.asks("box"), `box: needs the capability "podman", and the node reports amd64, systemd`)
	r.declared("web")
	r.declared("unit")
	r.want("it has it", "unit web", "unit web")
	r.says(2)
	if p := r.planned(); !strings.Contains(p, "systemd") || !strings.Contains(p, "the node reports amd64") {
		t.Errorf("it has lost it: %s", p)
	}
}

// A node that has said nothing is told that nothing is wanted, so that it says
// what it can; otherwise each would wait for the other.
func TestANodeIsAskedWhatItCan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node()
	r.sourced("unit", `"capabilities": ["systemd"]`)
	r.must(r.asks("unit"))
	r.declared("unit")
	r.must(r.with(t.Context(), func(v *view) error {
		n := v.nodes[testNode]
		w, err := v.inShort(n)
		if err != nil || w.of(n.Node) == "" {
			t.Errorf("it is told nothing, %v", err)
		}
		return nil
	}))
	r.says(1, "systemd")
	r.want("it has said it", "unit", "unit")
}

// An instance is named with who grants it and since when, in plan, status and
// module show, and nothing of its module is in a plan.
func TestWhatNeedsAnInstanceIsNotWorkedOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node()
	r.sourced("shop", `"instances": {"db": {"of": "postgres-database"}}`)
	r.must(r.asks("shop"))
	r.declared("shop")
	r.want("nobody grants it", "shop", "")
	before := time.Now()
	r.sourced("postgres", `"grants": {"postgres-database": {"gives": ["url"]}}`)
	r.want("one grants it", "shop", "")
	const why = "needs an instance of postgres-database, which postgres grants; this version makes no instances yet"
	if p := r.planned(); !strings.Contains(p, why) || strings.Contains(p, `"since":"0001`) {
		t.Errorf("the plan: %s", p)
	}
	st := r.status()
	if len(st.Nodes[0].Reasons) != 1 || st.Nodes[0].Reasons[0].Why != why || st.Nodes[0].Reasons[0].Since.Before(before.Add(-time.Second)) {
		t.Errorf("the status: %+v", st.Nodes[0].Reasons)
	}
	shown, err := r.answerModule(t.Context(), api.Who{}, api.ModuleIn{Module: "shop"})
	r.must(err)
	if len(shown.Instances) != 1 || shown.Instances[0].Of != "postgres-database" || strings.Join(shown.Instances[0].GrantedBy, " ") != "postgres" {
		t.Errorf("shown: %+v", shown.Instances)
	}
	shown, err = r.answerModule(t.Context(), api.Who{}, api.ModuleIn{Module: "postgres"})
	r.must(err)
	if len(shown.Grants) != 1 || shown.Grants[0].Kind != "postgres-database" {
		t.Errorf("shown: %+v", shown.Grants)
	}
}
