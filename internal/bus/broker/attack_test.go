package broker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"noxmesh/document"
	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// foreign is every subject that is not id's own to listen on, or not to speak on.
func foreign(me, other string, side link.Side) (listen, speak []string) {
	listen = []string{
		">", "*", "*.*", "*." + me, "*." + other, "_INBOX.>", "_INBOX.*.>", "_INBOX." + other + ".>",
		"_R_.>", "$SYS.>", "$JS.>", "$SYS.REQ.USER.INFO", "_GR_.>", "$MQTT.>", "$NRG.>",
	}
	speak = []string{
		"_INBOX." + other + ".x", "_INBOX." + me + ".x", "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.CONNZ",
		"_R_.x", "$JS.API.INFO", "anything",
	}
	for _, r := range link.Subjects() {
		verb := string(r.Verb)
		listen = append(listen, verb+".>", verb+".*", verb+"."+other, verb)
		speak = append(speak, verb+"."+other, verb)
		if r.To != side {
			listen = append(listen, verb+"."+me)
		}
		if r.From != side {
			speak = append(speak, verb+"."+me)
		}
	}
	return listen, speak
}

// TN1: with its real credentials and any client, a node hears and asks for
// nothing of another; nor does a builder of a node, or a node of a builder.
func TestNobodyHearsOrSpeaksForAnother(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	controller := w.controller()
	heard := make(chan bus.Message, 256)
	for _, r := range link.Subjects() {
		if r.Push {
			continue
		}
		err := controller.Serve(must(link.Every(r.Verb))(t), func(_ context.Context, m bus.Message) ([]byte, error) {
			heard <- m
			return []byte("secret of " + m.From), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	alice, builder := w.user(link.Nodes), w.user(link.Builders)
	victim, worker := w.dial(alice), w.dial(builder)
	got := make(chan bus.Message, 256)
	if err := victim.Subscribe(subject(t, link.VerbDecl, alice.id), func(m bus.Message) { got <- m }); err != nil {
		t.Fatal(err)
	}
	settle(t, victim, alice)
	ask(t, victim, subject(t, link.VerbHello, alice.id), "ready?")
	ask(t, worker, subject(t, link.VerbWork, builder.id), "ready?")
	drain(heard)

	for side, others := range map[link.Side][]string{link.Nodes: {alice.id, builder.id}, link.Builders: {alice.id, builder.id}} {
		for _, other := range others {
			bob := w.user(side)
			listen, speak := foreign(bob.id, other, side)
			nc, refused := w.raw(bob)
			spied := make(chan *nats.Msg, 256)
			for _, on := range listen {
				expectRefused(t, nc, refused, "listen on "+on, func() error {
					_, err := nc.ChanSubscribe(on, spied)
					return err
				})
			}
			for _, on := range speak {
				expectRefused(t, nc, refused, "speak on "+on, func() error { return nc.Publish(on, []byte("forged")) })
				expectRefused(t, nc, refused, "ask on "+on, func() error { return nc.PublishRequest(on, link.Inbox(bob.id)+".x", []byte("forged")) })
			}
			if err := controller.Publish(t.Context(), subject(t, link.VerbDecl, alice.id), []byte("for alice")); err != nil {
				t.Fatal(err)
			}
			if m := receive(t, got); string(m.Data) != "for alice" {
				t.Fatalf("alice got %q", m.Data)
			}
			ask(t, victim, subject(t, link.VerbHello, alice.id), "hello")
			ask(t, worker, subject(t, link.VerbWork, builder.id), "work")
			if err := nc.Flush(); err != nil {
				t.Fatal(err)
			}
			for _, m := range drain(spied) {
				t.Errorf("a %s user heard %q on %q", side, m.Data, m.Subject)
			}
			for _, m := range drain(heard) {
				if string(m.Data) == "forged" {
					t.Errorf("a %s user spoke as %q on %q", side, m.From, m.Subject)
				}
			}
		}
	}
	if left := drain(got); len(left) != 0 {
		t.Errorf("alice heard %q", left[0].Data)
	}
}

// TN2: what arrives under a subject is only ever the word of the user with that
// id; what it says of itself must agree, in each of the three places.
func TestSubjectAndIdentityAndInnerNodeAgree(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	alice, bob := w.user(link.Nodes), w.user(link.Nodes)
	aliceKey, bobKey := must(link.NewKey())(t), must(link.NewKey())(t)
	known := map[string]link.PublicKey{alice.id: aliceKey.Public(), bob.id: bobKey.Public()}
	believed := make(chan string, 16)
	err := w.controller().Serve("report.*", func(_ context.Context, m bus.Message) ([]byte, error) {
		e, err := document.Decode[link.Envelope]("envelope", m.Data, document.Limits{Bytes: 1 << 20, Depth: 8})
		if err != nil {
			return nil, err
		}
		payload, err := e.Open(link.TypeHello, known[m.From])
		if err != nil {
			return nil, err
		}
		h, err := document.Decode[link.Hello]("hello", payload, document.Limits{Bytes: 1 << 20, Depth: 8})
		if err != nil {
			return nil, err
		}
		if err := link.Agree(m.Subject, link.VerbReport, h.Node); err != nil {
			return nil, err
		}
		believed <- h.Node
		return []byte("committed"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	node := w.dial(bob)
	on := subject(t, link.VerbReport, bob.id)
	say := func(k link.Key, inner string) string {
		e := must(link.Seal(k, link.TypeHello, link.Hello{Format: 1, Node: inner}))(t)
		return string(must(document.Canonical(e))(t))
	}
	if got := ask(t, node, on, say(bobKey, bob.id)); got != "committed" {
		t.Fatalf("bob's own report: %q", got)
	}
	for name, data := range map[string]string{
		"alice's name under bob's key":        say(bobKey, alice.id),
		"alice's own words, replayed by bob":  say(aliceKey, alice.id),
		"bob's name under alice's key":        say(aliceKey, bob.id),
		"bob's name under a key nobody knows": say(must(link.NewKey())(t), bob.id),
	} {
		if _, err := node.Request(t.Context(), on, []byte(data)); fault.KindOf(err) != fault.Unavailable || !contains(err, "the mesh answered") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := drain(believed); len(got) != 1 || got[0] != bob.id {
		t.Errorf("believed: %v", got)
	}
}

// TN3: inside one account the answer to a request can be steered onto another's
// subject. It arrives there, and is nothing: not of the type, and not for them.
func TestASteeredAnswerIsBelievedByNobody(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	declareKey := must(link.NewKey())(t)
	controller := w.controller()
	heard := make(chan bus.Message, 16)
	for _, verb := range []link.Verb{link.VerbReport, link.VerbHello} {
		err := controller.Serve(must(link.Every(verb))(t), func(_ context.Context, m bus.Message) ([]byte, error) {
			heard <- m
			e, err := link.Seal(declareKey, link.TypeReceipt, link.Receipt{Format: 1, To: m.From})
			if err != nil {
				return nil, err
			}
			return document.Canonical(e)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	alice, bob := w.user(link.Nodes), w.user(link.Nodes)
	victim := w.dial(alice)
	got := make(chan bus.Message, 16)
	if err := victim.Subscribe(subject(t, link.VerbDecl, alice.id), func(m bus.Message) { got <- m }); err != nil {
		t.Fatal(err)
	}
	ask(t, victim, subject(t, link.VerbReport, alice.id), "ready?")
	drain(heard)
	nc, _ := w.raw(bob)
	mine := subject(t, link.VerbReport, bob.id)

	if err := nc.PublishRequest(mine, subject(t, link.VerbDecl, alice.id), []byte("steer")); err != nil {
		t.Fatal(err)
	}
	steered := receive(t, got)
	e := must(document.Decode[link.Envelope]("envelope", steered.Data, document.Limits{Bytes: 1 << 20, Depth: 8}))(t)
	if _, err := e.Open(link.TypeDeclaration, declareKey.Public()); fault.KindOf(err) != fault.Denied {
		t.Errorf("a steered answer was opened as a declaration: %v", err)
	}
	if m := receive(t, heard); m.From != bob.id {
		t.Errorf("heard from %q", m.From)
	}

	// Steered back to the mesh under the other's name: it is the mesh's own word, not hers.
	if err := nc.PublishRequest(mine, subject(t, link.VerbHello, alice.id), []byte("steer")); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, heard); m.From != bob.id {
		t.Fatalf("heard from %q", m.From)
	}
	ask(t, victim, subject(t, link.VerbReport, alice.id), "done?")
	for _, m := range drain(heard) {
		if string(m.Data) == "steer" && m.From == alice.id {
			t.Error("bob's own words arrived under alice's name")
		}
	}
}

// A header that asks the server to trace a message onto a subject reaches
// nobody that the sender may not reach.
func TestATraceCannotBeSteered(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	controller := w.controller()
	if err := controller.Serve("report.*", func(context.Context, bus.Message) ([]byte, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	alice, bob := w.user(link.Nodes), w.user(link.Nodes)
	victim := w.dial(alice)
	got := make(chan bus.Message, 16)
	decl := subject(t, link.VerbDecl, alice.id)
	if err := victim.Subscribe(decl, func(m bus.Message) { got <- m }); err != nil {
		t.Fatal(err)
	}
	ask(t, victim, subject(t, link.VerbReport, alice.id), "ready?")
	nc, _ := w.raw(bob)
	m := nats.NewMsg(subject(t, link.VerbReport, bob.id))
	m.Header.Set("Nats-Trace-Dest", decl)
	if err := nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := controller.Publish(t.Context(), decl, []byte("after")); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, got); string(m.Data) != "after" {
		t.Errorf("alice got %q", m.Data)
	}
}

func TestNoUserIsNamedLikeAPattern(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	_, public, err := bus.NewUserSeed()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"*", ">", "", "alice.>", "a b", "{{name()}}", "UPPERCASE", "short", strings.Repeat("a", 33), "aaaaaaaa\n", "aaaaaaaa.*"} {
		for _, side := range []link.Side{link.Nodes, link.Builders} {
			if _, err := w.UserJWT(side, name, public); fault.KindOf(err) != fault.Invalid {
				t.Errorf("a %s user may be named %q: %v", side, name, err)
			}
		}
	}
	for _, side := range []link.Side{link.Mesh, "SYS", ""} {
		if _, err := w.UserJWT(side, identity.NewID(), public); fault.KindOf(err) != fault.Denied {
			t.Errorf("somebody may join the account %q: %v", side, err)
		}
	}
	for _, key := range []string{"", "U", public[:55], public + "A", "A" + public[1:], strings.ToLower(public)} {
		if _, err := w.UserJWT(link.Nodes, identity.NewID(), key); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is taken for a user's key: %v", key, err)
		}
	}
}

// expectRefused does one thing and wants the broker's refusal of it. The flush
// orders: a refusal that is not there by then does not come.
func expectRefused(t *testing.T, nc *nats.Conn, refused <-chan error, what string, do func() error) {
	t.Helper()
	if err := do(); err != nil {
		return // the client itself would not
	}
	if err := nc.FlushTimeout(patience); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	select {
	case err := <-refused:
		if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(patience):
		t.Errorf("%s: it was let through", what)
	}
}

func drain[T any](from <-chan T) []T {
	var all []T
	for {
		select {
		case v := <-from:
			all = append(all, v)
		default:
			return all
		}
	}
}
