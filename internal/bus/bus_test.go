package bus_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/bus/broker"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

const patience = time.Minute // no test waits this long on the way to green

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a broker that can be as bad as a test wants: each connection in
// turn is given to play, after the login; nil refuses the login.
type script struct {
	t     *testing.T
	turns chan func(lines *bufio.Scanner, say io.Writer)
}

func (s script) InProcessConn() (net.Conn, error) {
	var play func(*bufio.Scanner, io.Writer)
	select {
	case play = <-s.turns:
	default:
		return nil, io.EOF
	}
	theirs, ours := pair(s.t)
	go func() {
		defer ours.Close()
		_, _ = io.WriteString(ours, `INFO {"server_id":"x","version":"2.15.0","proto":1,"headers":true,"max_payload":1048576,"nonce":"abc","auth_required":true}`+"\r\n")
		lines := bufio.NewScanner(ours)
		for lines.Scan() && lines.Text() != "PING" {
		}
		if play == nil {
			_, _ = io.WriteString(ours, "-ERR 'Authorization Violation'\r\n")
			return
		}
		_, _ = io.WriteString(ours, "PONG\r\n")
		play(lines, ours)
	}()
	return theirs, nil
}

// pair is two ends of a connection that, other than net.Pipe, holds what nobody reads yet.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return net.Pipe()
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Error(err)
		return net.Pipe()
	}
	if server, err = l.Accept(); err != nil {
		t.Error(err)
		return net.Pipe()
	}
	return client, server
}

