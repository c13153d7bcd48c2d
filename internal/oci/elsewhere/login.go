package elsewhere

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

// token is what the registry has given for one repository and what is done there.
type token struct {
	text  oci.Secret
	until time.Time
}

const (
	maxTokens = 10_000
	maxAnswer = 1 << 20 // of whoever gives tokens
	maxLogin  = 16 << 10
)

// login is who the mesh is there, as the file has it now: a new secret is used
// without a restart.
func (c *Client) login() (user string, secret oci.Secret, err error) {
	if c.cfg.Login == "" {
		return "", "", nil
	}
	f, err := os.Open(c.cfg.Login)
	if err != nil {
		return "", "", fault.Wrap(fault.Unavailable, err, "read the registry's login").With("--registry-login is a file with USER:SECRET")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLogin+1))
	if err != nil {
		return "", "", fault.Wrap(fault.Unavailable, err, "read the registry's login")
	}
	return parseLogin(c.cfg.Login, text)
}

// parseLogin reads USER:SECRET, one line.
func parseLogin(file string, text []byte) (user string, secret oci.Secret, err error) {
	line := strings.TrimRight(string(text), "\r\n")
	user, rest, ok := strings.Cut(line, ":")
	bad := func(r rune) bool { return r < ' ' || r == 0x7f }
	if !ok || user == "" || rest == "" || len(text) > maxLogin || strings.ContainsFunc(line, bad) {
		return "", "", fault.New(fault.Invalid, "%q is no login: want one line, USER:SECRET", file)
	}
	return user, oci.Secret(rest), nil
}

func (a ask) scope() string { return a.repository + " " + a.actions }

// identify puts into a request what the registry has asked for before.
func (c *Client) identify(req *http.Request, a ask) error {
	c.mu.Lock()
	basic, t := c.basic, c.tokens[a.scope()]
	c.mu.Unlock()
	if clock.Now().Before(t.until) {
		req.Header.Set("Authorization", "Bearer "+string(t.text))
		return nil
	}
	if !basic {
		return nil
	}
	user, secret, err := c.login()
	if err == nil && user != "" {
		req.SetBasicAuth(user, string(secret))
	}
	return err
}

// forget lets go of what was not taken.
func (c *Client) forget(a ask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tokens, a.scope())
}

// challenged gets what the registry wants to see. More is whether there is
// something that it has not seen in this request.
func (c *Client) challenged(ctx context.Context, a ask, headers []string) (more bool, err error) {
	for _, h := range headers {
		if asks, ok := oci.ParseChallenge(h); ok {
			return true, c.fetchToken(ctx, a, asks)
		}
		if scheme, _, _ := strings.Cut(strings.TrimSpace(h), " "); strings.EqualFold(scheme, "basic") {
			c.mu.Lock()
			defer c.mu.Unlock()
			more, c.basic = !c.basic, true
			return more && c.cfg.Login != "", nil
		}
	}
	return false, nil
}

// fetchToken asks for a token for what is to be done, with the login: the registry
// says where.
func (c *Client) fetchToken(ctx context.Context, a ask, asks oci.Challenge) error {
	scope := ""
	if a.repository != "" {
		scope = "repository:" + c.prefix + a.repository + ":" + a.actions
	}
	u, err := asks.Address(scope)
	if err != nil || !c.trusts(u) {
		return fault.New(fault.Unavailable, "registry %q sends for a token to %q, which is no address with TLS", c.base.Host, document.Short(asks.Realm))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "ask %q for a token", u.Host)
	}
	user, secret, err := c.login()
	if err != nil {
		return err
	}
	if user != "" {
		req.SetBasicAuth(user, string(secret))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fault.Add(oci.Unreachable(ctx, c.base.Host, err), "ask %q for a token", u.Host)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fault.Wrap(fault.Unavailable, c.refused(http.MethodGet, resp), "ask %q for a token", u.Host)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return oci.Unreachable(ctx, c.base.Host, err)
	}
	text, good := oci.ParseToken(body)
	if text == "" {
		return fault.New(fault.Unavailable, "%q gives no token for %q", u.Host, c.Name())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tokens) >= maxTokens {
		clear(c.tokens)
	}
	c.tokens[a.scope()] = token{oci.Secret(text), clock.Now().Add(good)}
	return nil
}
