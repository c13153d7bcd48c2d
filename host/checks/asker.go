package checks

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/intime"
)

const (
	headerMost = 64 << 10        // bytes that are read of an answer: its status and its headers
	tryLimit   = 5 * time.Second // for one question
	again      = time.Second / 2 // between two of them
)

const notOfThis = "is not of this machine"

// Asker asks this machine, and what else its operator lets it ask.
type Asker struct{ reach []netip.Prefix }

// New asks loopback and these.
func New(reach []netip.Prefix) Asker { return Asker{reach} }

// may refuses what is neither of this machine nor named by its operator.
func (a Asker) may(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fault.New(fault.Denied, "%q is no address", address)
	}
	ip := to.Addr().Unmap().WithZone("")
	if ip.IsLoopback() {
		return nil
	}
	for _, p := range a.reach {
		if p.Contains(ip) {
			return nil
		}
	}
	return fault.New(fault.Denied, "%s %s", ip, notOfThis).With("mesh-host run --reach %s lets checks ask it, if that is meant", ip)
}

// dialer connects to what may be asked, and resolves names by who may be asked.
func (a Asker) dialer() *net.Dialer {
	control := func(_, address string, _ syscall.RawConn) error { return a.may(address) }
	resolver := &net.Resolver{PreferGo: true, Dial: (&net.Dialer{Control: control}).DialContext}
	return &net.Dialer{Control: control, Resolver: resolver, KeepAlive: -1}
}

// HTTP is the status with which a GET is answered.
func (a Asker) HTTP(ctx context.Context, url string) (int, error) {
	transport := intime.Transport{Transport: &http.Transport{
		DialContext: a.dialer().DialContext, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: headerMost,
	}}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, fault.New(fault.Invalid, "%q is no address of HTTP", url)
	}
	req.Header.Set("User-Agent", "mesh-host")
	resp, err := client.Do(req)
	if err != nil {
		return 0, why(err)
	}
	_ = resp.Body.Close() // nothing of it is read
	return resp.StatusCode, nil
}

// TCP is nil where a connection is taken.
func (a Asker) TCP(ctx context.Context, address string) error {
	conn, err := a.dialer().DialContext(ctx, "tcp", address)
	if err != nil {
		return why(err)
	}
	_ = conn.Close() // nothing is said
	return nil
}

// DNS is nil where the machine's own name service knows an address of this name.
func (a Asker) DNS(ctx context.Context, name string) error {
	found, err := a.dialer().Resolver.LookupHost(ctx, name)
	if err != nil {
		return why(err)
	}
	if len(found) == 0 {
		return fault.New(fault.Conflict, "it has no address")
	}
	return nil
}

// why is what stood against an answer, without a word of who was asked.
func why(err error) error {
	var said *fault.Error
	if errors.As(err, &said) {
		return said
	}
	var name *net.DNSError
	if errors.As(err, &name) {
		return unnamed(name)
	}
	var timeout interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return fault.New(fault.Conflict, "no answer within %s", tryLimit)
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		return fault.New(fault.Conflict, "%s", no)
	}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return fault.New(fault.Conflict, "its certificate is not one that this machine trusts for that name now")
	}
	return fault.New(fault.Conflict, "what came is no answer of that kind")
}

// unnamed is why a name has no address. What the resolver was refused itself it keeps
// as words alone.
func unnamed(err *net.DNSError) error {
	switch {
	case strings.Contains(err.Err, notOfThis):
		return fault.New(fault.Denied, "the name service of this machine is on another one").With("mesh-host run --reach with its address lets checks ask it, if that is meant")
	case err.IsTimeout:
		return fault.New(fault.Conflict, "the name service of this machine does not answer")
	case err.IsNotFound:
		return fault.New(fault.Conflict, "no such host")
	}
	return fault.New(fault.Conflict, "the name service of this machine has no answer")
}

// Until asks until there is an answer that is right, or for so long. What is returned
// is what came last; a question for which there was no more time does not count.
func Until(ctx context.Context, patience time.Duration, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var before error
	for {
		one, end := context.WithTimeout(ctx, min(tryLimit, patience))
		err := ask(one)
		end()
		if err != nil && before != nil && ctx.Err() != nil {
			return before
		}
		before = err
		if err == nil || fault.KindOf(err) == fault.Denied || fault.KindOf(err) == fault.Invalid {
			return err
		}
		wait := time.NewTimer(again)
		select {
		case <-ctx.Done():
			wait.Stop()
			return err
		case <-wait.C:
		}
	}
}
