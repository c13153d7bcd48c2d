package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"time"

	"noxmesh/internal/fault"
)

// caLife is longer than any mesh: a CA is replaced by a decision, never by a date.
const caLife = 100 * 365 * 24 * time.Hour

const (
	pemCertificate = "CERTIFICATE"
	pemKey         = "PRIVATE KEY"
)

// CA is the mesh's own certificate authority. It proves servers of this mesh to
// programs of this mesh, and nobody else trusts it. It never prints its key.
type CA struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewCA makes one that begins now.
func NewCA(now time.Time) (CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return CA{}, fault.Wrap(fault.Unavailable, err, "make the mesh's CA")
	}
	serial, err := newSerial()
	if err != nil {
		return CA{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "mesh CA " + NewID()},
		NotBefore:             now.UTC().Truncate(time.Second),
		NotAfter:              now.UTC().Truncate(time.Second).Add(caLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return CA{}, fault.Wrap(fault.Broken, err, "make the mesh's CA")
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return CA{}, fault.Wrap(fault.Broken, err, "make the mesh's CA")
	}
	return CA{certificate, key}, nil
}

// Issue makes a server's key and certificate for these host names and IP
// addresses, with the CA's own certificate behind it, which is what a join
// token's fingerprint is compared with. It is valid from the CA's beginning, so
// that a client without a clock can judge it by that moment; now and lifetime
// say until when, for programs that are not the mesh's. It outlives that
// beginning also where now is before it: a controller whose clock went back must
// still be believed.
func (c CA) Issue(names []string, now time.Time, lifetime time.Duration) (tls.Certificate, error) {
	if len(names) == 0 {
		return tls.Certificate{}, fault.New(fault.Invalid, "issue a certificate: no name or address is given")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fault.Wrap(fault.Unavailable, err, "issue a certificate")
	}
	serial, err := newSerial()
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: names[0]},
		NotBefore:             c.certificate.NotBefore,
		NotAfter:              latest(now, c.certificate.NotBefore).Add(lifetime).UTC(),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.certificate, key.Public(), c.key)
	if err != nil {
		return tls.Certificate{}, fault.Wrap(fault.Invalid, err, "issue a certificate for %q", names[0])
	}
	return tls.Certificate{Certificate: [][]byte{der, c.certificate.Raw}, PrivateKey: key}, nil
}

// PEM is the CA's certificate: what every program of the mesh trusts.
func (c CA) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: pemCertificate, Bytes: c.certificate.Raw})
}

// Fingerprint is the SHA-256 of the certificate's DER in hexadecimal digits.
func (c CA) Fingerprint() string { return fingerprint(c.certificate.Raw) }

// Encode is the secret to keep: the certificate and the key in PEM.
func (c CA) Encode() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "encode the mesh's CA")
	}
	return append(c.PEM(), pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: der})...), nil
}

// ParseCA reads what Encode wrote.
func ParseCA(data []byte) (CA, error) {
	first, rest := pem.Decode(data)
	if first == nil || first.Type != pemCertificate {
		return CA{}, fault.New(fault.Invalid, "read the mesh's CA: no certificate stands first")
	}
	second, _ := pem.Decode(rest)
	if second == nil || second.Type != pemKey {
		return CA{}, fault.New(fault.Invalid, "read the mesh's CA: no key stands behind the certificate")
	}
	certificate, err := x509.ParseCertificate(first.Bytes)
	if err != nil {
		return CA{}, fault.Wrap(fault.Invalid, err, "read the mesh's CA")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(second.Bytes)
	if err != nil {
		return CA{}, fault.Wrap(fault.Invalid, err, "read the mesh's CA")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !certificate.IsCA || !key.PublicKey.Equal(certificate.PublicKey) {
		return CA{}, fault.New(fault.Invalid, "read the mesh's CA: the key is not the certificate's")
	}
	return CA{certificate, key}, nil
}

// String names the CA and hides its key.
func (c CA) String() string {
	if c.certificate == nil {
		return "no CA"
	}
	return c.certificate.Subject.CommonName
}

// GoString names the CA and hides its key.
func (c CA) GoString() string { return c.String() }

// LogValue names the CA and hides its key.
func (c CA) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Fingerprint is the SHA-256, in hexadecimal digits, of the one certificate in
// PEM: what a token carries.
func Fingerprint(caPEM []byte) (string, error) {
	block, _ := pem.Decode(caPEM)
	if block == nil || block.Type != pemCertificate {
		return "", fault.New(fault.Invalid, "the mesh's CA is not a certificate in PEM")
	}
	return fingerprint(block.Bytes), nil
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "make a certificate's serial number")
	}
	return serial, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
