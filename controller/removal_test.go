package controller

import (
	"fmt"
	"strings"
	"testing"

	"noxmesh/api"
	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/report"
	"noxmesh/status"
)

// filled is the source of a module with so many files.
func filled(n int) string {
	var files []string
	for i := range n {
		files = append(files, fmt.Sprintf(`{"id": "f%d", "type": "file", "path": "/opt/f%d", "content": "x"}`, i, i))
	}
	return `"resources": [` + strings.Join(files, ", ") + `]`
}

// A plan that would remove more than half of what a node holds is held back, is said
// to be, and goes out once a person has allowed just that one.
func TestARemovalOfMuchWaitsForAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node()
	r.sourced("site", filled(12))
	r.assign("site")
	sequence := int64(0)
	holds := func(n int) {
		t.Helper()
		sequence++
		said := report.Report{Node: testNode, Sequence: sequence, Outcome: report.OutcomeApplied, Modules: []declaration.Module{}}
		for i := range n {
			said.Resources = append(said.Resources, report.Resource{ID: fmt.Sprintf("site/f%d", i), Digest: document.Sum([]byte("x")), State: report.StateOK})
		}
		said.Resources = append(said.Resources, report.Resource{ID: "site/gone", State: report.StateRemoved})
		r.tx(func(tx *db.Tx) error {
			_, err := inventorystore.SaveReport(tx, said, []byte("envelope"), clock.Now())
			return err
		})
	}
	step := func() {
		t.Helper()
		_, err := r.declareStep(t.Context(), testNode)
		r.must(err)
	}
	wanted := func() (n inventory.Node) {
		t.Helper()
		r.must(r.record.Read(t.Context(), func(tx *db.Tx) (err error) {
			n, err = inventorystore.Node(tx, testNode)
			return err
		}))
		return n
	}
	waits := func() *status.Removal {
		t.Helper()
		out, err := r.answerNode(t.Context(), api.Who{}, api.NodeIn{Node: "node1"})
		r.must(err)
		plans, err := r.answerPlans(t.Context(), api.Who{}, api.PlansIn{Node: "node1"})
		r.must(err)
		if a, b := out.Node.Removal, plans.Plans[0].Removal; (a == nil) != (b == nil) || a != nil && *a != *b {
			t.Errorf("node show says %+v, and plan %+v", a, b)
		}
		return out.Node.Removal
	}
	allow := func(digest string) error {
		_, err := r.answerNodeAllow(t.Context(), api.Who{Name: "anna"}, api.NodeAllowIn{Node: "node1", Digest: digest})
		return err
	}

	declare := func(b artifact.Build) {
		t.Helper()
		r.must(r.declare(t.Context(), deliverystore.DeclareWrite{Module: "site", Build: b.ID, Nodes: []string{testNode}, By: "anna", At: clock.Now()}))
		step()
	}
	twelve := r.build("site")
	declare(twelve)
	first := wanted().Wanted
	if waits() != nil || first.Generation == 0 {
		t.Fatalf("the first plan of a node is held back: %+v", first)
	}
	holds(12)
	if step(); waits() != nil {
		t.Error("what is as wanted is held back")
	}

	r.sourced("site", filled(2))
	two := r.build("site")
	declare(two)
	held := waits()
	if held == nil || held.Gone != 10 || held.Of != 12 || wanted().Wanted != first {
		t.Fatalf("ten of twelve would go: %+v, wanted %+v", held, wanted().Wanted)
	}
	if on := r.status().Modules[0].Nodes[0]; on.HeldBack != held.Words() {
		t.Errorf("of the module it is said: %+v", on)
	}
	m, _ := r.outbox.of(testNode)
	if m.envelope != nil || !strings.Contains(m.why, "it would remove 10 of the 12 resources that the node holds; mesh node allow node1 ") {
		t.Errorf("the node is told %+v", m)
	}
	if !strings.Contains(held.Command, held.Digest[len("sha256:"):][:12]) {
		t.Errorf("%+v", held)
	}
	for _, other := range []string{"", "12345678", held.Digest[:len("sha256:")+7], first.Digest.Hex()} {
		refused(t, allow(other), "what is held back from node \"node1\" is ")
	}
	r.must(allow(shortest(document.Digest(held.Digest))))
	allowed := wanted().Wanted
	if allowed.Digest != document.Digest(held.Digest) || !first.Before(allowed) {
		t.Errorf("allowed, and wanted is %+v", allowed)
	}
	step()
	if m, _ := r.outbox.of(testNode); m.envelope == nil || m.tuple != allowed || waits() != nil {
		t.Errorf("allowed, and the node is told %+v", m)
	}
	refused(t, allow(held.Digest), "nothing is held back")

	// Once it was: what comes after it and comes back is asked for again.
	declare(twelve)
	if wanted().Wanted == allowed {
		t.Fatal("what removes nothing is held back")
	}
	declare(two)
	if again := waits(); again == nil || again.Digest != held.Digest {
		t.Errorf("the same plan once more: %+v", again)
	}
	holds(0)
	if step(); waits() != nil {
		t.Error("a node that holds nothing can lose nothing")
	}
	refused(t, allow(held.Digest), "nothing is held back")
}
