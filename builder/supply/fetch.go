package supply

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"noxmesh/builder/gateway"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
	"noxmesh/internal/intime"
	"noxmesh/internal/oci"
)

const (
	answerTime = 60 * time.Second // until a server begins to answer
	stillTime  = 60 * time.Second // that nothing comes of a file
	tries      = 3
	mostBytes  = 32 << 30 // of all that is fetched for one build
)

// place is where something is fetched from.
type place struct {
	url    string
	own    bool // an upstream of the operator's, wherever that is
	said   bool // by an upstream, and not by a lock file
	accept string
}

// fetcher brings files from the operator's upstreams, and from public addresses.
type fetcher struct {
	own, others *http.Client
	left        atomic.Int64 // bytes
	wait        func(ctx context.Context, d time.Duration)
}

func newFetcher(from Upstreams, g *gateway.Gateway) *fetcher {
	f := &fetcher{wait: wait}
	f.left.Store(mostBytes)
	near := trusted(from)
	dialer := &net.Dialer{Timeout: 15 * time.Second}
	outside := func(ctx context.Context, _, to string) (net.Conn, error) { return g.Reach(ctx, to) }
	f.others = client(nil, outside)
	f.own = client(http.ProxyFromEnvironment, func(ctx context.Context, network, to string) (net.Conn, error) {
		if near[strings.ToLower(to)] {
			return dialer.DialContext(ctx, network, to)
		}
		return outside(ctx, network, to) // where an upstream sends us on to
	})
	return f
}

// trusted is each host that the operator names, or the proxy on the way there.
func trusted(from Upstreams) map[string]bool {
	all := map[string]bool{}
	for _, at := range []string{from.Go, from.Npm, from.Python, from.Cargo} {
		u, err := url.Parse(at)
		if err != nil || at == "" {
			continue
		}
		all[hostPort(u)] = true
		if by, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && by != nil {
			all[hostPort(by)] = true
		}
	}
	return all
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme]
	}
	return strings.ToLower(net.JoinHostPort(u.Hostname(), port))
}

func client(proxy func(*http.Request) (*url.URL, error), dial func(ctx context.Context, network, to string) (net.Conn, error)) *http.Client {
	return &http.Client{CheckRedirect: redirect, Transport: intime.Transport{Transport: &http.Transport{
		Proxy: proxy, DialContext: dial, TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: answerTime,
		IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 16, MaxConnsPerHost: 16, MaxResponseHeaderBytes: 256 << 10,
		DisableCompression: true, ForceAttemptHTTP2: true, // a hash is over the bytes as they are
	}}}
}

func redirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 5:
		return errors.New("it redirects again and again")
	case r.URL.Scheme != "https" && (r.URL.Scheme != "http" || via[0].URL.Scheme != "http"):
		return errors.New("it redirects to an address without TLS")
	}
	return nil
}

func (f *fetcher) close() {
	f.own.CloseIdleConnections()
	f.others.CloseIdleConnections()
}

// wait lets a time go by.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// patiently tries again what somebody's server did not answer.
func (f *fetcher) patiently(ctx context.Context, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if n == tries || fault.KindOf(err) != fault.Unavailable || disk.Refused(err) || ctx.Err() != nil {
			return err
		}
		f.wait(ctx, time.Duration(n*n)*time.Second)
	}
}

// get writes what is at a place. The address is the one that it was at in the end.
func (f *fetcher) get(ctx context.Context, from place, to io.Writer) (at *url.URL, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from.url, nil)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "ask %q", from.url)
	}
	r.Header.Set("User-Agent", "mesh-builder")
	if from.accept != "" {
		r.Header.Set("Accept", from.accept)
	}
	by := f.others
	if from.own {
		by = f.own
	}
	resp, err := by.Do(r)
	if err != nil {
		return nil, from.unreachable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, from.refused(resp)
	}
	still := time.AfterFunc(stillTime, func() { stop(errors.New("nothing comes any more")) })
	defer still.Stop()
	return resp.Request.URL, f.copy(ctx, from, to, &lively{resp.Body, still})
}

// copy says apart what the server did not give, and what could not be written.
func (f *fetcher) copy(ctx context.Context, from place, to io.Writer, body io.Reader) error {
	part := make([]byte, 64<<10)
	for {
		n, err := body.Read(part)
		if f.left.Add(-int64(n)) < 0 {
			return fault.New(fault.Invalid, "a build may take %d GiB from outside, and this is more", int64(mostBytes)>>30)
		}
		if _, failed := to.Write(part[:n]); failed != nil {
			return fault.Add(failed, "fetch %q", from.url)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && context.Cause(ctx) != nil:
			return from.unreachable(context.Cause(ctx))
		case err != nil:
			return from.unreachable(err)
		}
	}
}

// lively is a body that puts off what ends it when nothing comes.
type lively struct {
	io.Reader
	still *time.Timer
}

func (l *lively) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	l.still.Reset(stillTime)
	return n, err
}

// unreachable is an error of the way there. An address of a lock file that may
// not be reached is the module's; one to which an upstream sends us is not.
func (p place) unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // it says the address again
	}
	kind := fault.Unavailable
	if fault.KindOf(err) == fault.Denied && !p.own && !p.said {
		kind = fault.Invalid
	}
	return fault.Wrap(kind, err, "fetch %q", p.url)
}

// refused is an answer that says no.
func (p place) refused(resp *http.Response) error {
	code := strconv.Itoa(resp.StatusCode) + oci.Words(resp.Body)
	switch n := resp.StatusCode; {
	case n == http.StatusNotFound || n == http.StatusGone:
		return fault.New(fault.NotFound, "fetch %q: it is not there: %s", p.url, code).
			With("what is private cannot be fetched in this version: bring it into the tree")
	case !p.own && !p.said && n/100 == 4 && n != http.StatusTooManyRequests && n != http.StatusRequestTimeout:
		return fault.New(fault.Invalid, "fetch %q: it is refused: %s", p.url, code).
			With("what wants a credential cannot be fetched in this version: bring it into the tree")
	}
	return fault.New(fault.Unavailable, "fetch %q: it answered %s", p.url, code)
}
