package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// internet is a network in which each public address is one server of the test.
type internet struct {
	t       *testing.T
	server  *httptest.Server
	names   map[string][]string
	mu      sync.Mutex // guards what follows
	dialled []string
	lines   []string
}

func newInternet(t *testing.T, h http.HandlerFunc) *internet {
	t.Helper()
	n := &internet{t: t, server: httptest.NewServer(h), names: map[string][]string{}}
	t.Cleanup(n.server.Close)
	return n
}

func (n *internet) resolve(_ context.Context, host string) (all []netip.Addr, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range n.names[host] {
		all = append(all, netip.MustParseAddr(a))
	}
	if host == "rebound.example" { // the next one who asks is told another address
		n.names[host] = []string{"127.0.0.1"}
	}
	return all, nil
}

func (n *internet) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	n.dialled = append(n.dialled, to.String())
	n.mu.Unlock()
	d := net.Dialer{}
	return d.DialContext(ctx, "tcp", n.server.Listener.Addr().String())
}

func (n *internet) note(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *internet) said() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

// behind is a client that goes through a gateway, and what ends it.
func (n *internet) behind(b Bounds, mesh ...string) (c *http.Client, proxy string, end func()) {
	n.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.t.Context())
	g := New(Config{Mesh: mesh, Note: n.note, Bounds: b, Resolve: n.resolve, Dial: n.dial})
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, l) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			n.t.Error(err)
		}
		_ = l.Close()
	})
	n.t.Cleanup(end)
	at := &url.URL{Scheme: "http", Host: l.Addr().String()}
	transport := &http.Transport{Proxy: http.ProxyURL(at)}
	n.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, at.Host, end
}

func get(t *testing.T, c *http.Client, to string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, string(body)
}

func TestWhatIsPublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1.1.1.1": true, "93.184.215.14": true, "172.15.255.255": true, "172.32.0.1": true, "100.63.255.255": true, "100.128.0.1": true,
		"192.0.1.1": true, "223.255.255.255": true, "2606:4700::1111": true, "2a00:1450:4001::1": true, "::ffff:1.1.1.1": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "100.64.0.1": false, "100.100.100.200": false, "127.0.0.1": false, "127.255.1.1": false,
		"169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "192.0.0.192": false, "192.0.2.1": false,
		"198.18.0.1": false, "198.19.255.255": false, "198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "240.0.0.1": false,
		"255.255.255.255": false, "168.63.129.16": false, "::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false,
		"::127.0.0.1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false, "2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false, "3fff::1": false, "4000::1": false,
	} {
		if got := Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is public: %v", text, got)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestWhatIsReachedIsNamedAndWhatIsRefusedTold(t *testing.T) {
	t.Parallel()
	n := newInternet(t, func(w http.ResponseWriter, q *http.Request) {
		fmt.Fprintf(w, "%s %s via %q", q.Host, q.URL.Path, q.Header.Get("X-Forwarded-For"))
	})
	n.names = map[string][]string{
		"a.example": {"2606:4700::1111", "1.1.1.1"}, "mixed.example": {"10.0.0.1", "1.0.0.1"}, "db": {"192.168.1.5"},
		"broker.mesh.example": {"8.8.8.8"}, "other-name-of-it.example": {"8.8.8.8"}, "rebound.example": {"9.9.9.9"},
	}
	c, _, _ := n.behind(Bounds{}, "Broker.mesh.example", "8.8.4.4")
	if code, body := get(t, c, "http://A.example./x/y?z"); code != 200 || !strings.HasSuffix(body, `/x/y via ""`) {
		t.Errorf("%d %s", code, body)
	}
	for to, says := range map[string]string{
		"http://db/": "only public addresses are reached", "http://127.0.0.1:1/": "only public", "http://[::1]/": "only public",
		"http://169.254.169.254/latest/meta-data": "only public", "http://broker.mesh.example/": "the mesh's own", "http://BROKER.mesh.example.:99/": "the mesh's own",
		"http://other-name-of-it.example/": "none of the mesh", "http://8.8.4.4/": "the mesh's own", "http://a.example:25/": "no mail",
	} {
		if code, body := get(t, c, to); code != http.StatusForbidden || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s", to, code, body)
		}
	}
	if code, body := get(t, c, "http://nowhere.example/"); code != http.StatusBadGateway || !strings.Contains(body, "no address") {
		t.Errorf("%d %s", code, body)
	}
	for range 2 { // whose address moves between the look and the call
		get(t, c, "http://rebound.example/")
	}
	get(t, c, "http://mixed.example/")
	if got, want := strings.Join(n.dialled, " "), "1.1.1.1:80 9.9.9.9:80 1.0.0.1:80"; got != want {
		t.Errorf("dialled %s, want %s", got, want)
	}
	for _, line := range []string{"network: A.example.:80", `network: "db:80" is refused: it is 192.168.1.5`, `network: resolve "nowhere.example": it has no address`} {
		if !strings.Contains(n.said(), line) {
			t.Errorf("nobody noted %q:\n%s", line, n.said())
		}
	}
}

