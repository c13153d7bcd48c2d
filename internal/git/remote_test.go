package git

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"noxmesh/internal/fault"
	"noxmesh/internal/git/gitserve"
)

// TestAForgeThatGivesNoCommitByItsID speaks the old protocol, in which only what
// a ref names may be asked for.
func TestAForgeThatGivesNoCommitByItsID(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("site", map[string]string{"a": "1"})
		first := r.git("rev-parse", "HEAD")
		r.git("branch", "other")
		second := r.commit("second", map[string]string{"a": "2"})
		r.git("checkout", "-q", "--orphan", "elsewhere")
		r.commit("elsewhere", map[string]string{"a": "3"})
		h := gitserve.Handler(f.root)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			q.Header.Del("Git-Protocol")
			h.ServeHTTP(w, q)
		}))
		defer srv.Close()
		url := srv.URL + "/site/.git"
		r.git("branch", "-D", "other") // now only main's history holds the first
		for _, commit := range []string{second, first} {
			if _, err := g.Checkout(t.Context(), Order{URL: url, Commit: commit, Ref: "refs/heads/main"}, filepath.Join(t.TempDir(), "w")); err != nil {
				t.Fatalf("%s: %v", commit, err)
			}
		}
		for _, ref := range []string{"refs/heads/elsewhere", first} {
			if _, err := g.Checkout(t.Context(), Order{URL: url, Commit: first, Ref: ref}, filepath.Join(t.TempDir(), "w")); !errors.Is(err, NoCommit) {
				t.Fatalf("found through %s: %v", ref, err)
			}
		}
		if _, err := g.Checkout(t.Context(), Order{URL: url, Commit: first}, filepath.Join(t.TempDir(), "w")); fault.KindOf(err) != fault.Invalid {
			t.Fatalf("without a ref: %v", err)
		}
	})
}

// TestWhatForgesSay: every way of not answering is the right kind, and none is
// taken for an empty repository.
func TestWhatForgesSay(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		g := newGit(t, nil)
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect over http was followed") }))
		defer other.Close()
		cases := []struct {
			name   string
			answer func(http.ResponseWriter, *http.Request)
			kind   fault.Kind
			cause  error
		}{
			{"404", status(404, "no"), fault.NotFound, NoRepository},
			{"401", status(401, "who?"), fault.Denied, nil},
			{"403", status(403, "no"), fault.Denied, nil},
			{"429", status(429, "slow down"), fault.Unavailable, nil},
			{"500", status(500, "oops"), fault.Unavailable, nil},
			{"503 not found", status(503, "repository not found"), fault.Unavailable, nil},
			{"a page", status(200, "<html>welcome</html>"), fault.Unavailable, nil},
			{"nothing", status(200, ""), fault.Unavailable, nil},
			{"redirect", http.RedirectHandler(other.URL+"/x", http.StatusMovedPermanently).ServeHTTP, fault.Unavailable, nil},
			{"cut off", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
				w.Header().Set("Content-Length", "1000")
				fmt.Fprint(w, "001e# service=git-upload-pack\n0000")
			}, fault.Unavailable, nil},
			{"escapes", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
				fmt.Fprint(w, "001e# service=git-upload-pack\n0000001eERR \x1b[2Jowned\x1b]0;x\a\n")
			}, fault.Unavailable, nil},
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				srv := httptest.NewServer(http.HandlerFunc(c.answer))
				defer srv.Close()
				_, err := g.LsRemote(t.Context(), srv.URL+"/r.git", "")
				if fault.KindOf(err) != c.kind || (c.cause != nil && !errors.Is(err, c.cause)) || errors.Is(err, Empty) {
					t.Fatalf("kind %v: %v", fault.KindOf(err), err)
				}
				if strings.ContainsAny(err.Error(), "\x1b\a\n") {
					t.Fatalf("%q", err)
				}
			})
		}
	})
}

func status(code int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

func TestHTTPSNeedsACertificateThatIsBelieved(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f := newForge(t)
		r := f.repo("site", map[string]string{"module.json": "{}"})
		head := r.git("rev-parse", "HEAD")
		plain := httptest.NewServer(gitserve.Handler(f.root))
		defer plain.Close()
		h := gitserve.Handler(f.root)
		srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			switch {
			case strings.HasPrefix(q.URL.Path, "/renamed/"):
				http.Redirect(w, q, "/site/"+strings.TrimPrefix(q.URL.RequestURI(), "/renamed/"), http.StatusMovedPermanently)
			case strings.HasPrefix(q.URL.Path, "/plain/"):
				http.Redirect(w, q, plain.URL+"/site/"+strings.TrimPrefix(q.URL.RequestURI(), "/plain/"), http.StatusMovedPermanently)
			default:
				h.ServeHTTP(w, q)
			}
		}))
		defer srv.Close()
		ca := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		g := newGit(t, func(c *Config) { c.CAFile = ca })
		for _, name := range []string{"site", "renamed"} {
			if found, err := g.Look(t.Context(), Place{URL: srv.URL + "/" + name + "/.git"}, Known{}); err != nil || found.Commit != head {
				t.Fatalf("%s: %+v %v", name, found, err)
			}
		}
		if _, err := g.LsRemote(t.Context(), srv.URL+"/plain/.git", ""); err == nil {
			t.Fatal("https was left for http")
		}
		_, err := newGit(t, nil).LsRemote(t.Context(), srv.URL+"/site/.git", "")
		if fault.KindOf(err) != fault.Unavailable || fault.HintOf(err) == "" {
			t.Fatalf("an unknown certificate: %v", err)
		}
	})
}

