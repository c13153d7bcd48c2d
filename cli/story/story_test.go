package story

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"noxmesh/builder"
	"noxmesh/cli"
	"noxmesh/controller"
	"noxmesh/host"
	"noxmesh/internal/git/gitserve"
	"noxmesh/internal/term"
)

var update = flag.Bool("update", false, "write what the stories expect anew")

// stepLimit is how long a story waits for one fact. It is far more than any of
// them takes on a machine that does nothing else.
const stepLimit = 60 * time.Second

// The test binary is each of the four programs, by the name that it is called by.
func TestMain(m *testing.M) {
	program := func(run func(ctx context.Context, args []string) int) func() {
		return func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			status := run(ctx, os.Args[1:])
			stop()
			os.Exit(status)
		}
	}
	testscript.Main(m, map[string]func(){
		"mesh": program(func(ctx context.Context, args []string) int {
			self, err := exec.LookPath("mesh")
			if err != nil {
				self = os.Args[0]
			}
			return cli.Run(ctx, cli.Config{
				Version: "v1.2.3", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Getenv, Self: filepath.Dir(self),
			}, args)
		}),
		"mesh-controller": program(func(ctx context.Context, args []string) int {
			return controller.Command(ctx, "v1.2.3", args, os.Stdout, os.Stderr)
		}),
		"mesh-builder": program(func(ctx context.Context, args []string) int {
			return builder.Main(ctx, args, "v1.2.3", os.Stdout, os.Stderr)
		}),
		"mesh-host": program(func(ctx context.Context, args []string) int {
			return host.Main(ctx, args, "v1.2.3", term.Open("mesh-host", os.Stdout, os.Stderr, os.Getenv))
		}),
	})
}

// Each story is a person who types commands into a real mesh.
func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			for name, value := range map[string]string{
				"HOME": e.WorkDir + "/home", "XDG_CONFIG_HOME": "", "MESH_CONTROLLER": "", "NO_COLOR": "",
				"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
				"GIT_AUTHOR_NAME": "Anna", "GIT_AUTHOR_EMAIL": "anna@example.org",
				"GIT_COMMITTER_NAME": "Anna", "GIT_COMMITTER_EMAIL": "anna@example.org",
				// Under the race detector a program waits at its end, a second unless
				// told, for threads that still race; a story is hundreds of programs.
				"GORACE": "atexit_sleep_ms=10",
			} {
				e.Setenv(name, value)
			}
			return os.Mkdir(e.WorkDir+"/home", 0o755)
		},
		Condition: func(name string) (bool, error) {
			if name == "sandbox" {
				return exec.CommandContext(t.Context(), "bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").Run() == nil, nil
			}
			return false, fmt.Errorf("no condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"commit": commitAll, "exits": exits, "until": until, "json": oneJSON, "gone": gone, "setenv": setenv, "occupy": occupy,
			"forge": forge, "webhook": webhook,
		},
	})
}

// commitAll commits all that is in a folder, which becomes a repository if it
// is none, and sets COMMIT and SHORT.
func commitAll(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: commit FOLDER")
	}
	dir := ts.MkAbs(args[0])
	for _, git := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "--allow-empty", "-m", "change"}, {"rev-parse", "HEAD"},
	} {
		ts.Check(ts.Exec("git", append([]string{"-C", dir}, git...)...))
	}
	commit := strings.TrimSpace(ts.ReadFile("stdout"))
	ts.Setenv("COMMIT", commit)
	ts.Setenv("SHORT", commit[:7])
}

// exits runs a command that has to end with just this status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM [ARG...]")
	}
	wanted, err := strconv.Atoi(args[0])
	ts.Check(err)
	status := 0
	var ended *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &ended) {
		status = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if status != wanted {
		ts.Fatalf("%s ended with %d, want %d", strings.Join(args[1:], " "), status, wanted)
	}
}

// until runs a command again and again until what it prints matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN PROGRAM [ARG...]")
	}
	wanted, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	deadline := time.Now().Add(stepLimit)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		_ = ts.Exec(args[1], args[2:]...) // it may be refused as long as it is not true
		if wanted.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s never said %q", strings.Join(args[1:], " "), args[0])
		}
		<-tick.C
	}
}

// gone waits until the processes that these files name have ended.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	deadline := time.Now().Add(stepLimit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, file := range args {
		pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(file)))
		ts.Check(err)
		for syscall.Kill(pid, 0) == nil {
			if neg {
				return
			}
			if time.Now().After(deadline) {
				ts.Fatalf("process %d of %s goes on", pid, file)
			}
			<-tick.C
		}
	}
	if neg {
		ts.Fatalf("all have ended")
	}
}

// oneJSON checks that stdout or stderr is one JSON value, without a null in it.
func oneJSON(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: json stdout|stderr")
	}
	text := []byte(ts.ReadFile(args[0]))
	var v any
	ts.Check(json.Unmarshal(text, &v))
	if bytes.Contains(text, []byte(": null")) {
		ts.Fatalf("there is a null in it")
	}
	if bytes.ContainsRune(text, '\x1b') {
		ts.Fatalf("there is an escape in it")
	}
}

// setenv sets a variable to what the first group of a pattern matches in stdout.
func setenv(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: setenv NAME PATTERN")
	}
	found := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("no %q in stdout", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// occupy listens on the ports that a mesh dev keeps in this file, until the story ends.
func occupy(ts *testscript.TestScript, _ bool, args []string) {
	for _, port := range regexp.MustCompile(`[0-9]+`).FindAllString(ts.ReadFile(args[0]), -1) {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		ts.Check(err)
		ts.Defer(func() { l.Close() })
	}
}

// forge serves the repositories of a folder until the story ends, and sets a
// variable to its address. While the last file is there, it wants to be left alone.
func forge(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: forge NAME FOLDER FILE")
	}
	serves, busy := gitserve.Handler(ts.MkAbs(args[1])), ts.MkAbs(args[2])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(busy); err == nil {
			w.Header().Set("Retry-After", "600")
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return
		}
		serves.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

// webhook calls for a module as a forge does that signs with this secret.
func webhook(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: webhook URL SECRET")
	}
	body := `{"ref":"refs/heads/main","commits":[]}`
	mac := hmac.New(sha256.New, []byte(args[1]))
	mac.Write([]byte(body))
	ctx, cancel := context.WithTimeout(context.Background(), stepLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, args[0], strings.NewReader(body))
	ts.Check(err)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(r)
	ts.Check(err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("a webhook is answered with %s", resp.Status)
	}
}
