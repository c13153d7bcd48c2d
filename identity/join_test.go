package identity

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

const (
	someNats = "UBTZ6Q6BWE36LRFVVCLEBNU4SIJKR6RMW6XTE4ZZ6MO67ER2L4SUOMVZ"
	someAge  = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
)

// controller is the other end of a join, as real as TLS makes it.
type controller struct {
	ca     CA
	root   link.Key
	token  Token
	answer JoinAnswer
	asked  chan []byte
	status int
	said   string // instead of the answer
}

func newCA(t testing.TB) CA {
	t.Helper()
	ca, err := NewCA(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// serve starts a controller with certificates of this CA, and makes a token for it.
func serve(t *testing.T, ca CA, names []string, lifetime time.Duration) *controller {
	t.Helper()
	cert, err := ca.Issue(names, time.Now(), lifetime)
	if err != nil {
		t.Fatal(err)
	}
	root, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	declare, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	c := &controller{ca: ca, root: root, asked: make(chan []byte, 4), status: http.StatusOK}
	server := httptest.NewUnstartedServer(c)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	c.token = Token{URL: server.URL, CA: ca.Fingerprint(), Root: root.Public(), Mesh: NewID(), ID: NewID(), Secret: NewSecret()}
	keys, err := link.Seal(root, link.TypeKeys, link.Keys{Format: 1, Mesh: c.token.Mesh, Version: 1, Declare: []link.PublicKey{declare.Public()}})
	if err != nil {
		t.Fatal(err)
	}
	c.answer = JoinAnswer{
		Format: Format, Mesh: c.token.Mesh, ID: NewID(), Name: "laptop", CA: string(ca.PEM()), Broker: "tls://127.0.0.1:4222",
		JWT: "jwt", Registry: "https://127.0.0.1:5000", RegistrySecret: NewSecret().Reveal(), Keys: keys,
	}
	return c
}

func (c *controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.asked <- body
	w.WriteHeader(c.status)
	if c.said != "" {
		_, _ = io.WriteString(w, c.said)
		return
	}
	b, _ := document.Canonical(c.answer)
	_, _ = w.Write(b)
}

func someRequest(t testing.TB) JoinRequest {
	t.Helper()
	k, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return JoinRequest{Kind: KindNode, Name: "laptop", Sign: k.Public(), Nats: someNats, Seal: someAge, Version: "1.0.0", Speaks: []int{1}}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	c := serve(t, newCA(t), []string{"127.0.0.1"}, time.Hour)
	r := someRequest(t)
	a, err := Join(t.Context(), c.token, r)
	if err != nil || a.ID != c.answer.ID || a.Name != "laptop" {
		t.Fatalf("got %v: %v", a, err)
	}
	got, err := DecodeJoinRequest(<-c.asked)
	if err != nil || got.Token != c.token.ID || got.Secret != c.token.Secret.Reveal() || got.Sign != r.Sign {
		t.Fatalf("asked %v: %v", got, err)
	}
}

// TW1: whoever stands between sees no secret. The other end shows the pinned CA
// and a certificate of it for this address, or nothing is said to it.
func TestNothingIsSaidToAStranger(t *testing.T) {
	t.Parallel()
	ca := newCA(t)
	for name, c := range map[string]*controller{
		"another CA":             serve(t, newCA(t), []string{"127.0.0.1"}, time.Hour),
		"this CA, another host":  serve(t, ca, []string{"10.0.0.1", "mesh.example"}, time.Hour),
		"a chain that pretends":  pretender(t, ca),
		"the CA's own as a leaf": leafOnly(t, ca),
	} {
		c.token.CA = ca.Fingerprint()
		_, err := Join(t.Context(), c.token, someRequest(t))
		if fault.KindOf(err) != fault.Denied {
			t.Errorf("%s: %v", name, err)
		}
		select {
		case body := <-c.asked:
			t.Errorf("%s: was told %q", name, body)
		default:
		}
	}
}

// pretender shows a leaf of its own CA, and the mesh's real CA behind it.
func pretender(t *testing.T, real CA) *controller {
	t.Helper()
	return presenting(t, func(own tls.Certificate) tls.Certificate {
		own.Certificate = [][]byte{own.Certificate[0], real.certificate.Raw}
		return own
	})
}

func leafOnly(t *testing.T, real CA) *controller {
	t.Helper()
	return presenting(t, func(own tls.Certificate) tls.Certificate {
		own.Certificate = own.Certificate[:1]
		return own
	})
}

func presenting(t *testing.T, change func(tls.Certificate) tls.Certificate) *controller {
	t.Helper()
	ca := newCA(t)
	c := serve(t, ca, []string{"127.0.0.1"}, time.Hour)
	cert, err := ca.Issue([]string{"127.0.0.1"}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(c)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{change(cert)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	c.token.URL = server.URL
	return c
}

// An answer is believed by the token's pins, whoever carried it.
func TestAnAnswerThatIsNotTheMeshs(t *testing.T) {
	t.Parallel()
	ca := newCA(t)
	for name, change := range map[string]func(*testing.T, *controller){
		"another mesh": func(_ *testing.T, c *controller) { c.answer.Mesh = NewID() },
		"another CA":   func(t *testing.T, c *controller) { c.answer.CA = string(newCA(t).PEM()) },
		"no CA":        func(_ *testing.T, c *controller) { c.answer.CA = "CA" },
		"the CA and another": func(t *testing.T, c *controller) {
			c.answer.CA += string(newCA(t).PEM())
		},
		"keys that another root signed": func(_ *testing.T, c *controller) {
			k, _ := link.NewKey()
			c.answer.Keys, _ = link.Seal(k, link.TypeKeys, link.Keys{Format: 1, Mesh: c.token.Mesh, Version: 9, Declare: []link.PublicKey{k.Public()}})
		},
		"another mesh's keys": func(_ *testing.T, c *controller) {
			c.answer.Keys, _ = link.Seal(c.root, link.TypeKeys, link.Keys{Format: 1, Mesh: NewID(), Version: 9, Declare: []link.PublicKey{c.root.Public()}})
		},
		"no keys":                 func(_ *testing.T, c *controller) { c.answer.Keys = link.Envelope{} },
		"a format of tomorrow":    func(_ *testing.T, c *controller) { c.answer.Format = 2 },
		"an id called *":          func(_ *testing.T, c *controller) { c.answer.ID = "*" },
		"a broker without TLS":    func(_ *testing.T, c *controller) { c.answer.Broker = "nats://127.0.0.1:4222" },
		"a registry without TLS":  func(_ *testing.T, c *controller) { c.answer.Registry = "http://127.0.0.1:5000" },
		"no permission":           func(_ *testing.T, c *controller) { c.answer.JWT = "" },
		"an endless answer":       func(_ *testing.T, c *controller) { c.said = strings.Repeat("x", answerLimit*2) },
		"no document":             func(_ *testing.T, c *controller) { c.said = "<html>" },
		"one that says too much":  func(_ *testing.T, c *controller) { c.said = `{"format":1,"run":"rm -rf /"}` },
		"a refusal without words": func(_ *testing.T, c *controller) { c.status, c.said = http.StatusBadGateway, "<html>" },
	} {
		c := serve(t, ca, []string{"127.0.0.1"}, time.Hour)
		change(t, c)
		a, err := Join(t.Context(), c.token, someRequest(t))
		if fault.KindOf(err) == fault.Unknown || a.ID != "" {
			t.Errorf("%s: %v: %v", name, a, err)
		}
	}
}

func TestARefusalKeepsItsKindAndHint(t *testing.T) {
	t.Parallel()
	c := serve(t, newCA(t), []string{"127.0.0.1"}, time.Hour)
	c.status, c.said = http.StatusForbidden, `{"error":"the token was used","hint":"mesh node add laptop","kind":"denied"}`
	_, err := Join(t.Context(), c.token, someRequest(t))
	if fault.KindOf(err) != fault.Denied || fault.HintOf(err) != "mesh node add laptop" || !strings.Contains(err.Error(), "the token was used") {
		t.Errorf("got %v, hint %q", err, fault.HintOf(err))
	}
	if strings.Contains(err.Error(), c.token.Secret.Reveal()) {
		t.Error("the error holds the secret")
	}
	// A redirect is an answer, and nothing is carried on to where it points.
	c.status, c.said = http.StatusTemporaryRedirect, ""
	if _, err := Join(t.Context(), c.token, someRequest(t)); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a redirect: %v", err)
	}
	nobody := c.token
	nobody.URL = "https://" + freePort(t)
	if _, err := Join(t.Context(), nobody, someRequest(t)); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("nobody there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Join(ctx, c.token, someRequest(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// X24: a certificate that this machine's clock would call not yet valid, or
// long over, is judged by the CA's own beginning.
func TestTheClockHasNoPartInIt(t *testing.T) {
	t.Parallel()
	for name, begins := range map[string]time.Time{
		"this machine stands at 1970":     time.Now().AddDate(60, 0, 0),
		"this machine is ten years ahead": time.Now().AddDate(-10, 0, 0),
	} {
		ca, err := NewCA(begins)
		if err != nil {
			t.Fatal(err)
		}
		lifetime := time.Until(begins) + time.Hour // one hour, counted from the CA's beginning
		c := serve(t, ca, []string{"127.0.0.1"}, lifetime)
		if _, err := Join(t.Context(), c.token, someRequest(t)); err != nil {
			t.Errorf("%s: join: %v", name, err)
		}
		config, err := ClientTLS(ca.PEM())
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		response, err := client.Get(c.token.URL)
		if err != nil {
			t.Errorf("%s: after the join: %v", name, err)
			continue
		}
		response.Body.Close()
		client.CloseIdleConnections()
	}
}

func TestCAIsKeptWhole(t *testing.T) {
	t.Parallel()
	ca := newCA(t)
	kept, err := ca.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseCA(kept)
	if err != nil || again.Fingerprint() != ca.Fingerprint() {
		t.Fatalf("%v: %v", again, err)
	}
	c := serve(t, again, []string{"127.0.0.1"}, time.Hour)
	c.token.CA = ca.Fingerprint()
	if _, err := Join(t.Context(), c.token, someRequest(t)); err != nil {
		t.Error(err)
	}
	other, err := newCA(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	mixed := append(ca.PEM(), other[len(newCA(t).PEM()):]...)
	for _, bad := range [][]byte{nil, ca.PEM(), kept[len(ca.PEM()):], mixed, []byte("CA")} {
		if _, err := ParseCA(bad); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%.40q was taken for a CA: %v", bad, err)
		}
	}
	if f, err := Fingerprint(ca.PEM()); err != nil || f != ca.Fingerprint() {
		t.Errorf("fingerprint %s: %v", f, err)
	}
	if _, err := ca.Issue(nil, time.Now(), time.Hour); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a certificate for nobody: %v", err)
	}
}

func TestJoinRequestIsStrict(t *testing.T) {
	t.Parallel()
	whole := someRequest(t)
	whole.Format, whole.Token, whole.Secret = Format, NewID(), NewSecret().Reveal()
	for name, change := range map[string]func(*JoinRequest){
		"":                     func(*JoinRequest) {},
		"a format of tomorrow": func(r *JoinRequest) { r.Format = 2 },
		"a token called *":     func(r *JoinRequest) { r.Token = "*" },
		"no secret":            func(r *JoinRequest) { r.Secret = "" },
		"a person":             func(r *JoinRequest) { r.Kind = "person" },
		"a name with a space":  func(r *JoinRequest) { r.Name = "my laptop" },
		"a name that escapes":  func(r *JoinRequest) { r.Name = "\x1b]0;x\a" },
		"no signing key":       func(r *JoinRequest) { r.Sign = "" },
		"an account's key":     func(r *JoinRequest) { r.Nats = "A" + r.Nats[1:] },
		"no sealing key":       func(r *JoinRequest) { r.Seal = "" },
		"a version in lines":   func(r *JoinRequest) { r.Version = "1\n2" },
		"speaks nothing":       func(r *JoinRequest) { r.Speaks = nil },
		"speaks nought":        func(r *JoinRequest) { r.Speaks = []int{0} },
		"speaks everything":    func(r *JoinRequest) { r.Speaks = make([]int, 100) },
	} {
		r := whole
		change(&r)
		b, err := document.Canonical(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeJoinRequest(b)
		if name == "" {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		if fault.KindOf(err) != fault.Invalid || got.Token != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	builder := whole
	builder.Kind, builder.Seal = KindBuilder, ""
	if err := builder.Check(); err != nil {
		t.Errorf("a builder without a sealing key: %v", err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
