package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/inventory"
	"noxmesh/link"
	"noxmesh/plan"
	"noxmesh/report"
	"noxmesh/status"
	"noxmesh/trouble"
)

func tuple(generation int64, name string) declaration.Tuple {
	return declaration.Tuple{Epoch: 1, Generation: generation, Digest: digest(name)}
}

// node was told A, which is wanted, has accepted it and reports that it is applied.
func node(change ...func(*status.NodeFacts)) status.NodeFacts {
	a := tuple(5, "A")
	r := says(digest("x"), "applied")
	r.Accepted, r.Applied = a, a
	f := status.NodeFacts{
		Node: inventory.Node{
			ID: "n1", Name: "laptop", JoinedAt: at(1), LastSeen: at(7), Host: "1.0", Wanted: a, Accepted: a, Applied: a,
			Sent: inventory.Sent{Tuple: a, At: at(3)}, Report: r, ReportAt: at(4),
		},
		Wanted: digest("A"), Modules: []string{"site"},
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

// reports is what the last report says.
func reports(change func(*report.Report)) func(*status.NodeFacts) {
	return func(f *status.NodeFacts) {
		r := *f.Node.Report
		change(&r)
		f.Node.Report = &r
	}
}

func has(change func(*inventory.Node)) func(*status.NodeFacts) {
	return func(f *status.NodeFacts) { change(&f.Node) }
}

func TestNodeState(t *testing.T) {
	t.Parallel()
	none := declaration.Tuple{}
	held := func(f *status.NodeFacts) { f.Wanted, f.NotWorkedOut = "", []plan.Reason{{Module: "site", Why: "why"}} }
	fresh := has(func(n *inventory.Node) {
		n.Sent, n.Wanted, n.Accepted, n.Report = inventory.Sent{}, none, none, nil
	})
	refused := has(func(n *inventory.Node) {
		n.Accepted, n.Report = tuple(4, "Z"), nil
		n.Refused = &link.Refusal{Epoch: 1, Generation: 5, Digest: digest("A"), Why: "a type that it does not know"}
	})
	for _, c := range []struct {
		name  string
		facts status.NodeFacts
		want  string
		bad   bool
	}{
		{name: "applied", facts: node(), want: "applied"},
		{name: "not joined", facts: node(fresh, has(func(n *inventory.Node) { n.JoinedAt = time.Time{} })), want: "not joined"},
		{name: "quarantined", facts: node(has(func(n *inventory.Node) { n.Finding = "has accepted 7/43" })), want: "quarantined", bad: true},
		{name: "never told", facts: node(fresh), want: "never told"},
		{name: "nothing is wanted of it", facts: node(fresh, func(f *status.NodeFacts) { f.Wanted = "" }), want: "idle"},
		{name: "nothing of what belongs on it is worked out", facts: node(fresh, held), want: "idle"},
		{name: "everything was taken away, and that is applied", facts: node(reports(func(r *report.Report) { r.Modules, r.Resources = nil, nil })), want: "applied"},
		{name: "out of date", facts: node(func(f *status.NodeFacts) { f.Wanted = digest("B") }), want: "out of date"},
		{
			name: "out of date, and what it has failed", want: "out of date", bad: true,
			facts: node(func(f *status.NodeFacts) { f.Wanted = digest("B") }, reports(func(r *report.Report) { r.Outcome = report.OutcomeFailed })),
		},
		{name: "not worked out, and it is what it was declared to be", facts: node(held), want: "applied"},
		{name: "not worked out, and it has not yet applied what it was declared to be", facts: node(held, has(func(n *inventory.Node) { n.Report = nil })), want: "outstanding"},
		{name: "it has not reported", facts: node(has(func(n *inventory.Node) { n.Report = nil })), want: "outstanding"},
		{name: "it has reported on an older declaration", facts: node(reports(func(r *report.Report) { r.Accepted, r.Applied = tuple(4, "Z"), tuple(4, "Z") })), want: "outstanding"},
		{
			name: "an older declaration has failed", want: "outstanding", bad: true,
			facts: node(reports(func(r *report.Report) { r.Accepted, r.Applied, r.Outcome = tuple(4, "Z"), none, report.OutcomeFailed })),
		},
		{name: "accepted, and not applied", facts: node(reports(func(r *report.Report) { r.Applied = tuple(4, "Z") })), want: "outstanding"},
		{name: "its hello says applied and its report does not", facts: node(reports(func(r *report.Report) { r.Applied = none })), want: "outstanding"},
		{
			name: "one resource waits for the registry", want: "outstanding",
			facts: node(reports(func(r *report.Report) {
				r.Resources = []report.Resource{{ID: "site/pages", Digest: digest("p"), State: report.StateWaiting}}
			})),
		},
		{name: "failed", facts: node(reports(func(r *report.Report) { r.Outcome, r.Applied = report.OutcomeFailed, none })), want: "failed", bad: true},
		{name: "a new host is not confirmed", facts: node(reports(func(r *report.Report) { r.Outcome = report.OutcomeConfirming })), want: "outstanding"},
		{
			name: "a new host is not confirmed, and nothing belongs on it", want: "outstanding",
			facts: node(reports(func(r *report.Report) { r.Outcome, r.Modules, r.Resources = report.OutcomeConfirming, nil, nil })),
		},
		{name: "refused", facts: node(refused), want: "refused", bad: true},
		{name: "refused, and something else is wanted", facts: node(refused, func(f *status.NodeFacts) { f.Wanted = digest("B") }), want: "out of date"},
		{
			name: "it has refused what nobody wants", want: "applied",
			facts: node(has(func(n *inventory.Node) {
				n.Refused = &link.Refusal{Epoch: 1, Generation: 3, Digest: digest("old"), Why: "it is older"}
			})),
		},
		{name: "stuck", facts: node(has(func(n *inventory.Node) { n.Trouble = trouble.Trouble{Count: 3} })), want: "applied", bad: true},
		{name: "in trouble for the second time", facts: node(has(func(n *inventory.Node) { n.Trouble = trouble.Trouble{Count: 2} })), want: "applied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := status.OfNode(c.facts)
			if n.State != c.want || n.State != status.NodeState(c.facts) || n.Bad() != c.bad {
				t.Errorf("%q, want %q; bad %v, want %v", n.State, c.want, n.Bad(), c.bad)
			}
			// What push --behind acts on is what the one word says, and nothing else.
			says := n.State == status.NeverTold || n.State == status.OutOfDate
			if (n.Behind != inventory.NotBehind) != says || says && string(n.Behind) != n.State {
				t.Errorf("it is %q, and behind is %q", n.State, n.Behind)
			}
		})
	}
}

func TestOfNodeWhole(t *testing.T) {
	t.Parallel()
	f := node(reports(func(r *report.Report) {
		r.Outcome = report.OutcomeFailed
		r.Resources = []report.Resource{
			{ID: "site/a", State: report.StateOK, Fixed: true},
			{ID: "site/b", State: report.StateChanged},
			{ID: "site/c", State: report.StateFailed, Error: "full"},
			{ID: "site/d", State: report.StateBlocked, Error: `"site/c" comes first, and is failed`},
			{ID: "site/e", State: report.StateWaiting, Error: "the registry does not answer"},
			{ID: "site/f", State: report.StateDiffers, Contested: &report.Contested{Since: 5000, Count: 4}},
			{ID: "site/g", State: report.StateRemoved},
			{ID: "site/h", State: report.StateOK, Fixed: true},
		}
	}), has(func(n *inventory.Node) {
		n.Trouble = trouble.Trouble{Says: "site/c: full", Since: at(2), Count: 4}
		n.Refused = &link.Refusal{Why: "it is older"}
	}), func(f *status.NodeFacts) {
		f.NotWorkedOut = []plan.Reason{{Module: "a", Why: plan.NotDeclared}, {Module: "b", Why: "requires x", Since: at(3)}}
	})
	want := status.Node{
		Node: "n1", Name: "laptop", State: "failed", Host: "1.0", LastSeen: at(7), SentAt: at(3), ReportAt: at(4), Outcome: "failed", Drift: 2,
		Refused: "it is older", Trouble: &status.Trouble{Says: "site/c: full", Since: at(2), Count: 4, Stuck: true},
		Failing: []status.Failing{
			{Resource: "site/c", State: "failed", Error: "full"},
			{Resource: "site/d", State: "blocked", Error: `"site/c" comes first, and is failed`},
			{Resource: "site/e", State: "waiting", Error: "the registry does not answer"},
			{Resource: "site/f", State: "differs"},
		},
		Contested:    []status.Contested{{Resource: "site/f", Since: time.UnixMilli(5000).UTC(), Count: 4}},
		NotWorkedOut: 2, Reasons: []plan.Reason{{Module: "b", Why: "requires x", Since: at(3)}}, Modules: []string{"site"},
	}
	if d := cmp.Diff(want, status.OfNode(f)); d != "" {
		t.Error(d)
	}
	for count, bad := range map[int64]bool{0: false, 2: false, 3: true} {
		is := status.OfNode(node(func(f *status.NodeFacts) {
			f.Deaf = trouble.Trouble{Says: "no answer reaches it", Since: at(2), Count: count}
		}))
		if (is.Deaf != nil) != bad || is.Bad() != bad {
			t.Errorf("%d answers were lost: %+v, bad %v", count, is.Deaf, is.Bad())
		}
	}
	removal := &status.Removal{Gone: 10, Of: 12, Digest: "sha256:00", Command: "mesh node allow laptop 00"}
	if is := status.OfNode(node(func(f *status.NodeFacts) { f.Removal = removal })); is.Removal != removal || !is.Bad() {
		t.Errorf("what waits for a person: %+v, bad %v", is, is.Bad())
	}
	empty := status.OfNode(status.NodeFacts{Wanted: document.Digest("")})
	if empty.Modules == nil || empty.State != status.NotJoined {
		t.Errorf("%+v", empty)
	}
}