func dialScript(t *testing.T, turns ...func(*bufio.Scanner, io.Writer)) *bus.Conn {
	t.Helper()
	s := script{t, make(chan func(*bufio.Scanner, io.Writer), len(turns))}
	for _, turn := range turns {
		s.turns <- turn
	}
	c, err := bus.Dial(t.Context(), config(t, func(c *bus.Config) { c.InProcess = s }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	select {
	case <-c.Changed():
	case <-time.After(patience):
		t.Fatal(c.Why())
	}
	return c
}

func config(t *testing.T, change func(*bus.Config)) bus.Config {
	t.Helper()
	seed, _, err := bus.NewUserSeed()
	if err != nil {
		t.Fatal(err)
	}
	ca, err := identity.NewCA(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := bus.Config{URL: "tls://127.0.0.1:1", CAPEM: ca.PEM(), NatsSeed: seed, JWT: "jwt", ID: identity.NewID()}
	if change != nil {
		change(&c)
	}
	return c
}

// until reads what the client says up to a line that begins so.
func until(lines *bufio.Scanner, prefix string) {
	for lines.Scan() && !strings.HasPrefix(lines.Text(), prefix) {
	}
}

func obliging(lines *bufio.Scanner, say io.Writer) {
	for lines.Scan() {
		if lines.Text() == "PING" {
			_, _ = io.WriteString(say, "PONG\r\n")
		}
	}
}

func TestPublishIsTrue(t *testing.T) {
	t.Parallel()
	const on = "report.n7f3kn7f3k"
	for name, c := range map[string]struct {
		turns []func(*bufio.Scanner, io.Writer)
		most  time.Duration
		want  fault.Kind
	}{
		"the broker has it": {[]func(*bufio.Scanner, io.Writer){obliging}, patience, fault.Unknown},
		"the broker never says so": {[]func(*bufio.Scanner, io.Writer){func(lines *bufio.Scanner, _ io.Writer) {
			until(lines, "nothing that is ever said")
		}}, time.Second, fault.Unavailable},
		"the connection ends before it says so": {[]func(*bufio.Scanner, io.Writer){func(lines *bufio.Scanner, _ io.Writer) {
			until(lines, "PUB")
		}}, patience, fault.Unavailable},
		"another connection says so": {[]func(*bufio.Scanner, io.Writer){func(lines *bufio.Scanner, _ io.Writer) {
			until(lines, "PUB")
		}, obliging}, patience, fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dialScript(t, c.turns...)
			ctx, cancel := context.WithTimeout(t.Context(), c.most)
			defer cancel()
			err := conn.Publish(ctx, on, []byte("x"))
			if fault.KindOf(err) != c.want || (err == nil) != (c.want == fault.Unknown) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Requests are bounded by their context, and by the connection's end.
func TestARequestEnds(t *testing.T) {
	t.Parallel()
	silent := func(lines *bufio.Scanner, _ io.Writer) { until(lines, "nothing that is ever said") }
	conn := dialScript(t, silent)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := conn.Request(ctx, "hello.n7f3kn7f3k", nil); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("got %v", err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Request(context.Background(), "hello.n7f3kn7f3k", nil)
		ended <- err
	}()
	conn.Close()
	select {
	case err := <-ended:
		if fault.KindOf(err) != fault.Unavailable {
			t.Errorf("got %v", err)
		}
	case <-time.After(patience):
		t.Error("a request outlived its connection")
	}
	conn.Close() // a second time changes nothing
	for what, err := range map[string]error{
		"publish":   conn.Publish(t.Context(), "report.n7f3kn7f3k", nil),
		"subscribe": conn.Subscribe("decl.n7f3kn7f3k", func(bus.Message) {}),
		"serve":     conn.Serve("hello.*", nil),
	} {
		if fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s on a closed connection: %v", what, err)
		}
	}
}

// What arrives on a subject that is none of the mesh's is dropped, whatever the
// broker thinks.
func TestForeignSubjectsAreDropped(t *testing.T) {
	t.Parallel()
	conn := dialScript(t, func(lines *bufio.Scanner, say io.Writer) {
		until(lines, "SUB")
		until(lines, "PING")
		for _, subject := range []string{"anything", "decl", "decl.*", "decl.a.b", "decl.n7f3kn7f3k"} {
			_, _ = fmt.Fprintf(say, "MSG %s 1 1\r\nx\r\n", subject)
		}
		_, _ = io.WriteString(say, "PONG\r\n")
		until(lines, "nothing that is ever said")
	})
	got := make(chan bus.Message, 8)
	if err := conn.Subscribe("decl.n7f3kn7f3k", func(m bus.Message) { got <- m }); err != nil {
		t.Fatal(err)
	}
	if err := conn.Publish(t.Context(), "report.n7f3kn7f3k", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case m := <-got:
		if m.Subject != "decl.n7f3kn7f3k" || m.From != "n7f3kn7f3k" || m.Verb != link.VerbDecl {
			t.Errorf("got %+v", m)
		}
	case <-time.After(patience):
		t.Error("nothing came")
	}
}

func TestDialRefusesWhatCanNeverWork(t *testing.T) {
	t.Parallel()
	_, account, err := bus.NewUserSeed()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*bus.Config){
		"no TLS":         func(c *bus.Config) { c.URL = "nats://127.0.0.1:4222" },
		"no port":        func(c *bus.Config) { c.URL = "tls://127.0.0.1" },
		"a password":     func(c *bus.Config) { c.URL = "tls://u:p@127.0.0.1:4222" },
		"no address":     func(c *bus.Config) { c.URL = "" },
		"no CA":          func(c *bus.Config) { c.CAPEM = nil },
		"no seed":        func(c *bus.Config) { c.NatsSeed = "" },
		"a public key":   func(c *bus.Config) { c.NatsSeed = bus.Seed(account) },
		"no permission":  func(c *bus.Config) { c.JWT = "" },
		"an id called *": func(c *bus.Config) { c.ID = "*" },
		"no id":          func(c *bus.Config) { c.ID = "" },
	} {
		if c, err := bus.Dial(t.Context(), config(t, change)); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				c.Close()
			}
		}
	}
}

// A program may start before its broker, and finds it by itself.
func TestDialBeforeTheBroker(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ca, err := identity.NewCA(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue([]string{"127.0.0.1"}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := broker.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	c := config(t, func(c *bus.Config) { c.URL, c.CAPEM = "tls://"+address, ca.PEM() })
	public, err := c.NatsSeed.Public()
	if err != nil {
		t.Fatal(err)
	}
	if c.JWT, err = keys.UserJWT(link.Nodes, c.ID, public); err != nil {
		t.Fatal(err)
	}
	conn, err := bus.Dial(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if conn.Connected() || conn.Why() == nil {
		t.Error("connected to nothing")
	}
	b, err := broker.Start(broker.Config{Listen: address, TLS: cert, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.Background())
	select {
	case <-conn.Changed():
	case <-time.After(patience):
		t.Fatal(conn.Why())
	}
	if !conn.Connected() || conn.Why() != nil {
		t.Errorf("connected, and yet: %v", conn.Why())
	}
}

func TestSeedsHide(t *testing.T) {
	t.Parallel()
	c := config(t, nil)
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "seed", c.NatsSeed)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", c, c, c, c.NatsSeed), string(encoded), log.String()} {
		if strings.Contains(text, string(c.NatsSeed)) {
			t.Errorf("a seed is there to read: %s", text)
		}
	}
}

func TestASeedIsAUsers(t *testing.T) {
	t.Parallel()
	seed, public, err := bus.NewUserSeed()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := seed.Public(); err != nil || again != public || !bus.ValidPublic(public) {
		t.Errorf("%s and %s: %v", again, public, err)
	}
	for _, bad := range []string{"", "SU", string(seed)[:40], "SA" + string(seed)[2:], public} {
		if _, err := bus.Seed(bad).Public(); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is taken for a seed: %v", bad, err)
		}
	}
}

// A node that is refused today (a broker restored from an old copy, a
// revocation taken back) is not deaf for ever.
func TestARefusedLoginIsTriedAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for three reconnects")
	}
	s := script{t, make(chan func(*bufio.Scanner, io.Writer), 4)}
	for range 3 {
		s.turns <- nil
	}
	s.turns <- obliging
	c, err := bus.Dial(t.Context(), config(t, func(c *bus.Config) { c.InProcess = s }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	select {
	case <-c.Changed():
	case <-time.After(2 * patience):
		t.Fatalf("gave up: %v", c.Why())
	}
}
