package git

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	cannedEnv = "MESH_TEST_CANNED_FORGE"
	cannedID  = "a1b2c3d4e5f60718293a4b5c6d7e8f9001122334"
)

// cannedAt is where the canned forge of the benchmark is.
type cannedAt struct{ Plain, TLS, CA string }

// TestCannedForge is no test: it is the forge of the benchmark, a process of its
// own whose processor time is nobody's, and which answers at once.
func TestCannedForge(t *testing.T) {
	t.Parallel()
	if os.Getenv(cannedEnv) == "" {
		t.Skip("it is started by the benchmark")
	}
	advert, refs := []byte("001e# service=git-upload-pack\n0000"), []byte(nil)
	for _, s := range []string{"version 2\n", "agent=git/2.39\n", "ls-refs=unborn\n", "fetch=shallow wait-for-done\n", "server-option\n", "object-format=sha1\n"} {
		advert = appendPacket(advert, s)
	}
	advert = append(advert, "0000"...)
	refs = append(appendPacket(refs, cannedID+" HEAD symref-target:refs/heads/main\n"), "0000"...)
	h := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		kind, body := "application/x-git-upload-pack-advertisement", advert
		if q.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, q.Body)
			kind, body = "application/x-git-upload-pack-result", refs
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(body)
	})
	plain, tls := httptest.NewServer(h), httptest.NewTLSServer(h)
	defer plain.Close()
	defer tls.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})
	if err := json.NewEncoder(os.Stdout).Encode(cannedAt{plain.URL, tls.URL, string(ca)}); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark is over
}

func startCanned(b *testing.B) (at cannedAt) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestCannedForge$")
	cmd.Env = append(os.Environ(), cannedEnv+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&at); err != nil {
		b.Fatal(err)
	}
	return at
}

func spent(who int) time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(who, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// looker is one way to ask where a ref stands, and whose processor time that is.
type looker struct {
	name string
	many int
	look func() error
}

// BenchmarkLook is an unchanged look at a forge that answers at once: beside the
// limit, which is a question made before and an answer read to its end over one
// connection, and beside git ls-remote; all in turns, the best counts.
func BenchmarkLook(b *testing.B) {
	at := startCanned(b)
	ca := filepath.Join(b.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte(at.CA), 0o600); err != nil {
		b.Fatal(err)
	}
	g, err := New(Config{Home: b.TempDir(), CAFile: ca})
	if err != nil {
		b.Fatal(err)
	}
	slow, err := New(Config{Home: b.TempDir(), CAFile: ca})
	if err != nil {
		b.Fatal(err)
	}
	slow.web = nil
	ask := func(g *Git, url string) func() error {
		return func() error {
			found, err := g.Look(b.Context(), Place{URL: url + "/o/r.git"}, Known{Commit: cannedID})
			if err == nil && !found.Unchanged {
				err = fmt.Errorf("%+v", found)
			}
			return err
		}
	}
	best := compare(b, []looker{
		{"limit", 2000, rawQuestion(b, at.Plain)},
		{"http", 2000, ask(g, at.Plain)},
		{"https", 2000, ask(g, at.TLS)},
		{"git-ls-remote-http", 20, ask(slow, at.Plain)},
		{"git-ls-remote-https", 20, ask(slow, at.TLS)},
	})
	for i := 1; i <= 2; i++ {
		if best[i] > best[i+2]/40 || best[i] > 250*time.Microsecond {
			b.Errorf("a look costs %s of processor time, and git ls-remote %s: the goals are a fortieth, and 0.25 ms", best[i], best[i+2])
		}
	}
}

func compare(b *testing.B, all []looker) []time.Duration {
	b.Helper()
	const turns = 5
	best := make([]time.Duration, len(all))
	for range turns {
		for i, l := range all {
			before := spent(syscall.RUSAGE_SELF) + spent(syscall.RUSAGE_CHILDREN)
			for range l.many {
				if err := l.look(); err != nil {
					b.Fatalf("%s: %v", l.name, err)
				}
			}
			each := (spent(syscall.RUSAGE_SELF) + spent(syscall.RUSAGE_CHILDREN) - before) / time.Duration(l.many)
			if best[i] == 0 || each < best[i] {
				best[i] = each
			}
		}
	}
	for i, l := range all {
		b.Run(l.name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(best[i].Nanoseconds())/1e6, "cpu-ms/look")
			b.ReportMetric(float64(best[i])/float64(best[0]), "cpu-x-limit")
		})
	}
	return best
}

// rawQuestion asks over one connection with bytes that were made before.
func rawQuestion(b *testing.B, url string) func() error {
	b.Helper()
	host := strings.TrimPrefix(url, "http://")
	conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", host)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	body := advertised{format: "sha1", agent: true, unborn: true}.question([]string{"HEAD"})
	request := fmt.Appendf(nil, "POST /o/r.git/git-upload-pack HTTP/1.1\r\nHost: %s\r\nGit-Protocol: version=2\r\n"+
		"Content-Type: application/x-git-upload-pack-request\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
	buf := make([]byte, 4096)
	return func() error {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		for n := 0; ; {
			m, err := conn.Read(buf[n:])
			if err != nil {
				return err
			}
			if n += m; bytes.HasSuffix(buf[:n], []byte("refs/heads/main\n0000")) {
				return nil
			}
		}
	}
}
