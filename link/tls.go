package link

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"time"

	"noxmesh/internal/fault"
)

// ClientTLS is how every program of the mesh dials another: TLS 1.3, the server
// proven by the mesh's own CA and by nothing else.
//
// Certificates are judged at the moment the CA began, not by this machine's
// clock: trust here is the pinned CA, and a machine whose clock stands at 1970
// or ten years ahead must still be able to say so. Every certificate of the
// mesh's CA is valid from that moment on. To take a certificate out of use, the
// CA is replaced.
func ClientTLS(caPEM []byte) (*tls.Config, error) {
	block, rest := pem.Decode(caPEM)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, fault.New(fault.Invalid, "the mesh's CA is not a certificate in PEM")
	}
	if another, _ := pem.Decode(rest); another != nil {
		return nil, fault.New(fault.Invalid, "the mesh's CA has more than one certificate; exactly one is trusted")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "read the mesh's CA")
	}
	if !ca.IsCA {
		return nil, fault.New(fault.Invalid, "the mesh's CA is a certificate that may not sign others")
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		RootCAs:    roots,
		Time:       func() time.Time { return ca.NotBefore },
	}, nil
}
