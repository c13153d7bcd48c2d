package broker_test

import (
	"bytes"
	"testing"

	"noxmesh/internal/bus"
	"noxmesh/link"
)

// One declaration of 4 KiB to one node over TLS, from the controller's Publish
// to the node's handler.
func BenchmarkPush(b *testing.B) {
	w := start(b, nil)
	u := w.user(link.Nodes)
	node, controller := w.dial(u), w.controller()
	got := make(chan struct{}, 1)
	on := subject(b, link.VerbDecl, u.id)
	if err := node.Subscribe(on, func(bus.Message) { got <- struct{}{} }); err != nil {
		b.Fatal(err)
	}
	settle(b, node, u)
	data := bytes.Repeat([]byte{'x'}, 4<<10)
	for b.Loop() {
		if err := controller.Publish(b.Context(), on, data); err != nil {
			b.Fatal(err)
		}
		<-got
	}
}

// A login over TLS: what bounds how fast a fleet comes back.
func BenchmarkLogin(b *testing.B) {
	w := start(b, nil)
	u := w.user(link.Nodes)
	for b.Loop() {
		nc, _ := w.raw(u)
		nc.Close()
	}
}
