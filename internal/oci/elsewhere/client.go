package elsewhere

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

// Config is which registry it is, and who the mesh is there.
type Config struct {
	URL      string        // https://HOST[:PORT][/PREFIX]; http on loopback only
	Login    string        // a file with USER:SECRET; empty: as anybody
	TLS      *tls.Config   // whom to believe; nil for the machine's certificates
	Patience time.Duration // how long an answer may take; 30 s where zero
}

// Client is the mesh at that registry. It is safe for concurrent use.
type Client struct {
	cfg    Config
	base   *url.URL // without the prefix
	prefix string   // before every repository: "acme/mesh/", or ""
	http   *http.Client

	attaching sync.Mutex // held while a tag of referrers is read and written

	mu     sync.Mutex // guards what follows
	basic  bool       // it takes the login itself, and gives no tokens for it
	tokens map[string]token
}

// New is a client that has asked nothing yet.
func New(cfg Config) (*Client, error) {
	base, prefix, err := parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.Patience == 0 {
		cfg.Patience = 30 * time.Second
	}
	c := &Client{cfg: cfg, base: base, prefix: prefix, tokens: map[string]token{}}
	if _, _, err := c.login(); err != nil {
		return nil, err
	}
	c.http = &http.Client{CheckRedirect: c.redirect, Transport: oci.OtherTransport(cfg.TLS, cfg.Patience)}
	return c, nil
}

// Check is what is wrong with the address of a registry.
func Check(address string) error {
	_, _, err := parse(address)
	return err
}

func parse(address string) (base *url.URL, prefix string, err error) {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, "", fault.New(fault.Invalid, "registry %q: want https://HOST[:PORT][/PREFIX]", document.Short(address)).
			With("the login stands in a file of its own: --registry-login")
	}
	if u.Scheme == "http" && !oci.Loopback(u.Hostname()) {
		return nil, "", fault.New(fault.Invalid, "registry %q: the login would travel unprotected", document.Short(address)).With("use https")
	}
	if prefix = strings.TrimPrefix(u.Path, "/"); prefix != "" {
		if err := oci.CheckRepository(prefix); err != nil {
			return nil, "", fault.Add(err, "registry %q: what stands before every repository", document.Short(address))
		}
		prefix += "/"
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, prefix, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Name is the registry as people name it: its host, and what stands before every repository.
func (c *Client) Name() string { return strings.TrimSuffix(c.base.Host+"/"+c.prefix, "/") }

// redirect lets the registry hand over to where its bytes are, without the login:
// what comes back is checked by digest like everything else.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 5:
		return errors.New("it redirects again and again")
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		return errors.New("it redirects a write")
	case !c.trusts(req.URL):
		return errors.New("it redirects to an address without TLS")
	}
	if req.URL.Scheme != c.base.Scheme || req.URL.Host != c.base.Host {
		req.Header.Del("Authorization")
		req.Header.Del("Referer")
	}
	return nil
}

// trusts reports whether something may be asked at an address that the registry names.
func (c *Client) trusts(u *url.URL) bool {
	return u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http" && c.base.Scheme == "http" && oci.Loopback(u.Hostname()))
}

// ask is one request about a repository.
type ask struct {
	method     string
	repository string // of the mesh; "" asks about none
	target     string // below the repository, or an address that the registry has named
	header     map[string]string
	body       io.Reader // can be sent once
	length     int64     // of it
	text       []byte    // instead of a body, and as often as need be
	actions    string    // what the token must be good for
}

const (
	pull   = "pull"
	push   = "pull,push"
	remove = "pull,push,delete"
)

// do asks, and once more with a login where the registry wants one and there is
// nothing that was sent for good. An answer that is not among the wanted is an
// error, and its body is closed.
func (c *Client) do(ctx context.Context, a ask, wanted ...int) (*http.Response, error) {
	for try := range 2 {
		resp, err := c.once(ctx, a)
		if err != nil {
			return nil, err
		}
		if slices.Contains(wanted, resp.StatusCode) {
			return resp, nil
		}
		header, refused := resp.Header.Values("WWW-Authenticate"), c.refused(a.method, resp)
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			return nil, refused
		}
		c.forget(a)
		if try > 0 || a.body != nil {
			return nil, refused
		}
		more, err := c.challenged(ctx, a, header)
		if err != nil {
			return nil, err
		}
		if !more {
			return nil, refused
		}
	}
	return nil, fault.New(fault.Broken, "ask registry %q", c.base.Host)
}

func (c *Client) once(ctx context.Context, a ask) (*http.Response, error) {
	u, err := c.place(a)
	if err != nil {
		return nil, err
	}
	if a.text != nil {
		a.body = bytes.NewReader(a.text)
	}
	req, err := http.NewRequestWithContext(ctx, a.method, u.String(), a.body)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "ask registry %q", c.base.Host)
	}
	if a.length > 0 {
		req.ContentLength = a.length
	}
	for k, v := range a.header {
		req.Header.Set(k, v)
	}
	if u.Scheme == c.base.Scheme && u.Host == c.base.Host {
		if err := c.identify(req, a); err != nil {
			return nil, err
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, oci.Unreachable(ctx, c.base.Host, err)
	}
	return resp, nil
}

// place is the address that is asked. Where the registry wants an upload sent is its
// own to say, elsewhere too: the login does not go with it then.
func (c *Client) place(a ask) (*url.URL, error) {
	if a.repository == "" {
		return c.base.Parse("/v2/")
	}
	if err := oci.CheckRepository(a.repository); err != nil {
		return nil, err
	}
	if strings.HasPrefix(a.target, "/") || strings.Contains(a.target, "://") {
		u, err := c.base.Parse(a.target)
		if err != nil || !c.trusts(u) {
			return nil, fault.New(fault.Unavailable, "registry %q wants bytes sent to %q, which is no address with TLS", c.base.Host, document.Short(a.target))
		}
		return u, nil
	}
	return c.base.Parse("/v2/" + c.prefix + a.repository + "/" + a.target)
}

// refused is an answer that says no. Whatever it is, it is no fault of who builds or
// pulls: a login that is not taken is the operator's to mend, and it may be asked
// again after that.
func (c *Client) refused(method string, resp *http.Response) error {
	words := ""
	if method != http.MethodHead {
		words = oci.Words(resp.Body)
	}
	code := resp.StatusCode
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		if c.cfg.Login == "" {
			return fault.New(fault.Unavailable, "registry %q wants a login (it answered %d), give its file with --registry-login%s", c.base.Host, code, words)
		}
		return fault.New(fault.Unavailable, "registry %q refuses the login of --registry-login %q (it answered %d)%s", c.base.Host, c.cfg.Login, code, words)
	case http.StatusNotFound:
		return fault.New(fault.NotFound, "registry %q answered %d%s", c.base.Host, code, words)
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return fault.New(fault.Invalid, "registry %q answered %d%s", c.base.Host, code, words)
	}
	return fault.New(fault.Unavailable, "registry %q answered %d%s", c.base.Host, code, words)
}
