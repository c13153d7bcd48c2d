package line

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/identity"
	"noxmesh/inventory"
	"noxmesh/link"
	"noxmesh/report"
	"noxmesh/status"
)

// thief is whoever has all that is on a node, and a NATS client.
type thief struct {
	m      *mesh
	joined keep.Joined
	key    link.Key
	latest report.Report
	nc     *nats.Conn
	errs   chan error
}

// steal takes the credentials of a node, and connects with them.
func (m *mesh) steal(node string) *thief {
	m.t.Helper()
	sys, err := system.Open(m.root(node))
	must(m.t, err)
	defer sys.Close()
	folder, err := keep.Look(sys)
	must(m.t, err)
	defer folder.Close()
	a := &thief{m: m, errs: make(chan error, 256)}
	a.joined, err = folder.Joined()
	must(m.t, err)
	own, err := folder.Identity()
	must(m.t, err)
	latest, err := folder.Latest()
	must(m.t, err)
	a.latest = latest.Report
	seed, err := hex.DecodeString(own.Sign)
	must(m.t, err)
	a.key, err = link.KeyFromSeed(seed)
	must(m.t, err)
	config, err := identity.ClientTLS([]byte(a.joined.CA))
	must(m.t, err)
	a.nc, err = nats.Connect(a.joined.Broker, nats.UserJWTAndSeed(a.joined.JWT, own.Nats), nats.Secure(config), nats.TLSHandshakeFirst(),
		nats.CustomInboxPrefix(link.Inbox(a.joined.Node)), nats.MaxReconnects(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { a.errs <- err }))
	must(m.t, err)
	m.t.Cleanup(a.nc.Close)
	return a
}

// sealed is a message signed by the thief's node.
func (a *thief) sealed(t link.PayloadType, v any) []byte {
	a.m.t.Helper()
	e, err := link.Seal(a.key, t, v)
	must(a.m.t, err)
	b, err := document.Canonical(e)
	must(a.m.t, err)
	return b
}

// ask is what comes back: an answer, or why none does.
// ask waits for the answer that must come.
func (a *thief) ask(subject string, data []byte) ([]byte, string) {
	return a.try(subject, data, *patience)
}

// try waits this long: what the broker does not carry is never answered.
func (a *thief) try(subject string, data []byte, most time.Duration) ([]byte, string) {
	answer, err := a.nc.Request(subject, data, most)
	if err != nil {
		return nil, err.Error()
	}
	if why := answer.Header.Get("Mesh-Refused"); why != "" {
		return nil, why
	}
	return answer.Data, ""
}

