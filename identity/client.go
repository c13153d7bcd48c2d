package identity

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"noxmesh/document"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/intime"
	"noxmesh/link"
)

// joinLimit bounds a join from the first packet to the last.
const joinLimit = 30 * time.Second

// Join asks the mesh that the token names to let this node or builder in. The
// server is proven by the pinned CA before the secret leaves, and the answer by
// the pinned root before it is returned. The request's format, token and secret
// are filled in here.
func Join(ctx context.Context, t Token, r JoinRequest) (JoinAnswer, error) {
	if err := t.check(); err != nil {
		return JoinAnswer{}, err
	}
	r.Format, r.Token, r.Secret = Format, t.ID, t.Secret.Reveal()
	if err := r.Check(); err != nil {
		return JoinAnswer{}, err
	}
	body, err := document.Canonical(r)
	if err != nil {
		return JoinAnswer{}, err
	}
	data, err := post(ctx, t, body)
	if err != nil {
		return JoinAnswer{}, fault.Add(err, "join the mesh at %q", t.URL)
	}
	a, err := DecodeJoinAnswer(data)
	if err != nil {
		return JoinAnswer{}, err
	}
	return orNothing(a, t.Believe(a))
}

// Believe refuses an answer that does not come from the mesh that the token
// pins: another mesh, another CA, or keys that its root has not signed.
func (t Token) Believe(a JoinAnswer) error {
	if a.Mesh != t.Mesh {
		return fault.New(fault.Denied, "the answer is of mesh %q, the token is for mesh %q", a.Mesh, t.Mesh)
	}
	pin, err := Fingerprint([]byte(a.CA))
	if err != nil {
		return err
	}
	if pin != t.CA {
		return fault.New(fault.Denied, "the answer names another CA than the token")
	}
	if _, err := ClientTLS([]byte(a.CA)); err != nil {
		return err
	}
	_, err = link.VerifyKeys(a.Keys, t.Root, link.Keys{Mesh: t.Mesh})
	return err
}

func post(ctx context.Context, t Token, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	transport := intime.Transport{Transport: &http.Transport{TLSClientConfig: t.TLS(), ForceAttemptHTTP2: true}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL+JoinPath, bytes.NewReader(body))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "read the token's address")
	}
	request.Header.Set("Content-Type", "application/json")
	var data []byte
	err = effect.Do("identity.join.post", func() error {
		response, err := client.Do(request)
		if err != nil {
			return unreachable(err)
		}
		defer response.Body.Close()
		data, err = io.ReadAll(io.LimitReader(response.Body, answerLimit+1))
		if err != nil {
			return fault.Wrap(fault.Unavailable, err, "read the answer")
		}
		if response.StatusCode != http.StatusOK {
			return refused(response.StatusCode, data)
		}
		return nil
	})
	return data, err
}

// unreachable keeps a refusal that was ours, and calls everything else what it
// is: no answer.
func unreachable(err error) error {
	var ours *fault.Error
	if errors.As(err, &ours) {
		return ours
	}
	return fault.Wrap(fault.Unavailable, err, "no answer")
}

// problem is how the API says no.
type problem struct {
	Kind string `json:"kind"`
	Text string `json:"error"`
	Hint string `json:"hint,omitempty"`
}

// refused is the server's no, in its own words where it has any. It was proven
// by the pin, so that its words count.
func refused(status int, data []byte) error {
	p, err := document.Decode[problem]("refusal", data, document.Limits{Bytes: answerLimit, Depth: 2})
	if err != nil || p.Text == "" {
		return fault.New(fault.Unavailable, "the answer is HTTP %d and says nothing more", status)
	}
	kind, _ := fault.ParseKind(p.Kind)
	return &fault.Error{Kind: kind, Text: p.Text, Hint: p.Hint}
}