// fake is a git that is a script.
func fake(t *testing.T, script string) *Git {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(bin, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return onlyGit(t, func(c *Config) { c.Binary, c.Limit = bin, 30*time.Second })
}

func TestStoppingEndsAllThatGitStarted(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	g := fake(t, "sleep 1000 & echo $$ $! > "+pids+".new; mv "+pids+".new "+pids+"; wait")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := g.LsRemote(ctx, "https://example.org/r", "")
		done <- err
	}()
	var started []string
	await(t, func() bool {
		b, err := os.ReadFile(pids)
		started = strings.Fields(string(b))
		return err == nil
	})
	cancel()
	if err := <-done; fault.KindOf(err) != fault.Unavailable || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	for _, s := range started {
		pid, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		await(t, func() bool { return gone(pid) })
	}
}

// gone reports whether a process has ended, or only waits to be collected by an
// init that takes its time.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(b), ") Z ")
}

func await(t *testing.T, fact func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if fact() {
			return
		}
	}
	t.Fatal("it did not come to be in a minute")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	_, err := fake(t, "exec yes").LsRemote(t.Context(), "https://example.org/r", "")
	if !errors.Is(err, TooBig) || fault.KindOf(err) != fault.Invalid {
		t.Errorf("output without end: %v", err)
	}
	g := fake(t, "exec sleep 1000")
	g.cfg.Limit = 50 * time.Millisecond
	if _, err := g.LsRemote(t.Context(), "https://example.org/r", ""); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "longer than 50ms") {
		t.Errorf("no end: %v", err)
	}
	_, err = fake(t, "i=0; while [ $i -lt 20000 ]; do echo chatter chatter chatter >&2; i=$((i+1)); done; echo the last word >&2; exit 1").
		LsRemote(t.Context(), "https://example.org/r", "")
	if err == nil || !strings.Contains(err.Error(), "the last word") || len(err.Error()) > 1000 {
		t.Errorf("much to say: %v", err)
	}
}

func TestAForgeThatNeverAnswers(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		release := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
		defer srv.Close()
		defer close(release)
		g := newGit(t, func(c *Config) { c.Limit = 200 * time.Millisecond })
		if _, err := g.LsRemote(t.Context(), srv.URL+"/r.git", ""); fault.KindOf(err) != fault.Unavailable {
			t.Fatalf("%v", err)
		}
	})
}

// TestHistoryIsRewritten is X3 on a real repository.
func TestHistoryIsRewritten(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, newGit maker) {
		f, g := newForge(t), newGit(t, nil)
		r := f.repo("site", map[string]string{"module.json": `{"a":1}`})
		first, err := g.Look(t.Context(), Place{URL: r.url}, Known{})
		if err != nil {
			t.Fatal(err)
		}
		r.git("checkout", "-q", "--orphan", "new")
		pushed := r.commit("over", map[string]string{"module.json": `{"a":2}`})
		r.git("branch", "-M", "new", "main")
		found, err := g.Look(t.Context(), Place{URL: r.url}, Known{Commit: first.Commit})
		if err != nil || found.Commit != pushed || found.Unchanged {
			t.Fatalf("force-push: %+v %v", found, err)
		}
		r.git("branch", "-m", "main", "trunk")
		if found, err = g.Look(t.Context(), Place{URL: r.url}, Known{Commit: pushed}); err != nil || found.Ref != "refs/heads/trunk" || !found.Unchanged {
			t.Fatalf("renamed: %+v %v", found, err)
		}
		if _, err = g.Look(t.Context(), Place{URL: r.url, Ref: "refs/heads/main"}, Known{Commit: pushed}); !errors.Is(err, NoRef) {
			t.Fatalf("deleted: %v", err)
		}
		r.git("branch", "main", first.Commit)
		if found, err = g.Look(t.Context(), Place{URL: r.url, Ref: "refs/heads/main"}, Known{Commit: pushed}); err != nil || found.Commit != first.Commit {
			t.Fatalf("made again: %+v %v", found, err)
		}
	})
}