// Item 5: node A, with its real credentials and any NATS client, can neither
// read nor change anything of node B.
func TestANodeReadsAndChangesNothingOfAnother(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 2, builders: 1})
	first := m.module("site", site("site", "first"))
	m.module("secret", motd("secret", "for node2 alone"))
	m.assign("site", "node1", "node2")
	m.assign("secret", "node2")
	m.auto("site", "secret")
	s := m.until("all is out", isOut("site", first, 2))
	m.until("the secret is out", func(s status.Status) string {
		if moduleOf(s, "secret").Out() {
			return ""
		}
		return line(s, "secret")
	})
	a, b := nodeOf(s, "node1").Node, nodeOf(s, "node2").Node
	m.host("node1").stop()
	thief := m.steal("node1")
	old := thief.latest

	// It listens wherever it can think of, while node2 is told of something new.
	heard := make(chan *nats.Msg, 256)
	for _, subject := range []string{
		"decl." + b, "decl.*", "decl.>", ">", "*.*", "_INBOX.>", "_INBOX." + b + ".>", "hello.*", "hello." + b, "report.*", "report." + b, "$SYS.>",
		"decl." + a, // its own: nothing of node2 comes there either
	} {
		if _, err := thief.nc.ChanSubscribe(subject, heard); err != nil {
			t.Fatal(err)
		}
	}
	must(t, thief.nc.Flush())
	second := m.forge.commit("secret", files{"text": "for node2 alone, again"})
	m.until("the second secret is out", isOut("secret", second, 1))
	must(t, thief.nc.Flush())
	for _, msg := range drain(heard) {
		if msg.Subject != "decl."+a || strings.Contains(string(msg.Data), b) {
			t.Errorf("node1 has heard %q on %q", msg.Data, msg.Subject)
		}
	}

	// It speaks as node2, with the only key that it has.
	is := func(s status.Status) string {
		n := nodeOf(s, "node2")
		if n.State == "applied" && n.Behind == inventory.NotBehind && n.Refused == "" && n.Finding == "" && n.Trouble == nil && moduleOf(s, "secret").Out() {
			return ""
		}
		return "node2 is " + n.State + ", refused " + n.Refused + ", finding " + n.Finding
	}
	m.until("node2 is well", is)
	hello := link.Hello{Format: link.Format, Mesh: thief.joined.Mesh, Node: b, Boot: "x", Counter: 1 << 40, Host: "x", Speaks: []int{1}}
	lie := thief.latest
	lie.Node, lie.Sequence, lie.Outcome = b, 1<<40, report.OutcomeFailed
	mine := hello
	mine.Node = a
	for what, msg := range map[string]struct {
		subject string
		data    []byte
	}{
		"hello of node2 on its subject": {"hello." + b, thief.sealed(link.TypeHello, hello)},
		"hello of node2 on one's own":   {"hello." + a, thief.sealed(link.TypeHello, hello)},
		"own hello on node2's subject":  {"hello." + b, thief.sealed(link.TypeHello, mine)},
		"report of node2 on its":        {"report." + b, thief.sealed(link.TypeReport, lie)},
		"report of node2 on one's own":  {"report." + a, thief.sealed(link.TypeReport, lie)},
		"a report as a hello":           {"hello." + a, thief.sealed(link.TypeReport, thief.latest)},
		"an answer of a builder":        {"answer." + a, []byte("{}")},
		"work":                          {"work." + a, []byte("{}")},
		"a declaration to node2":        {"decl." + b, thief.sealed(link.TypeDeclaration, hello)},
	} {
		if data, why := thief.try(msg.subject, msg.data, 500*time.Millisecond); why == "" {
			t.Errorf("%s is answered: %q", what, data)
		}
	}
	// Its own answers, steered to node2.
	mine.Counter = 1 << 41
	for _, to := range []string{"decl." + b, "_INBOX." + b + ".x", "hello." + b, "report." + b} {
		mine.Counter++
		_ = thief.nc.PublishRequest("hello."+a, to, thief.sealed(link.TypeHello, mine)) // refused later, if at all
		_ = thief.nc.PublishRequest("report."+a, to, thief.sealed(link.TypeReport, thief.latest))
	}
	must(t, thief.nc.Flush())
	after := m.now()
	seen := nodeOf(after, "node2").LastSeen
	m.until("node2 has said hello since", func(s status.Status) string {
		if nodeOf(s, "node2").LastSeen.After(seen.Add(2 * time.Second)) {
			return ""
		}
		return "not yet"
	})
	if why := is(m.now()); why != "" {
		t.Error(why)
	}
	m.holds("node2", "etc/secret", "for node2 alone, again")

	// TN6: what it said itself, said again, takes nothing back.
	third := m.forge.commit("site", files{"public/index.html": "third"})
	m.until("node2 has the third", isOn("site", third, 2, 1))
	now := thief.latest
	now.Sequence = mine.Counter
	now.Outcome = report.OutcomeApplied
	if _, why := thief.ask("report."+a, thief.sealed(link.TypeReport, now)); why != "" {
		t.Fatalf("its own report is refused: %s", why)
	}
	before := nodeOf(m.now(), "node1")
	for range 3 {
		if _, why := thief.ask("report."+a, thief.sealed(link.TypeReport, old)); why != "" {
			t.Errorf("a report said again is refused: %s", why)
		}
	}
	if got := nodeOf(m.now(), "node1"); !got.ReportAt.Equal(before.ReportAt) || got.State != before.State {
		t.Errorf("an old report made %+v of %+v", got, before)
	}
	if got := moduleOf(m.now(), "site"); got.Applied != 1 || got.Declared != 2 {
		t.Errorf("an old report: %s", got.Line())
	}
}

func drain(c chan *nats.Msg) (all []*nats.Msg) {
	for {
		select {
		case m := <-c:
			all = append(all, m)
		default:
			return all
		}
	}
}

// D9: a refusal of what came late is no refusal of what is wanted, and does not
// hide what was accepted since.
func TestALateDeclarationChangesNothing(t *testing.T) {
	t.Parallel()
	m := start(t, options{hosts: 1, builders: 1})
	m.module("site", site("site", "first"))
	m.assign("site", "node1")
	m.auto("site")
	m.until("it is out", func(s status.Status) string {
		if moduleOf(s, "site").Out() {
			return ""
		}
		return line(s, "site")
	})
	m.host("node1").stop()
	old := m.steal("node1").latest.Accepted
	m.host("node1").start()
	second := m.forge.commit("site", files{"public/index.html": "second"})
	m.until("the second is out", isOut("site", second, 1))
	m.host("node1").stop()
	node := m.steal("node1")
	hello := link.Hello{
		Format: link.Format, Mesh: node.joined.Mesh, Node: node.joined.Node, Boot: "x", Counter: 1 << 40, Host: "x", Speaks: []int{1}, Keys: 1,
		Accepted: node.latest.Accepted, Applied: node.latest.Applied,
		Refused: &link.Refusal{Epoch: old.Epoch, Generation: old.Generation, Digest: old.Digest, Why: "older"},
	}
	if _, why := node.ask("hello."+node.joined.Node, node.sealed(link.TypeHello, hello)); why != "" {
		t.Fatal(why)
	}
	if n := nodeOf(m.now(), "node1"); n.State != "applied" || n.Behind != inventory.NotBehind || n.Refused != "" {
		t.Errorf("a node to which an old declaration came late is %+v", n)
	}
	// One that was never issued is a fact to be shown.
	hello.Counter++
	hello.Refused.Generation, hello.Refused.Why = 77, "not ours"
	if _, why := node.ask("hello."+node.joined.Node, node.sealed(link.TypeHello, hello)); why != "" {
		t.Fatal(why)
	}
	if n := nodeOf(m.now(), "node1"); n.Refused != "not ours" || n.Behind != inventory.NotBehind {
		t.Errorf("a node to which somebody else's declaration came is %+v", n)
	}
}
