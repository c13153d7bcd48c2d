package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"golang.org/x/sync/errgroup"

	"noxmesh/internal/fault"
)

// session is what goes through a gateway from one listener.
type session struct {
	*Gateway
	forward *httputil.ReverseProxy
}

// Serve lets whoever connects to the listener through, until ctx ends. When it
// returns, nothing goes through any more and nothing more is noted.
func (g *Gateway) Serve(ctx context.Context, l net.Listener) error {
	s := &session{Gateway: g}
	s.forward = &httputil.ReverseProxy{
		Rewrite: func(*httputil.ProxyRequest) {}, // it goes where it says
		Transport: &http.Transport{
			DialContext:       func(ctx context.Context, _, to string) (net.Conn, error) { return g.Reach(ctx, to) },
			DisableKeepAlives: true, DisableCompression: true,
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { refuse(w, err) },
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), FlushInterval: -1,
	}
	return Host(ctx, l, s, g.config.Bounds.Connections)
}

func (s *session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		s.tunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		s.forward.ServeHTTP(w, r)
	default:
		refuse(w, fault.New(fault.Invalid, "this is a proxy for http and CONNECT, and no server"))
	}
}

// refuse says why to the client.
func refuse(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	switch fault.KindOf(err) {
	case fault.Denied:
		code = http.StatusForbidden
	case fault.Invalid:
		code = http.StatusBadRequest
	case fault.Unknown, fault.NotFound, fault.Conflict, fault.Unavailable, fault.Broken:
	}
	http.Error(w, "mesh-builder: "+err.Error(), code)
}

// tunnel carries bytes both ways until both ends have ended.
func (s *session) tunnel(w http.ResponseWriter, r *http.Request) {
	far, err := s.Reach(r.Context(), r.Host)
	if err != nil {
		refuse(w, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, err)
		return
	}
	defer near.Close()
	defer context.AfterFunc(r.Context(), func() {
		_, _ = far.Close(), near.Close() // whoever reads there hears of it
	})()
	_ = near.SetDeadline(time.Time{}) // the far end's is the one that counts
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	both := errgroup.Group{}
	both.Go(func() error { return carry(far, buffered.Reader) })
	both.Go(func() error {
		defer near.Close() // what is still on its way out has nobody to hear of it
		return carry(near, bufio.NewReader(far))
	})
	_ = both.Wait() // a connection that broke is the client's to speak of
}

// carry copies to the end, and passes the end on.
func carry(to net.Conn, from *bufio.Reader) error {
	_, err := io.Copy(to, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok {
		return errors.Join(err, to.Close())
	}
	return half.CloseWrite()
}
