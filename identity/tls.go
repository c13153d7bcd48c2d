package identity

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/link"
)

// ClientTLS is how a program that has joined dials the mesh: see link.ClientTLS.
func ClientTLS(caPEM []byte) (*tls.Config, error) { return link.ClientTLS(caPEM) }

// PinnedTLS is how a program that has only a token dials the mesh: the server
// must show the CA with this fingerprint, and a certificate of it for host,
// before anything is sent. As everywhere in the mesh, this machine's clock has
// no part in it.
func PinnedTLS(fingerprint, host string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		ServerName: host,
		// The chain is verified below, by a stricter rule than the system's roots.
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection decides
		VerifyConnection:   func(s tls.ConnectionState) error { return verifyPinned(s, fingerprint, host) },
	}
}

// TLS is how the holder of this login dials the mesh.
func (l Login) TLS() *tls.Config { return PinnedTLS(l.CA, hostOf(l.URL)) }

// TLS is how the holder of this token dials the mesh.
func (t Token) TLS() *tls.Config { return PinnedTLS(t.CA, hostOf(t.URL)) }

// hostOf is the host in an address, or "", for which no certificate is valid.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func verifyPinned(s tls.ConnectionState, pin, host string) error {
	for _, c := range s.PeerCertificates[1:] {
		if fingerprint(c.Raw) == pin && c.IsCA {
			return verifyAgainst(s.PeerCertificates[0], c, host)
		}
	}
	return fault.New(fault.Denied, "%q is not the mesh that the token is for: it shows another CA", host).
		With("make a new token, and check the address in it; nothing secret was sent")
}

func verifyAgainst(leaf, ca *x509.Certificate, host string) error {
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:         roots,
		CurrentTime:   momentOf(ca),
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		Intermediates: x509.NewCertPool(),
	})
	if err == nil {
		err = leaf.VerifyHostname(host) // also refuses "", which Verify would take for no question
	}
	if err != nil {
		return fault.Wrap(fault.Denied, err, "the mesh's certificate at %q", host)
	}
	return nil
}

func momentOf(ca *x509.Certificate) time.Time { return ca.NotBefore }
