package oci

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/intime"
)

// Transport is how a registry is reached: whom to believe, nil for the machine's
// certificates, and how long an answer may take to begin.
func Transport(believe *tls.Config, patience time.Duration) intime.Transport {
	return intime.Transport{Transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSClientConfig:       believe,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: patience,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   8,
		DisableCompression:    true, // a digest is over the bytes as they are
		ForceAttemptHTTP2:     true,
	}}
}

// OtherTransport is how somebody else's registry is reached: by the machine's proxy,
// where it has one, and with no more headers than a registry has need of.
func OtherTransport(believe *tls.Config, patience time.Duration) intime.Transport {
	t := Transport(believe, patience)
	t.Proxy, t.MaxResponseHeaderBytes = http.ProxyFromEnvironment, 64<<10
	return t
}

// Loopback reports whether a host's name is this machine's own, which may be asked without TLS.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Unreachable is an error of the way to a registry: Unavailable, and why, without the
// address that was asked.
func Unreachable(ctx context.Context, registry string, err error) error {
	if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
		err = cause
	}
	var u *url.Error // says the whole address again, with what the registry sent us to
	if errors.As(err, &u) {
		err = u.Err
	}
	return fault.Wrap(fault.Unavailable, err, "registry %q", registry)
}
