package oci

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// RequestHeader carries the id of the build request that a builder holds open:
// with its own credential, that is its leave to write.
const RequestHeader = "Mesh-Request"

// Config is how to reach a registry.
type Config struct {
	Base      string      // https://HOST[:PORT]; http on loopback only
	TLS       *tls.Config // whom to believe; nil for the machine's certificates
	User      string      // with Secret, the credential of this node or builder
	Secret    Secret
	RequestID string        // builder: the open request; else empty
	MinRate   int64         // bytes a second below which a transfer is given up; 4 KiB where zero
	Patience  time.Duration // how long a transfer may be slower or an answer take; 30 s where zero
}

// Client reads and writes one registry. It is safe for concurrent use.
type Client struct {
	cfg  Config
	base *url.URL
	http *http.Client
}

// New is a client of the registry at cfg.Base. Nothing is asked of it yet.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(cfg.Base, "/"))
	if err != nil || base.Host == "" || base.Path != "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, fault.New(fault.Invalid, "registry %q: want https://HOST[:PORT]", cfg.Base)
	}
	if base.Scheme != "https" && (base.Scheme != "http" || !Loopback(base.Hostname())) {
		return nil, fault.New(fault.Invalid, "registry %q: a credential would travel unprotected", cfg.Base).With("use https")
	}
	if cfg.MinRate == 0 {
		cfg.MinRate = 4 << 10
	}
	if cfg.Patience == 0 {
		cfg.Patience = 30 * time.Second
	}
	c := &Client{cfg: cfg, base: base}
	c.http = &http.Client{CheckRedirect: c.redirect, Transport: Transport(cfg.TLS, cfg.Patience)}
	return c, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// redirect lets a registry hand over to where its bytes are, and sends no
// credential along: what comes back is checked by digest like everything else.
func (c *Client) redirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 3:
		return errors.New("it redirects again and again")
	case req.Method != http.MethodGet && req.Method != http.MethodHead:
		return errors.New("it redirects a write")
	case req.URL.Scheme != "https" && (c.base.Scheme != "http" || !Loopback(req.URL.Hostname())):
		return errors.New("it redirects to an address without TLS")
	}
	if req.URL.Scheme != c.base.Scheme || req.URL.Host != c.base.Host {
		req.Header.Del("Authorization")
		req.Header.Del(RequestHeader)
		req.Header.Del("Referer")
	}
	return nil
}

// CheckRepository refuses what no registry takes for a repository's name.
func CheckRepository(repo string) error {
	if !document.IsRepository(repo) {
		return fault.New(fault.Invalid, "%q is not a registry's repository: want lower-case words joined by . _ - and /", document.Short(repo))
	}
	return nil
}

// ask is one request to the registry.
type ask struct {
	method string
	target string // a path and query below the base
	body   io.Reader
	length int64
	header map[string]string
}

func (c *Client) url(repo, kind string, digest document.Digest) (string, error) {
	if err := CheckRepository(repo); err != nil {
		return "", err
	}
	if !digest.Valid() {
		return "", fault.New(fault.Invalid, "%q is not a digest", document.Short(string(digest)))
	}
	return "/v2/" + repo + "/" + kind + "/" + string(digest), nil
}

// do sends one request. An answer that is not among the wanted is an error with
// its kind, and its body is closed.
func (c *Client) do(ctx context.Context, a ask, wanted ...int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, a.method, c.base.String()+a.target, a.body)
	if err != nil {
		if closer, ok := a.body.(io.Closer); ok {
			err = errors.Join(err, closer.Close())
		}
		return nil, fault.Wrap(fault.Invalid, err, "asking registry %q", c.base.Host)
	}
	if a.length > 0 {
		req.ContentLength = a.length
	}
	if a.body != nil {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	for k, v := range a.header {
		req.Header.Set(k, v)
	}
	if c.cfg.User != "" {
		req.SetBasicAuth(c.cfg.User, string(c.cfg.Secret))
	}
	if c.cfg.RequestID != "" {
		req.Header.Set(RequestHeader, c.cfg.RequestID)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, Unreachable(ctx, c.base.Host, err)
	}
	for _, w := range wanted {
		if resp.StatusCode == w {
			return resp, nil
		}
	}
	defer resp.Body.Close()
	return nil, c.refused(a.method, resp)
}

// refused is an answer that says no.
func (c *Client) refused(method string, resp *http.Response) error {
	kind := fault.Unavailable
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = fault.Denied
	case http.StatusNotFound:
		kind = fault.NotFound
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusRequestedRangeNotSatisfiable:
		kind = fault.Invalid
	}
	why := ""
	if method != http.MethodHead {
		why = Words(resp.Body)
	}
	return fault.New(kind, "registry %q answered %d%s", c.base.Host, resp.StatusCode, why)
}

// Words is the beginning of an error's body as one harmless line, after a colon.
func Words(body io.Reader) string {
	b, err := io.ReadAll(io.LimitReader(body, 300))
	if err != nil || len(b) == 0 {
		return ""
	}
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, string(b))
	return ": " + strings.Join(strings.Fields(line), " ")
}
