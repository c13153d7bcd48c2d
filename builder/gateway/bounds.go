package gateway

import (
	"errors"
	"net"
	"sync"
	"time"
)

// limited is a listener that lets in only so many at one time.
type limited struct {
	net.Listener
	free  chan struct{} // full: nobody more
	ended <-chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.ended:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: conn, left: sync.OnceFunc(func() { <-l.free })}, nil
}

// counted is a connection that makes room when it is closed.
type counted struct {
	net.Conn
	left func()
}

func (c *counted) Close() error {
	defer c.left()
	return c.Conn.Close()
}

// bounded is a connection within the gateway's bounds.
func (g *Gateway) bounded(conn net.Conn) net.Conn {
	b := &bounded{conn, g}
	b.alive()
	return b
}

type bounded struct {
	net.Conn
	of *Gateway
}

var errSpent = errors.New("the build has had all of the network that it may have")

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if over := b.took(n); over != nil {
		return n, over
	}
	return n, err
}

func (b *bounded) Write(p []byte) (int, error) {
	n, err := b.Conn.Write(p)
	if over := b.took(n); over != nil {
		return n, over
	}
	return n, err
}

// took takes bytes off what is left.
func (b *bounded) took(n int) error {
	b.alive()
	if b.of.left.Add(-int64(n)) < 0 {
		b.of.note("network: ended after %d MiB, which is what a build may have of it", b.of.config.Bounds.Bytes>>20)
		return errSpent
	}
	return nil
}

// alive puts the end of a connection off on which nothing goes.
func (b *bounded) alive() {
	_ = b.SetDeadline(time.Now().Add(b.of.config.Bounds.Idle)) // one that is closed needs none
}

// CloseWrite passes on that no more comes.
func (b *bounded) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return b.Close()
}
