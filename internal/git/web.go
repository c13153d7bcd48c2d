package git

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"noxmesh/internal/clock"
	"noxmesh/internal/fault"
	"noxmesh/internal/intime"
	"noxmesh/internal/manners"
)

// web asks one question of forges over http and https, where a ref stands, in
// the second version of git's protocol and over connections that stay. It sends
// nobody's credentials, follows no redirect but that of a repository that has
// moved, and what it does not understand it leaves to git.
type web struct {
	allow  Allow
	caFile string
	limit  time.Duration
	held   func(host string, alone time.Duration, now time.Time) // a forge wants to be left alone

	mu     sync.Mutex // guards what follows
	trip   *intime.Transport
	ca     os.FileInfo           // the file that trip was made with
	spoken map[string]advertised // by address: what its server can do
	until  map[string]time.Time  // by address: how long that is believed, or git is asked instead
}

const (
	// believed is how long what a server can do is remembered, and gitsTurn for how
	// long git is asked where this client has not understood the answer.
	believed, gitsTurn = time.Hour, 10 * time.Minute

	// asking is how long one question may take: the answer is one line.
	asking = 30 * time.Second

	// perHost is how many connections one forge gets, and how many looks at it are
	// under way.
	perHost = 4

	// maxRemembered bounds what is remembered: a mesh has fewer repositories.
	maxRemembered = 100_000

	maxRedirects = 5
)

func newWeb(cfg Config, held func(string, time.Duration, time.Time)) *web {
	return &web{
		allow: cfg.Allow, caFile: cfg.CAFile, limit: min(cfg.Limit, asking), held: held,
		spoken: map[string]advertised{}, until: map[string]time.Time{},
	}
}

// list is Git.list. An oddAnswer says that git must be asked.
func (w *web) list(ctx context.Context, address string, names ...string) (refs map[string]string, symref string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.limit, errLimit)
	defer cancel()
	trip, err := w.transport()
	if err != nil {
		return nil, "", err
	}
	a, known, git := w.recall(address)
	if git {
		return nil, "", odd("its forge is odd")
	}
	if known {
		refs, symref, err = w.refs(ctx, trip, a, names)
		if err == nil || !again(err) {
			return refs, symref, w.worded(ctx, address, err)
		}
	}
	if a, err = w.advertisement(ctx, trip, address); err == nil {
		refs, symref, err = w.refs(ctx, trip, a, names)
	}
	w.remember(address, a, err)
	return refs, symref, w.worded(ctx, address, err)
}

// again reports whether a server may have changed since it said what it can do:
// it has refused what was asked, and neither its health nor the way is the reason.
func again(err error) bool {
	var s refusal
	var o oddAnswer
	return errors.As(err, &o) || errors.As(err, &s) && s.code < 500 && s.code != http.StatusTooManyRequests && s.retry == 0
}

func (w *web) recall(address string) (a advertised, known, git bool) {
	now := clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !now.Before(w.until[address]) {
		return a, false, false
	}
	a, known = w.spoken[address]
	return a, known, !known
}

func (w *web) remember(address string, a advertised, err error) {
	now := clock.Now()
	var o oddAnswer
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.until) >= maxRemembered {
		clear(w.until)
		clear(w.spoken)
	}
	delete(w.spoken, address)
	delete(w.until, address)
	switch {
	case err == nil:
		w.spoken[address], w.until[address] = a, now.Add(believed)
	case errors.As(err, &o):
		w.until[address] = now.Add(gitsTurn)
	}
}

// transport is the shared connections, made anew where the file of certificates
// is another one.
func (w *web) transport() (*intime.Transport, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var now os.FileInfo
	if w.caFile != "" {
		var err error
		if now, err = os.Stat(w.caFile); err != nil {
			return nil, odd("its certificates are not there")
		}
	}
	if w.trip != nil && (now == nil || os.SameFile(now, w.ca) && now.ModTime().Equal(w.ca.ModTime()) && now.Size() == w.ca.Size()) {
		return w.trip, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if w.caFile != "" {
		text, err := os.ReadFile(w.caFile)
		if cfg.RootCAs = x509.NewCertPool(); err != nil || !cfg.RootCAs.AppendCertsFromPEM(text) {
			return nil, odd("its certificates cannot be read")
		}
	}
	if w.trip != nil {
		w.trip.CloseIdleConnections()
	}
	w.ca = now
	w.trip = &intime.Transport{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSClientConfig:     cfg,
		TLSHandshakeTimeout: 15 * time.Second,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // one question, one answer: HTTP/1.1 is cheaper
		DisableCompression:  true,
		MaxIdleConns:        1024, MaxIdleConnsPerHost: perHost, MaxConnsPerHost: perHost,
		IdleConnTimeout:        5 * time.Minute, // longer than from one look to the next
		MaxResponseHeaderBytes: 64 << 10,
	}}
	return w.trip, nil
}

