package controller

import "sync"

// bell wakes everybody who waits for something to have changed. Whoever waits
// takes the channel first, looks, and only then waits: a ring in between is not
// lost.
type bell struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

func newBell() *bell { return &bell{next: make(chan struct{})} }

// heard is closed at the next ring.
func (b *bell) heard() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}
