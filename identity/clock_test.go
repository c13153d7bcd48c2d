package identity

import (
	"crypto/tls"
	"net"
	"testing"
	"time"
)

// TestNoClockShutsTheMesh: whenever the CA was made, whenever a certificate was
// issued, a program of the mesh believes it: trust is the pinned CA.
func TestNoClockShutsTheMesh(t *testing.T) {
	t.Parallel()
	for _, made := range []int{1970, 2026, 2100} {
		for _, issued := range []int{1970, 2026, 2100} {
			ca, err := NewCA(time.Date(made, 1, 1, 0, 0, 0, 0, time.UTC))
			if err != nil {
				t.Fatal(err)
			}
			certificate, err := ca.Issue([]string{"127.0.0.1"}, time.Date(issued, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			joined, err := ClientTLS(ca.PEM())
			if err != nil {
				t.Fatal(err)
			}
			joined.ServerName = "127.0.0.1"
			for name, c := range map[string]*tls.Config{"joined": joined, "with a token": PinnedTLS(ca.Fingerprint(), "127.0.0.1")} {
				if err := shake(certificate, c); err != nil {
					t.Errorf("CA of %d, certificate of %d, %s: %v", made, issued, name, err)
				}
			}
		}
	}
}

func shake(certificate tls.Certificate, c *tls.Config) error {
	server, client := net.Pipe()
	defer server.Close()
	defer client.Close()
	s := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13})
	go func() { _ = s.Handshake() }() // the client says what is wrong
	return tls.Client(client, c).Handshake()
}