func TestATunnelCarriesBothWays(t *testing.T) {
	t.Parallel()
	n := newInternet(t, func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Error(err)
		}
	})
	n.names["a.example"] = []string{"1.1.1.1"}
	_, proxy, end := n.behind(Bounds{})
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	fmt.Fprintf(conn, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", len(body))
	go func() { _, _ = conn.Write(body) }()
	read := bufio.NewReader(conn)
	if r, err := http.ReadResponse(read, &http.Request{Method: http.MethodConnect}); err != nil || r.StatusCode != 200 {
		t.Fatal(r, err)
	}
	r, err := http.ReadResponse(read, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if got, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d bytes came back of %d: %v", len(got), len(body), err)
	}
	end() // the tunnel is still there, and ends with the command
	if _, err := read.ReadByte(); err == nil {
		t.Error("a tunnel outlives its sandbox")
	}
}

func TestTheNetworkIsBounded(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	n := newInternet(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/much" {
			_, _ = w.Write(make([]byte, 2<<20)) // it is cut off
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-hold
	})
	defer close(hold)
	n.names["a.example"] = []string{"1.1.1.1"}
	c, _, _ := n.behind(Bounds{Bytes: 1 << 20})
	if code, body := get(t, c, "http://a.example/much"); code == 200 {
		t.Errorf("%d bytes came through", len(body))
	}
	if !strings.Contains(n.said(), "network: ended after 1 MiB") {
		t.Error(n.said())
	}
	c, _, _ = n.behind(Bounds{Idle: 50 * time.Millisecond})
	if code, body := get(t, c, "http://a.example/nothing"); code == 200 {
		t.Errorf("a connection on which nothing goes ended with %q", body)
	}
	c, _, _ = n.behind(Bounds{Connections: 1})
	first, stop := context.WithCancel(t.Context())
	q, err := http.NewRequestWithContext(first, http.MethodGet, "http://a.example/held", nil)
	if err != nil {
		t.Fatal(err)
	}
	held, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Body.Close()
	second, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if q, err = http.NewRequestWithContext(second, http.MethodGet, "http://127.0.0.1/", nil); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Do(q); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second one came through: %v %v", r, err)
	}
	stop()
	if code, _ := get(t, c, "http://127.0.0.1/"); code != http.StatusForbidden {
		t.Errorf("when the first had ended: %d", code)
	}
}

func TestOddRequests(t *testing.T) {
	t.Parallel()
	n := newInternet(t, func(http.ResponseWriter, *http.Request) { t.Error("it came through") })
	_, proxy, _ := n.behind(Bounds{})
	for _, q := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET https://1.1.1.1/ HTTP/1.1\r\nHost: a\r\n\r\n", "GET ftp://1.1.1.1/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"CONNECT 1.1.1.1 HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT 1.1.1.1:0 HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT 1.1.1.1:99999 HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT :80 HTTP/1.1\r\nHost: a\r\n\r\n",
		"nonsense\r\n\r\n", "CONNECT / HTTP/1.1\r\nHost: \r\n\r\n",
	} {
		conn, err := net.Dial("tcp", proxy)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, q); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		if r.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %s", q, r.Status)
		}
		_ = r.Body.Close()
		_ = conn.Close()
	}
}
