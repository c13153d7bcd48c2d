package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"

	"noxmesh/document"
	"noxmesh/identity"
	"noxmesh/internal/fault"
	"noxmesh/internal/intime"
)

// Client makes calls of one controller.
type Client struct {
	http  *http.Client
	base  string
	token string // "id:secret", empty on a socket
	where string // as a person would say it
}

// OverSocket is a client of the controller that listens on this unix socket.
func OverSocket(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	return &Client{http: &http.Client{Transport: intime.Transport{Transport: &http.Transport{DialContext: dial}}}, base: "http://controller", where: path}
}

// OverTLS is a client of the controller that a login names.
func OverTLS(l identity.Login) *Client {
	transport := intime.Transport{Transport: &http.Transport{TLSClientConfig: l.TLS()}}
	return &Client{http: &http.Client{Transport: transport}, base: l.URL, token: l.ID + ":" + l.Secret.Reveal(), where: l.URL}
}

// Do makes a call and waits for its answer.
func Do[In, Out any](ctx context.Context, c *Client, call Call[In, Out], in In) (out Out, err error) {
	path, err := target(call.Row, in)
	if err != nil {
		return out, err
	}
	var body io.Reader
	if hasBody(call.Row.Method) {
		b, err := document.Canonical(in)
		if err != nil {
			return out, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, call.Row.Method, c.base+path, body)
	if err != nil {
		return out, fault.Wrap(fault.Invalid, err, "ask the controller at %q", c.where)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return out, c.unreachable(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, outLimit))
	if err != nil {
		return out, fault.Wrap(fault.Unavailable, err, "read the answer of the controller at %q", c.where)
	}
	if res.StatusCode != http.StatusOK {
		var p Problem
		if err := json.Unmarshal(b, &p); err != nil || p.Kind == "" {
			return out, fault.New(fault.Unavailable, "the controller at %q answered %s", c.where, res.Status)
		}
		return out, p.Err()
	}
	// Not as strict as a document is read: a controller that is newer than this
	// program may say more than is asked for here.
	if err := json.Unmarshal(b, &out); err != nil {
		return out, fault.Wrap(fault.Unavailable, err, "read the answer of %q", c.where).
			With("is it a controller, and of the version of this program?")
	}
	return out, nil
}

func (c *Client) unreachable(err error) error {
	if fault.KindOf(err) != fault.Unknown { // our own word on the other's certificate
		return fault.Add(err, "ask the controller at %q", c.where)
	}
	e := fault.Wrap(fault.Unavailable, err, "ask the controller at %q", c.where)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return e.With("it did not answer in time; is it busy or stopped?")
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
		return e.With("no controller runs there: start one with \"mesh dev\", or say where it is with --controller")
	case errors.Is(err, syscall.EACCES):
		return e.With("only the user that the controller runs as may use its socket; use that user, or \"mesh login\"")
	}
	return e
}
