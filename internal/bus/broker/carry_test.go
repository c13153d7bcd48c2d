package broker_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"noxmesh/internal/bus"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// Every row of the table carries, in its one direction, and names who spoke.
func TestEveryRowCarries(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	controller := w.controller()
	users := map[link.Side]user{link.Nodes: w.user(link.Nodes), link.Builders: w.user(link.Builders)}
	conns := map[link.Side]*bus.Conn{}
	for side, u := range users {
		conns[side] = w.dial(u)
	}
	for _, row := range link.Subjects() {
		far, u := conns[row.Far()], users[row.Far()]
		on := subject(t, row.Verb, u.id)
		if row.Push {
			got := make(chan bus.Message, 1)
			if err := far.Subscribe(on, func(m bus.Message) { got <- m }); err != nil {
				t.Fatal(err)
			}
			settle(t, far, users[row.Far()])
			if err := controller.Publish(t.Context(), on, []byte("pushed")); err != nil {
				t.Fatal(err)
			}
			if m := receive(t, got); string(m.Data) != "pushed" || m.From != u.id || m.Verb != row.Verb {
				t.Fatalf("%s: got %+v", row.Verb, m)
			}
			continue
		}
		every := must(link.Every(row.Verb))(t)
		err := controller.Serve(every, func(_ context.Context, m bus.Message) ([]byte, error) {
			return []byte(string(m.Verb) + " " + m.From + " " + string(m.Data)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		answer := ask(t, far, on, "asked")
		if want := string(row.Verb) + " " + u.id + " asked"; answer != want {
			t.Fatalf("got %q, want %q", answer, want)
		}
	}
}

func TestARefusalReachesWhoeverAsked(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	u := w.user(link.Nodes)
	node := w.dial(u)
	err := w.controller().Serve("hello.*", func(context.Context, bus.Message) ([]byte, error) {
		return nil, fault.New(fault.Denied, "two machines\nsay they are this node")
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = node.Request(t.Context(), subject(t, link.VerbHello, u.id), []byte("x"))
	for fault.HintOf(err) == "" && isNobody(err) {
		_, err = node.Request(t.Context(), subject(t, link.VerbHello, u.id), []byte("x"))
	}
	if fault.KindOf(err) != fault.Unavailable || !contains(err, "two machines say they are this node") {
		t.Fatalf("got %v", err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	u := w.user(link.Nodes)
	node := w.dial(u)
	_, err := node.Request(t.Context(), subject(t, link.VerbHello, u.id), nil)
	if fault.KindOf(err) != fault.Unavailable || !isNobody(err) {
		t.Fatal(err)
	}
}

// The largest declaration, signed inside a signed answer, crosses; what is
// larger than the limit is refused at home and leaves the connection whole.
func TestTheLimitOfAMessage(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	u := w.user(link.Nodes)
	node, controller := w.dial(u), w.controller()
	if err := controller.Serve("report.*", func(_ context.Context, m bus.Message) ([]byte, error) { return m.Data, nil }); err != nil {
		t.Fatal(err)
	}
	ask(t, node, subject(t, link.VerbReport, u.id), "ready?")
	full := bytes.Repeat([]byte{'x'}, 8<<20)
	answer, err := node.Request(t.Context(), subject(t, link.VerbReport, u.id), full)
	if err != nil || !bytes.Equal(answer, full) {
		t.Fatalf("8 MiB did not cross: %v", err)
	}
	_, err = node.Request(t.Context(), subject(t, link.VerbReport, u.id), append(full, 'x'))
	if fault.KindOf(err) != fault.Invalid {
		t.Fatalf("more than 8 MiB: %v", err)
	}
	ask(t, node, subject(t, link.VerbReport, u.id), "still there?")
}

// ask repeats until the controller's subscription has reached the account of
// whoever asks: that takes the broker a moment.
func ask(t *testing.T, c *bus.Conn, on, what string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		answer, err := c.Request(ctx, on, []byte(what))
		if err == nil {
			return string(answer)
		}
		if ctx.Err() != nil || !isNobody(err) {
			t.Fatal(err)
		}
	}
}

// settle returns when the broker has handled everything that c sent before.
func settle(t testing.TB, c *bus.Conn, u user) {
	t.Helper()
	verb := link.VerbReport
	if err := c.Publish(t.Context(), subject(t, verb, u.id), nil); err != nil {
		t.Fatal(err)
	}
}

func isNobody(err error) bool { return contains(err, "nobody answers") }

func contains(err error, text string) bool {
	return err != nil && bytes.Contains([]byte(errors.Join(err).Error()), []byte(text))
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
