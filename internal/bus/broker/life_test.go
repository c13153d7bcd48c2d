package broker_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/bus/broker"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRevocationCuts(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	alice, bob := w.user(link.Nodes), w.user(link.Nodes)
	node := w.dial(alice)
	cut := make(chan struct{})
	w.raw(bob, nats.ClosedHandler(func(*nats.Conn) { close(cut) }))
	if err := w.Revoke(link.Nodes, bob.public); err != nil {
		t.Fatal(err)
	}
	receive(t, cut)
	if !node.Connected() {
		t.Error("another node was cut")
	}
	refuses := func(w *world, u user, why string) {
		t.Helper()
		_, err := nats.Connect(w.URL(), nats.UserJWTAndSeed(u.jwt, string(u.seed)),
			nats.Secure(must(identity.ClientTLS(w.ca.PEM()))(t)), nats.TLSHandshakeFirst())
		if err == nil {
			t.Errorf("%s: let in", why)
		}
	}
	refuses(w, bob, "revoked")
	again := bob
	again.jwt = must(w.UserJWT(link.Nodes, identity.NewID(), bob.public))(t)
	refuses(w, again, "revoked, with a new permission")

	c := w.cert()
	c.Revoked = []broker.Revoked{{Side: link.Nodes, Public: bob.public}}
	restarted := must(broker.Start(c))(t)
	defer restarted.Close(context.Background())
	w2 := *w
	w2.Broker = restarted
	refuses(&w2, bob, "revoked, after a restart")
	w2.dial(alice)
	if err := w.Revoke(link.Mesh, bob.public); fault.KindOf(err) != fault.Invalid {
		t.Errorf("the mesh's own user: %v", err)
	}
	if err := w.Revoke(link.Nodes, "bob"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("no key: %v", err)
	}
}

// Credentials are a key and a permission that belong together and were given by this mesh.
func TestStolenAndForgedCredentials(t *testing.T) {
	t.Parallel()
	w, elsewhere := start(t, nil), start(t, nil)
	alice, bob := w.user(link.Nodes), w.user(link.Nodes)
	stranger := elsewhere.user(link.Nodes)
	for name, options := range map[string][]nats.Option{
		"nothing":                          {},
		"a password":                       {nats.UserInfo("mesh", "mesh")},
		"a token":                          {nats.Token("mesh")},
		"a bare key":                       {nats.Nkey(bob.public, bob.sign)},
		"another's permission":             {nats.UserJWTAndSeed(alice.jwt, string(bob.seed))},
		"another mesh's permission":        {nats.UserJWTAndSeed(stranger.jwt, string(stranger.seed))},
		"a permission changed in one byte": {nats.UserJWTAndSeed(alice.jwt[:len(alice.jwt)-3]+"AAA", string(alice.seed))},
	} {
		options = append(options, nats.Secure(must(identity.ClientTLS(w.ca.PEM()))(t)), nats.TLSHandshakeFirst())
		if nc, err := nats.Connect(w.URL(), options...); err == nil {
			nc.Close()
			t.Errorf("%s: let in", name)
		}
	}
}

func (u user) sign([]byte) ([]byte, error) { return []byte("no signature"), nil }

func TestAnotherCAIsNotBelieved(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	u := w.user(link.Nodes)
	other := must(identity.NewCA(time.Now()))(t)
	c := must(bus.Dial(t.Context(), bus.Config{URL: w.URL(), CAPEM: other.PEM(), NatsSeed: u.seed, JWT: u.jwt, ID: u.id}))(t)
	defer c.Close()
	var err error
	for deadline := time.Now().Add(patience); !contains(err, "certificate") && time.Now().Before(deadline); runtime.Gosched() {
		err = c.Publish(t.Context(), subject(t, link.VerbReport, u.id), nil)
	}
	if c.Connected() || fault.KindOf(err) != fault.Unavailable || !contains(err, "certificate") {
		t.Errorf("got %v", err)
	}
}

// The listener speaks TLS 1.3 or not at all, and says nothing before it.
func TestPlaintextAndOldTLSAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	conn := must((&net.Dialer{}).DialContext(t.Context(), "tcp", w.Addr()))(t)
	defer conn.Close()
	if _, err := conn.Write([]byte("CONNECT {\"verbose\":true}\r\nPING\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	if strings.Contains(string(said), "INFO") || strings.Contains(string(said), "PONG") || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the broker said %q without TLS: %v", said, err)
	}
	old := must(identity.ClientTLS(w.ca.PEM()))(t)
	old.MinVersion, old.MaxVersion, old.ServerName = tls.VersionTLS12, tls.VersionTLS12, "127.0.0.1"
	dialer := tls.Dialer{Config: old}
	if c, err := dialer.DialContext(t.Context(), "tcp", w.Addr()); err == nil {
		c.Close()
		t.Error("TLS 1.2 was accepted")
	}
	if nc, err := nats.Connect("nats://" + w.Addr()); err == nil {
		nc.Close()
		t.Error("a client without TLS was let in")
	}
}

