package api

import (
	"bytes"
	"io"
	"net/http"
)

// OverHandler is a client of the controller whose API this is, with nothing in between.
func OverHandler(h http.Handler) *Client {
	return &Client{http: &http.Client{Transport: direct{h}}, base: "http://controller", where: "this process"}
}

// direct is a transport that is the server's own process.
type direct struct{ handler http.Handler }

// RoundTrip answers a request.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.Body == nil {
		r.Body = http.NoBody
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	d.handler.ServeHTTP(a, r)
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Header: a.header, Request: r,
		ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()),
	}, nil
}

type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is http.ResponseWriter's.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader is http.ResponseWriter's.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write is http.ResponseWriter's.
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
