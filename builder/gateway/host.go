package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"noxmesh/internal/fault"
)

// hosted is a handler of which it is known what of it goes on.
type hosted struct {
	http.Handler

	mu    sync.Mutex // guards over
	over  bool
	going sync.WaitGroup
}

// Host serves whoever connects to a listener in a sandbox, only so many at one
// time, until ctx ends. When it returns, nothing of it goes on.
func Host(ctx context.Context, l net.Listener, handler http.Handler, most int) error {
	h := &hosted{Handler: handler}
	silent := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // nobody wants to hear what a build makes a server say
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: dialTime, IdleTimeout: dialTime, MaxHeaderBytes: 64 << 10,
		ErrorLog: silent, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // it has nothing to say to anybody
	defer stop()
	err := server.Serve(&limited{Listener: l, free: make(chan struct{}, most), ended: ctx.Done()})
	h.mu.Lock()
	h.over = true
	h.mu.Unlock()
	_ = server.Close() // whoever is idle
	h.going.Wait()
	if errors.Is(err, http.ErrServerClosed) || ctx.Err() != nil {
		return nil
	}
	return fault.Wrap(fault.Unavailable, err, "serve the network of a sandbox")
}

// begin reports whether one more may go through.
func (h *hosted) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.going.Add(1)
	}
	return !h.over
}

func (h *hosted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.begin() {
		return
	}
	defer h.going.Done()
	h.Handler.ServeHTTP(w, r)
}