// After a restart on the same port everybody is back, what they listened to
// still comes, and nothing that was refused meanwhile turns up.
func TestBackAfterARestart(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	u := w.user(link.Nodes)
	node := w.dial(u)
	decl, report := subject(t, link.VerbDecl, u.id), subject(t, link.VerbReport, u.id)
	got := make(chan bus.Message, 16)
	if err := node.Subscribe(decl, func(m bus.Message) { got <- m }); err != nil {
		t.Fatal(err)
	}
	c := w.cert()
	c.Listen = w.Addr()
	w.Close(context.Background())
	for node.Connected() {
		_ = node.Publish(t.Context(), report, nil)
	}
	if err := node.Publish(t.Context(), report, []byte("lost")); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("published without a broker: %v", err)
	}
	if _, err := node.Request(t.Context(), report, []byte("lost")); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("asked without a broker: %v", err)
	}
	restarted := must(broker.Start(c))(t)
	defer restarted.Close(context.Background())
	controller := must(restarted.InProcess(t.Context()))(t)
	defer controller.Close()
	heard := make(chan string, 16)
	err := controller.Serve("report.*", func(_ context.Context, m bus.Message) ([]byte, error) {
		heard <- string(m.Data)
		return []byte("committed"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, node)
	if answer := ask(t, node, report, "new"); answer != "committed" {
		t.Errorf("got %q", answer)
	}
	for _, m := range drain(heard) {
		if m == "lost" {
			t.Error("what was said not to have left, left")
		}
	}
	if err := controller.Publish(t.Context(), decl, []byte("pushed")); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, got); string(m.Data) != "pushed" {
		t.Errorf("got %q", m.Data)
	}
	if node.Why() != nil {
		t.Errorf("connected, and yet: %v", node.Why())
	}
}

// A request whose broker goes away ends then, not at its deadline.
func TestARequestEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	u := w.user(link.Builders)
	builder, controller := w.dial(u), w.controller()
	asked := make(chan struct{}, 16)
	err := controller.Serve("work.*", func(ctx context.Context, m bus.Message) ([]byte, error) {
		if string(m.Data) == "ready?" {
			return nil, nil
		}
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	on := subject(t, link.VerbWork, u.id)
	ask(t, builder, on, "ready?")
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		_, err := builder.Request(ctx, on, []byte("wait"))
		ended <- err
	}()
	receive(t, asked)
	w.Close(context.Background())
	if err := receive(t, ended); fault.KindOf(err) != fault.Unavailable || !contains(err, "lost") {
		t.Errorf("got %v", err)
	}
	controller.Close() // ends the handler, and waits for it
}

func TestStartSaysWhatStandsAgainstIt(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	for name, change := range map[string]func(*broker.Config){
		"the port is taken": func(c *broker.Config) { c.Listen = w.Addr() },
		"no port":           func(c *broker.Config) { c.Listen = "127.0.0.1" },
		"a word for a port": func(c *broker.Config) { c.Listen = "127.0.0.1:nats" },
		"no keys":           func(c *broker.Config) { c.Keys = broker.Keys{} },
		"nonsense revoked":  func(c *broker.Config) { c.Revoked = []broker.Revoked{{Side: link.Nodes, Public: "x"}} },
	} {
		c := w.cert()
		change(&c)
		if b, err := broker.Start(c); err == nil {
			b.Close(context.Background())
			t.Errorf("%s: started", name)
		} else if fault.KindOf(err) == fault.Unknown {
			t.Errorf("%s: of no kind: %v", name, err)
		}
	}
}

func TestLameDuckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *broker.Config) { c.LameDuck = time.Hour })
	for range 3 {
		w.dial(w.user(link.Nodes))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	closed := make(chan struct{})
	go func() { w.Close(ctx); close(closed) }()
	receive(t, closed)
}

func TestKeysAreKeptWhole(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	kept := must(w.keys.Encode())(t)
	again := must(broker.ParseKeys(kept))(t)
	c := w.cert()
	c.Keys = again
	second := must(broker.Start(c))(t)
	defer second.Close(context.Background())
	w2 := *w
	w2.Broker = second
	w2.dial(w.user(link.Nodes)) // a permission of before is one of now
	for _, bad := range []string{"", "{}", "null", strings.Replace(string(kept), "SA", "SU", 1), strings.Replace(string(kept), `"format":1`, `"format":2`, 1)} {
		if _, err := broker.ParseKeys([]byte(bad)); err == nil {
			t.Errorf("%.20q was taken for keys", bad)
		}
	}
}