// refs asks a server, of which it is known what it can do, for refs.
func (w *web) refs(ctx context.Context, trip *intime.Transport, a advertised, names []string) (refs map[string]string, symref string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, joined(a.base, "git-upload-pack"), bytes.NewReader(a.question(names)))
	if err != nil {
		return nil, "", odd("its address is odd")
	}
	r.Header["Content-Type"] = []string{"application/x-git-upload-pack-request"}
	r.Header["Accept"] = []string{"application/x-git-upload-pack-result"}
	// A question may be asked twice where a connection was closed meanwhile. That it
	// may be is not told to the forge.
	r.Header["Idempotency-Key"] = nil
	err = w.call(trip, r, "application/x-git-upload-pack-result", func(p *packets) (err error) {
		refs, symref, err = a.refs(p, names)
		return err
	})
	return refs, symref, err
}

// advertisement asks what a server can do, and follows a repository that has
// moved from one https address to another, as git does.
func (w *web) advertisement(ctx context.Context, trip *intime.Transport, address string) (a advertised, err error) {
	base := address
	for range maxRedirects {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, joined(base, service), nil)
		if err != nil {
			return a, odd("its address is odd")
		}
		err = w.call(trip, r, "application/x-git-upload-pack-advertisement", func(p *packets) (err error) {
			a, err = parseAdvertised(p)
			return err
		})
		var s refusal
		if !errors.As(err, &s) || s.to == "" || !strings.HasPrefix(base, "https://") {
			a.base = base
			return a, err
		}
		if base, err = w.moved(base, s.to); err != nil {
			return a, err
		}
	}
	return a, odd("it is moved from one address to the next")
}

const service = "info/refs?service=git-upload-pack"

// joined is an address below a repository's.
func joined(base, what string) string { return strings.TrimSuffix(base, "/") + "/" + what }

// moved is the repository's address after a redirect: one that might have been
// given in the first place, and over https.
func (w *web) moved(from, to string) (string, error) {
	was, err := url.Parse(joined(from, service))
	if err != nil {
		return "", odd("its address is odd")
	}
	u, err := was.Parse(to)
	if err != nil {
		return "", odd("it is moved to no address")
	}
	base, ok := strings.CutSuffix(u.String(), "/"+service)
	if protocol, err := parseURL(base, w.allow); !ok || err != nil || protocol != "https" {
		return "", odd("it is moved to where no repository may be")
	}
	return base, nil
}

// call sends a request and lets read have the answer, where it is one of that kind.
func (w *web) call(trip *intime.Transport, r *http.Request, kind string, read func(*packets) error) error {
	r.Header["User-Agent"] = []string{"git/2.39 (mesh)"} // forges tell git from people by it
	r.Header["Git-Protocol"] = []string{"version=2"}
	answer, err := trip.RoundTrip(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode/100 == 2 {
		return odd("its answer is not git's")
	}
	if answer.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, answer.Body, 4<<10) // so that the connection is of use again
		s := refusal{code: answer.StatusCode}
		if s.asksToWait() {
			s.retry = manners.RetryAfter(answer.Header.Get("Retry-After"), clock.Now())
		}
		if s.code >= 300 && s.code < 400 {
			s.to = answer.Header.Get("Location")
		}
		return s
	}
	if got, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";"); got != kind {
		return odd("its answer is not git's")
	}
	return read(readPackets(answer.Body))
}

// refusal is an answer that is none.
type refusal struct {
	code  int
	to    string        // where it sends whoever asks
	retry time.Duration // how long it wants to be left alone
}

func (s refusal) Error() string {
	return "its forge returned error: " + strconv.Itoa(s.code) + " " + http.StatusText(s.code)
}

// asksToWait reports whether it is about how often is asked, or the forge's health.
func (s refusal) asksToWait() bool {
	return s.code >= 500 || s.code == http.StatusTooManyRequests || s.code == http.StatusForbidden
}

// worded is err as the mesh says it, with the kinds and causes of what git says.
// A forge that wants to be left alone is.
func (w *web) worded(ctx context.Context, address string, err error) error {
	var o oddAnswer
	if err == nil || errors.As(err, &o) {
		return err
	}
	var s refusal
	var noName *net.DNSError
	var badCert *tls.CertificateVerificationError
	m := said{kind: fault.Unavailable}
	text := "could not connect: " + err.Error()
	switch {
	case ctx.Err() != nil:
		return classify(ctx, err, nil, w.limit)
	case errors.As(err, &s):
		text = s.Error()
		m, _ = meaning([]byte(text))
	case errors.As(err, &noName):
		text = "could not resolve host " + noName.Name
	case errors.As(err, &badCert):
		text = "certificate: " + badCert.Err.Error()
		m, _ = meaning([]byte(text))
	}
	if m.kind == fault.Unknown || s.retry > 0 {
		m = said{kind: fault.Unavailable}
	}
	if s.retry > 0 {
		w.held(hostOf(address), s.retry, clock.Now())
		m.hint = "it wants to be left alone for " + s.retry.String()
	}
	e := fault.New(m.kind, "%s", lastLines([]byte(text)))
	if m.cause != nil {
		e = fault.Wrap(m.kind, m.cause, "%s", e.Text)
	}
	e.Hint = m.hint
	return e
}
