package inventory_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/inventory"
	"noxmesh/link"
	"noxmesh/report"
)

func digest(name string) document.Digest { return document.Sum([]byte(name)) }

func tuple(epoch, generation int64, name string) declaration.Tuple {
	return declaration.Tuple{Epoch: epoch, Generation: generation, Digest: digest(name)}
}

func at(seconds int) time.Time {
	return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// node has joined and been heard of, was sent and has accepted what is wanted: A.
func node(change ...func(*inventory.Node)) inventory.Node {
	a := tuple(1, 5, "A")
	n := inventory.Node{ID: "node00000001", Name: "laptop", JoinedAt: at(1), LastSeen: at(2), Wanted: a, Accepted: a, Sent: inventory.Sent{Tuple: a, At: at(3)}}
	for _, c := range change {
		c(&n)
	}
	return n
}

func refused(d declaration.Tuple) func(*inventory.Node) {
	return func(n *inventory.Node) {
		n.Refused = &link.Refusal{Epoch: d.Epoch, Generation: d.Generation, Digest: d.Digest, Why: "too large"}
	}
}

func TestBehindOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		node   inventory.Node
		wanted document.Digest
		want   inventory.Behind
	}{
		{"it was sent what is wanted", node(), digest("A"), inventory.NotBehind},
		{"nothing is wanted, or it is not worked out", node(func(n *inventory.Node) { n.Sent.Tuple = tuple(1, 4, "B") }), "", inventory.NotBehind},
		{"nothing is wanted, and it was never told", node(func(n *inventory.Node) { n.Sent = inventory.Sent{} }), "", inventory.NotBehind},
		{"never told", node(func(n *inventory.Node) { n.Sent = inventory.Sent{} }), digest("A"), inventory.NeverTold},
		{"never told, and not issued either", node(func(n *inventory.Node) { n.Sent, n.Wanted = inventory.Sent{}, declaration.Tuple{} }), digest("A"), inventory.NeverTold},
		{"something else is wanted", node(), digest("B"), inventory.OutOfDate},
		{"something else was issued", node(func(n *inventory.Node) { n.Wanted = tuple(1, 6, "B") }), digest("B"), inventory.OutOfDate},
		{"A, B, A: the old A is not the new one", node(func(n *inventory.Node) { n.Wanted = tuple(1, 7, "A") }), digest("A"), inventory.OutOfDate},
		{"A again is wanted, B was issued, A was sent", node(func(n *inventory.Node) { n.Wanted = tuple(1, 6, "B") }), digest("A"), inventory.OutOfDate},
		{"another epoch", node(func(n *inventory.Node) { n.Wanted = tuple(2, 6, "A") }), digest("A"), inventory.OutOfDate},
		{"it has not joined", node(func(n *inventory.Node) { n.JoinedAt, n.Sent = time.Time{}, inventory.Sent{} }), digest("A"), inventory.NotBehind},
		{"it stands against the record", node(func(n *inventory.Node) { n.Finding = "has accepted 7/43" }), digest("B"), inventory.NotBehind},
		{"it was sent it and has not accepted it", node(func(n *inventory.Node) { n.Accepted = tuple(1, 4, "B") }), digest("A"), inventory.NotBehind},
		{"it has refused it", node(refused(tuple(1, 5, "A")), func(n *inventory.Node) { n.Sent = inventory.Sent{} }), digest("A"), inventory.NotBehind},
		{"it has refused it, and something else is wanted", node(refused(tuple(1, 5, "A"))), digest("B"), inventory.OutOfDate},
		{"it has refused another", node(refused(tuple(1, 4, "A")), func(n *inventory.Node) { n.Sent.Tuple = tuple(1, 4, "A") }), digest("A"), inventory.OutOfDate},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := inventory.BehindOf(c.node, c.wanted); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	b := tuple(1, 6, "B")
	for _, c := range []struct {
		name   string
		node   inventory.Node
		wanted declaration.Tuple
		sent   time.Time
		now    int
		want   bool
	}{
		{name: "it has accepted another", node: node(), wanted: b, want: true},
		{name: "it has accepted nothing", node: node(func(n *inventory.Node) { n.Accepted = declaration.Tuple{} }), wanted: b, want: true},
		{name: "it has accepted it", node: node(), wanted: tuple(1, 5, "A")},
		{name: "nothing is wanted", node: node()},
		{name: "the same content in a later place", node: node(), wanted: tuple(1, 7, "A"), want: true},
		{name: "the same place in a later epoch", node: node(), wanted: tuple(2, 1, "A"), want: true},
		{name: "what comes before what it has accepted", node: node(), wanted: tuple(1, 4, "B")},
		{name: "the same place with other content", node: node(), wanted: tuple(1, 5, "B")},
		{name: "an earlier epoch", node: node(func(n *inventory.Node) { n.Accepted = tuple(2, 1, "A") }), wanted: b},
		{name: "never heard of", node: node(func(n *inventory.Node) { n.LastSeen = time.Time{} }), wanted: b},
		{name: "it stands against the record", node: node(func(n *inventory.Node) { n.Finding = "has accepted 7/43" }), wanted: b},
		{name: "a receipt is pending", node: node(), wanted: b, sent: at(100), now: 109},
		{name: "a receipt has been pending for too long", node: node(), wanted: b, sent: at(100), now: 110, want: true},
		{name: "it has refused it", node: node(refused(b)), wanted: b},
		{name: "it has refused another", node: node(refused(tuple(1, 6, "C"))), wanted: b, want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := inventory.Send(c.node, c.wanted, c.sent, at(c.now)); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// resource is "module/id state" with the digest of what it is about.
func resource(id string, state report.State) report.Resource {
	r := report.Resource{ID: id, State: state, Digest: digest(id)}
	if state == report.StateRemoved {
		r.Digest = ""
	}
	return r
}

func reported(outcome report.Outcome, resources ...report.Resource) *report.Report {
	return &report.Report{Outcome: outcome, Modules: []declaration.Module{{Module: "site", Content: digest("A")}, {Module: "dns", Content: digest("D")}}, Resources: resources}
}

func TestStandingOf(t *testing.T) {
	t.Parallel()
	left := resource("site/old", report.StateFailed)
	left.Digest = "" // no longer declared, and still there
	for _, c := range []struct {
		name    string
		report  *report.Report
		content string
		want    inventory.Standing
	}{
		{name: "it has never reported", want: inventory.Outstanding},
		{name: "all of it was read back", report: reported(report.OutcomeApplied, resource("site/a", report.StateOK), resource("site/b", report.StateChanged)), want: inventory.Applied},
		{name: "it has no resources", report: reported(report.OutcomeApplied), want: inventory.Applied},
		{name: "the report is about other content", report: reported(report.OutcomeApplied, resource("site/a", report.StateOK)), content: "B", want: inventory.Outstanding},
		{name: "other content has failed", report: reported(report.OutcomeFailed, resource("site/a", report.StateFailed)), content: "B", want: inventory.Outstanding},
		{name: "one has failed", report: reported(report.OutcomeFailed, resource("site/a", report.StateOK), resource("site/b", report.StateFailed)), want: inventory.Failed},
		{name: "one waits for the registry", report: reported(report.OutcomeApplied, resource("site/a", report.StateOK), resource("site/b", report.StateWaiting)), want: inventory.Outstanding},
		{name: "one waits, and one has failed", report: reported(report.OutcomeFailed, resource("site/a", report.StateWaiting), resource("site/b", report.StateFailed)), want: inventory.Failed},
		{name: "one is blocked by another module's", report: reported(report.OutcomeFailed, resource("dns/d", report.StateFailed), resource("site/a", report.StateBlocked)), want: inventory.Failed},
		{name: "another module has failed", report: reported(report.OutcomeFailed, resource("dns/d", report.StateFailed), resource("site/a", report.StateOK)), want: inventory.Applied},
		{name: "another module's name begins the same", report: reported(report.OutcomeFailed, resource("site-two/d", report.StateFailed), resource("site/a", report.StateOK)), want: inventory.Applied},
		{name: "it differs, and nobody puts it back", report: reported(report.OutcomeApplied, resource("site/a", report.StateDiffers)), want: inventory.Outstanding},
		{name: "what is no longer declared is gone", report: reported(report.OutcomeApplied, resource("site/a", report.StateOK), resource("site/old", report.StateRemoved)), want: inventory.Applied},
		{name: "what is no longer declared is still there", report: reported(report.OutcomeFailed, resource("site/a", report.StateOK), left), want: inventory.Failed},
		{name: "the whole has failed and nothing says why", report: reported(report.OutcomeFailed, resource("site/a", report.StateOK)), want: inventory.Outstanding},
		{name: "a new host is not confirmed", report: reported(report.OutcomeConfirming, resource("site/a", report.StateOK)), want: inventory.Outstanding},
		{name: "ok, and of which resource it does not say", report: reported(report.OutcomeApplied, report.Resource{ID: "site/a", State: report.StateOK}), want: inventory.Outstanding},
		{name: "a state that nobody knows", report: reported(report.OutcomeApplied, resource("site/a", "fine")), want: inventory.Outstanding},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			content := "A"
			if c.content != "" {
				content = c.content
			}
			n := node(func(n *inventory.Node) { n.Report = c.report })
			if got := inventory.StandingOf(n, declaration.Module{Module: "site", Content: digest(content)}); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestFailedModule(t *testing.T) {
	t.Parallel()
	r := *reported(
		report.OutcomeFailed, resource("dns/d", report.StateFailed), resource("site/waits", report.StateWaiting),
		resource("site/blocked", report.StateBlocked), resource("site/one", report.StateFailed), resource("site/two", report.StateFailed),
		resource("zone/blocked", report.StateBlocked),
	)
	for module, want := range map[string]string{"site": "site/one", "dns": "dns/d", "zone": "zone/blocked", "other": ""} {
		got := ""
		if f := inventory.FailedModule(r, module); f != nil {
			got = f.ID
		}
		if got != want {
			t.Errorf("of %q: %q, want %q", module, got, want)
		}
	}
}

func TestModuleOf(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"site/pages": "site", "site": "site", "": "", "site/a/b": "site"} {
		if got := inventory.ModuleOf(id); got != want {
			t.Errorf("%q is of %q, want %q", id, got, want)
		}
	}
}

// TestStandingAgainstTheModel: applied is said only where every resource of this
// content says so, and failed only where one has.
func TestStandingAgainstTheModel(t *testing.T) {
	t.Parallel()
	states := []report.State{report.StateOK, report.StateChanged, report.StateDiffers, report.StateWaiting, report.StateFailed, report.StateBlocked}
	rapid.Check(t, func(t *rapid.T) {
		r := reported(rapid.SampledFrom([]report.Outcome{report.OutcomeApplied, report.OutcomeFailed, report.OutcomeConfirming}).Draw(t, "outcome"))
		good, failed, any := true, false, false
		for i := range rapid.IntRange(0, 6).Draw(t, "resources") {
			id := rapid.SampledFrom([]string{"site/", "dns/"}).Draw(t, "module") + string(rune('a'+i))
			res := resource(id, rapid.SampledFrom(states).Draw(t, "state"))
			r.Resources = append(r.Resources, res)
			isGood := res.State == report.StateOK || res.State == report.StateChanged
			any = any || !isGood
			if inventory.ModuleOf(id) == "site" {
				good = good && isGood
				failed = failed || res.State == report.StateFailed || res.State == report.StateBlocked
			}
		}
		content := rapid.SampledFrom([]string{"A", "B"}).Draw(t, "content")
		want := inventory.Outstanding
		switch {
		case content == "B":
		case good && (r.Outcome == report.OutcomeApplied || r.Outcome == report.OutcomeFailed && any):
			want = inventory.Applied
		case failed:
			want = inventory.Failed
		}
		n := node(func(n *inventory.Node) { n.Report = r })
		if got := inventory.StandingOf(n, declaration.Module{Module: "site", Content: digest(content)}); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

// TestSendConverges: whatever is lost, doubled, late or out of order, a node's
// order never goes back, and once messages arrive it has what is wanted.
func TestSendConverges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := node(func(n *inventory.Node) { n.Accepted, n.Sent = declaration.Tuple{}, inventory.Sent{} })
		host := declaration.Tuple{} // what it has truly accepted
		wanted, sent := tuple(1, 1, "A"), time.Time{}
		var wire []declaration.Tuple // what was sent and may still arrive
		hello := func() {
			n.Accepted = host
			if host == wanted {
				sent = time.Time{}
			}
		}
		deliver := func(d declaration.Tuple) {
			if host.Before(d) {
				host = d
			}
		}
		now := 0
		look := func() {
			if inventory.Send(n, wanted, sent, at(now)) {
				wire, sent = append(wire, wanted), at(now)
			}
		}
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			now += rapid.IntRange(0, 12).Draw(t, "seconds")
			was := host
			switch rapid.SampledFrom([]string{"want", "epoch", "look", "hello", "arrive"}).Draw(t, "event") {
			case "want": // A, B, A, …
				wanted = tuple(wanted.Epoch, wanted.Generation+1, rapid.SampledFrom([]string{"A", "B"}).Draw(t, "content"))
				sent = time.Time{}
			case "epoch":
				wanted.Epoch++
				sent = time.Time{}
			case "look":
				look()
			case "hello":
				hello()
			case "arrive": // any of them, and not for the last time
				if len(wire) > 0 {
					deliver(rapid.SampledFrom(wire).Draw(t, "arrives"))
				}
			}
			if host.Before(was) {
				t.Fatalf("it went back from %+v to %+v", was, host)
			}
		}
		for range 3 {
			now += int(inventory.Patience / time.Second)
			hello()
			look()
			for _, d := range wire {
				deliver(d)
			}
		}
		hello()
		if host != wanted || inventory.Send(n, wanted, sent, at(now)) {
			t.Fatalf("it has %+v, and %+v is wanted", host, wanted)
		}
	})
}
