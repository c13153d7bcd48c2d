package broker_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/bus/broker"
	"noxmesh/link"
)

// patience is how long a fact that must come is waited for. Nothing waits this
// long on the way to green.
const patience = time.Minute

// world is a broker in its shipped configuration, and the means to be anybody.
type world struct {
	t    testing.TB
	ca   identity.CA
	keys broker.Keys
	cert func() broker.Config
	*broker.Broker
}

func start(t testing.TB, change func(*broker.Config)) *world {
	t.Helper()
	ca := must(identity.NewCA(time.Now()))(t)
	keys := must(broker.NewKeys())(t)
	cert := must(ca.Issue([]string{"127.0.0.1"}, time.Now(), time.Hour))(t)
	w := &world{t: t, ca: ca, keys: keys}
	w.cert = func() broker.Config {
		return broker.Config{Listen: "127.0.0.1:0", TLS: cert, Keys: keys, Logger: logTo(t)}
	}
	c := w.cert()
	if change != nil {
		change(&c)
	}
	w.Broker = must(broker.Start(c))(t)
	t.Cleanup(func() { w.Close(context.Background()) })
	return w
}

// user is somebody with real credentials.
type user struct {
	id, jwt, public string
	seed            bus.Seed
}

func (w *world) user(side link.Side) user {
	w.t.Helper()
	seed, public, err := bus.NewUserSeed()
	if err != nil {
		w.t.Fatal(err)
	}
	id := identity.NewID()
	return user{id, must(w.UserJWT(side, id, public))(w.t), public, seed}
}

func (w *world) dial(u user) *bus.Conn {
	w.t.Helper()
	c := must(bus.Dial(w.t.Context(), bus.Config{
		URL: w.URL(), CAPEM: w.ca.PEM(), NatsSeed: u.seed, JWT: u.jwt, ID: u.id, Name: u.id, Logger: logTo(w.t),
	}))(w.t)
	w.t.Cleanup(c.Close)
	await(w.t, c)
	return c
}

func (w *world) controller() *bus.Conn {
	w.t.Helper()
	c := must(w.InProcess(w.t.Context()))(w.t)
	w.t.Cleanup(c.Close)
	await(w.t, c)
	return c
}

// raw is a client that keeps none of the rules: the same credentials in the hands of an attacker.
func (w *world) raw(u user, options ...nats.Option) (*nats.Conn, chan error) {
	w.t.Helper()
	refused := make(chan error, 64)
	options = append([]nats.Option{
		nats.UserJWTAndSeed(u.jwt, string(u.seed)),
		nats.Secure(must(identity.ClientTLS(w.ca.PEM()))(w.t)), nats.TLSHandshakeFirst(),
		nats.MaxReconnects(0), nats.CustomInboxPrefix(link.Inbox(u.id)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }),
	}, options...)
	nc := must(nats.Connect(w.URL(), options...))(w.t)
	w.t.Cleanup(nc.Close)
	return nc, refused
}

func await(t testing.TB, c *bus.Conn) {
	t.Helper()
	select {
	case <-c.Changed():
	case <-time.After(patience):
		t.Fatalf("no connection: %v", c.Why())
	}
}

func subject(t testing.TB, verb link.Verb, id string) string {
	t.Helper()
	return must(link.Subject(verb, id))(t)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	if l.t.Context().Err() == nil {
		l.t.Log(string(b))
	}
	return len(b), nil
}

func logTo(t testing.TB) *slog.Logger {
	t.Helper()
	return slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelInfo}))
}
