package intime

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// Transport is how a question goes out. What comes when its context has ended is
// an error, and so is the end of a body then: the error is the context's cause.
type Transport struct{ *http.Transport }

// RoundTrip asks, and gives what was answered while somebody still asked.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return inTime(r, t.Transport.RoundTrip)
}

func inTime(r *http.Request, ask func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	response, err := ask(r)
	if err != nil {
		return nil, err
	}
	if late := context.Cause(r.Context()); late != nil {
		response.Body.Close()
		return nil, late
	}
	response.Body = &body{response.Body, r.Context()}
	return response, nil
}

// body ends well only while somebody waits for it.
type body struct {
	io.ReadCloser
	asked context.Context //nolint:containedctx // of the question that this is the answer to
}

// Read reads on.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		if late := context.Cause(b.asked); late != nil {
			err = late
		}
	}
	return n, err
}
