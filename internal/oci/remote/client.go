package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"noxmesh/document"
	"noxmesh/image"
	"noxmesh/internal/clock"
	"noxmesh/internal/fault"
	"noxmesh/internal/manners"
	"noxmesh/internal/oci"
)

// Config is how registries are reached.
type Config struct {
	PlainHosts []string      // registries over http without TLS: "registry.lan" or "registry.lan:5000"; loopback needs no leave
	TLS        *tls.Config   // whom to believe; nil for the machine's certificates
	Patience   time.Duration // how long an answer may take, or a transfer stand still; 30 s where zero
}

// Client reads registries. It is safe for concurrent use.
type Client struct {
	cfg     Config
	http    *http.Client
	manners *manners.Manners

	mu     sync.Mutex // guards tokens
	tokens map[string]token
}

// token is what a registry has given for one repository.
type token struct {
	text  string
	until time.Time
}

// Later is a question that was not asked: its registry is asked enough already, or
// wants to be left alone. It says nothing of the image.
type Later = manners.Later

const (
	perHost   = 2           // names of one registry that are asked for at once
	shortHold = time.Minute // of a registry that has had enough and does not say for how long
	maxTokens = 10_000
	maxAnswer = 1 << 20 // of whoever gives tokens
)

// New is a client that has asked nothing yet.
func New(cfg Config) *Client {
	if cfg.Patience == 0 {
		cfg.Patience = 30 * time.Second
	}
	c := &Client{cfg: cfg, manners: manners.New(perHost), tokens: map[string]token{}}
	way := oci.OtherTransport(cfg.TLS, cfg.Patience)
	way.MaxIdleConnsPerHost = perHost
	c.http = &http.Client{CheckRedirect: c.redirect, Transport: way}
	return c
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// machine is where a registry's name leads: Docker's own has another.
func machine(registry string) string {
	if registry == "docker.io" {
		return "registry-1.docker.io"
	}
	return registry
}

// plain reports whether a machine may be asked without TLS.
func (c *Client) plain(machine string) bool {
	name := (&url.URL{Host: machine}).Hostname()
	return oci.Loopback(name) || slices.Contains(c.cfg.PlainHosts, machine) || slices.Contains(c.cfg.PlainHosts, name)
}

func (c *Client) base(registry string) string {
	m := machine(registry)
	if c.plain(m) {
		return "http://" + m
	}
	return "https://" + m
}

// redirect lets a registry hand over to where its bytes are, without the token:
// what comes back is checked by digest like everything else.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 5:
		return errors.New("it redirects again and again")
	case req.URL.Scheme != "https" && (req.URL.Scheme != "http" || via[0].URL.Scheme != "http" || !c.plain(req.URL.Host)):
		return errors.New("it redirects to an address without TLS")
	}
	if req.URL.Scheme != via[0].URL.Scheme || req.URL.Host != via[0].URL.Host {
		req.Header.Del("Authorization")
		req.Header.Del("Referer")
	}
	return nil
}

// ask is one question about a repository.
type ask struct {
	method string
	of     image.Reference
	kind   string // manifests or blobs
	which  string // a tag or a digest
	header map[string]string
}

// do asks, and once more with a token where the registry wants one. An answer
// that is not among the wanted is an error, and its body is closed.
func (c *Client) do(ctx context.Context, a ask, wanted ...int) (*http.Response, error) {
	key := a.of.Name()
	text := c.token(key)
	for try := range 2 {
		resp, err := c.once(ctx, a, text)
		if err != nil {
			return nil, err
		}
		if slices.Contains(wanted, resp.StatusCode) {
			return resp, nil
		}
		asks, takes := oci.ParseChallenge(resp.Header.Get("WWW-Authenticate"))
		refused := c.refused(a, resp)
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || !takes || try > 0 {
			return nil, refused
		}
		if text, err = c.fetchToken(ctx, a.of, asks); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Broken, "ask registry %q", a.of.Registry)
}

func (c *Client) once(ctx context.Context, a ask, text string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, a.method, c.base(a.of.Registry)+"/v2/"+a.of.Repository+"/"+a.kind+"/"+a.which, nil)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "ask registry %q", a.of.Registry)
	}
	for k, v := range a.header {
		req.Header.Set(k, v)
	}
	if text != "" {
		req.Header.Set("Authorization", "Bearer "+text)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, oci.Unreachable(ctx, a.of.Registry, err)
	}
	return resp, nil
}

// refused is an answer that says no. A registry that wants to be left alone is.
func (c *Client) refused(a ask, resp *http.Response) error {
	const answered = "registry %q answered %d%s"
	words := ""
	if a.method != http.MethodHead {
		words = oci.Words(resp.Body)
	}
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound:
		return fault.Wrap(fault.NotFound, Gone, answered, a.of.Registry, code, words)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fault.Wrap(fault.Denied, Refused, answered, a.of.Registry, code, words).
			With("is its name right? This version has no credentials for registries yet: the image must be one that anybody may pull")
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		now := clock.Now()
		wait := max(cmp.Or(manners.RetryAfter(resp.Header.Get("Retry-After"), now), shortHold), time.Second)
		c.manners.Hold(a.of.Registry, wait, now)
		return fault.New(fault.Unavailable, answered, a.of.Registry, code, words).With("it wants to be left alone for %s", wait)
	case code/100 == 4 && code != http.StatusRequestTimeout:
		return fault.New(fault.Invalid, answered, a.of.Registry, code, words)
	}
	return fault.New(fault.Unavailable, answered, a.of.Registry, resp.StatusCode, words)
}

func (c *Client) token(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tokens[key]; clock.Now().Before(t.until) {
		return t.text
	}
	return ""
}

// fetchToken asks for a token as nobody: whoever may read without a credential
// gets one.
func (c *Client) fetchToken(ctx context.Context, of image.Reference, asks oci.Challenge) (string, error) {
	u, err := asks.Address("repository:" + of.Repository + ":pull")
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !c.plain(u.Host) || !c.plain(machine(of.Registry))) {
		return "", fault.New(fault.Invalid, "registry %q sends for a token to %q, which is no address with TLS", of.Registry, document.Short(asks.Realm))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, "ask %q for a token", u.Host)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return "", fault.Add(oci.Unreachable(ctx, of.Registry, err), "ask %q for a token", u.Host)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fault.Add(c.refused(ask{method: http.MethodGet, of: of}, resp), "ask %q for a token", u.Host)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", oci.Unreachable(ctx, of.Registry, err)
	}
	text, good := oci.ParseToken(body)
	if text == "" {
		return "", fault.New(fault.Invalid, "%q gives no token for %q", u.Host, of.Name())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tokens) >= maxTokens {
		clear(c.tokens)
	}
	c.tokens[of.Name()] = token{text, clock.Now().Add(good)}
	return text, nil
}
