package checks

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/internal/fault"
)

const secret = "s3cr3t"

// server answers each path with the status that it is.
func server(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Secret", secret)
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "http://192.0.2.7/"+secret, http.StatusFound)
		case "/broken":
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, secret)
		case "/endless":
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, strings.Repeat(secret, 1000))
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// banner takes connections, and writes this to each, once it was asked something: who
// closes what was not read takes back what it has said.
func banner(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func TestWhatCameIsAStatusAndNothingElse(t *testing.T) {
	t.Parallel()
	url := server(t)
	a := New(nil)
	for path, want := range map[string]int{"/": 200, "/moved": 302, "/broken": 503, "/endless": 200} {
		if got, err := a.HTTP(t.Context(), url+path); got != want || err != nil {
			t.Errorf("%s: %d, %v", path, got, err)
		}
	}
	shut := banner(t, "")
	for _, c := range []struct{ at, want string }{
		{banner(t, "SSH-2.0 "+secret+"\r\n"), "what came is no answer of that kind"},
		{banner(t, "HTTP/1.1 200 "+secret+"\r\n"+strings.Repeat("X: "+secret+"\r\n", 20_000)+"\r\n"), "what came is no answer of that kind"},
		{shut, "what came is no answer of that kind"},
	} {
		if _, err := a.HTTP(t.Context(), "http://"+c.at); err == nil || err.Error() != c.want {
			t.Errorf("%v", err)
		}
	}
	if err := a.TCP(t.Context(), shut); err != nil {
		t.Error(err)
	}
	if err := a.DNS(t.Context(), "127.0.0.1"); err != nil {
		t.Error(err)
	}
}

func TestAnUntrustedCertificateIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := New(nil).HTTP(t.Context(), s.URL)
	if err == nil || !strings.HasPrefix(err.Error(), "its certificate is not one that this machine trusts") {
		t.Error(err)
	}
}

func TestNobodyElseIsAsked(t *testing.T) {
	t.Parallel()
	a := New([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("2001:db8::/32")})
	for address, may := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true, "10.1.2.3:1": true, "[::ffff:10.1.2.3]:1": true, "[2001:db8::1]:1": true,
		"10.2.0.1:1": false, "0.0.0.0:1": false, "[::]:1": false, "169.254.169.254:80": false, "[fe80::1%lo]:1": false, "[::ffff:192.0.2.7]:1": false, "[2001:db9::1]:1": false, "x": false,
	} {
		if err := a.may(address); (err == nil) != may || err != nil && fault.KindOf(err) != fault.Denied {
			t.Errorf("%s: %v", address, err)
		}
	}
	const want = "192.0.2.7 is not of this machine"
	if _, err := a.HTTP(t.Context(), "http://192.0.2.7/"); err == nil || err.Error() != want || !strings.Contains(fault.HintOf(err), "--reach 192.0.2.7") {
		t.Error(err)
	}
	if err := a.TCP(t.Context(), "192.0.2.7:1"); err == nil || err.Error() != want || fault.KindOf(err) != fault.Denied {
		t.Error(err)
	}
}

func TestUntilThereIsAnAnswer(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for _, c := range []struct {
		name  string
		after int // questions are answered with no
		first error
		err   error
		took  time.Duration
	}{
		{name: "at once"},
		{name: "after some", after: 3, first: no, took: 3 * again},
		{name: "never", after: 1000, first: no, err: no, took: tryLimit},
		{name: "who may not ask does not ask again", after: 1000, first: fault.New(fault.Denied, "no"), err: fault.New(fault.Denied, "no")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, n := time.Now(), 0
				err := Until(t.Context(), tryLimit, func(context.Context) error {
					if n++; n <= c.after {
						return c.first
					}
					return nil
				})
				if took := time.Since(began); took != c.took || (err == nil) != (c.err == nil) || err != nil && err.Error() != c.err.Error() {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
	t.Run("what was cut short is not what came", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			n := 0
			err := Until(t.Context(), tryLimit, func(ctx context.Context) error {
				if n++; n == 1 {
					return no
				}
				<-ctx.Done()
				return why(ctx.Err())
			})
			if !errors.Is(err, no) || n != 2 {
				t.Errorf("%v after %d", err, n)
			}
		})
	})
	t.Run("what does not answer is asked no longer than that", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			err := Until(t.Context(), 30*time.Second, func(ctx context.Context) error { <-ctx.Done(); return why(ctx.Err()) })
			if took := time.Since(began); took != 30*time.Second || err == nil || err.Error() != "no answer within 5s" {
				t.Errorf("%v after %s", err, took)
			}
		})
	})
}
