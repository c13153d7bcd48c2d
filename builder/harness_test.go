package builder

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/git/gitserve"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/registry"
	"noxmesh/link"
	"noxmesh/manifest"
)

const (
	testMesh    = "mesh0001abcdefgh"
	testBuilder = "builder1abcdefgh"
)

// repository is a real git repository, served over http.
type repository struct {
	t   *testing.T
	dir string
	url string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	root := t.TempDir()
	server := httptest.NewServer(gitserve.Handler(root))
	t.Cleanup(server.Close)
	r := &repository{t, filepath.Join(root, "module"), server.URL + "/module"}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes the files, a script as executable and "-> x" as a link, and commits.
func (r *repository) commit(files map[string]string) string {
	r.t.Helper()
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "change")
	return r.git("rev-parse", "HEAD")
}

// request asks for the build of a commit's folder.
func (r *repository) request(commit, folder string) build.Request {
	r.t.Helper()
	q := build.Request{
		Format: build.Format, Mesh: testMesh, Module: "site", Repository: r.url, Commit: commit, Folder: folder,
		Tree: r.git("rev-parse", commit+":"+folder), Platform: Platform, Closure: []manifest.Input{}, Attempt: 1, Limit: 60,
		Registry: "https://127.0.0.1:1", Target: "site",
	}
	return identified(r.t, q)
}

func identified(t *testing.T, q build.Request) build.Request {
	t.Helper()
	id, err := q.Identity()
	if err != nil {
		t.Fatal(err)
	}
	q.ID = id
	return q
}

// controller is the mesh's end of the link, in memory. Its declare key is real.
type controller struct {
	t       *testing.T
	declare link.Key
	builder link.PublicKey

	mu       sync.Mutex // guards what follows
	queue    []build.Request
	lease    int64
	works    []link.Work
	log      map[string]string
	answers  map[string]build.Answer
	answered chan string
	refuse   func(verb link.Verb, request string) error // before it counts
	lose     func(verb link.Verb, request string) bool  // the answer, after it counted
	stop     map[string]string
	forge    func(t link.PayloadType, v any) link.Envelope
}

func (c *controller) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	verb, id, err := link.From(subject)
	if err != nil || id != testBuilder {
		return nil, fault.New(fault.Denied, "subject %q", subject)
	}
	envelope, err := link.DecodeEnvelope(data)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var reply link.Envelope
	switch verb {
	case link.VerbWork:
		reply, err = c.work(envelope)
	case link.VerbWorking:
		reply, err = c.working(envelope)
	case link.VerbAnswer:
		reply, err = c.answer(envelope)
	default:
		err = fault.New(fault.Denied, "verb %q", verb)
	}
	if err != nil {
		return nil, err
	}
	return document.Canonical(reply)
}

func opened[T any](c *controller, e link.Envelope, t link.PayloadType) (T, error) {
	payload, err := e.Open(t, c.builder)
	if err != nil {
		c.t.Errorf("an envelope that the builder did not sign: %v", err)
		var none T
		return none, err
	}
	return document.Decode[T](string(t), payload, document.Limits{Bytes: link.EnvelopeLimit, Depth: 16})
}

func (c *controller) seal(t link.PayloadType, v any) link.Envelope {
	if c.forge != nil {
		return c.forge(t, v)
	}
	e, err := link.Seal(c.declare, t, v)
	if err != nil {
		c.t.Error(err)
	}
	return e
}

func (c *controller) work(e link.Envelope) (link.Envelope, error) {
	w, err := opened[link.Work](c, e, link.TypeWork)
	if err != nil {
		return e, err
	}
	if n := len(c.works); n > 0 && w.Counter <= c.works[n-1].Counter {
		c.t.Errorf("counter %d after %d", w.Counter, c.works[n-1].Counter)
	}
	c.works = append(c.works, w)
	if c.refuse != nil {
		if err := c.refuse(link.VerbWork, ""); err != nil {
			return e, err
		}
	}
	a := link.WorkAnswer{Format: link.Format, Mesh: testMesh, Builder: testBuilder, Counter: w.Counter, At: 1}
	if len(c.queue) > 0 {
		r := c.seal(link.TypeBuildRequest, c.queue[0])
		a.Request, a.Lease = &r, c.lease
		c.queue = c.queue[1:]
	}
	return c.seal(link.TypeWorkAnswer, a), nil
}

func (c *controller) working(e link.Envelope) (link.Envelope, error) {
	w, err := opened[link.Working](c, e, link.TypeWorking)
	if err != nil {
		return e, err
	}
	if c.refuse != nil {
		if err := c.refuse(link.VerbWorking, w.Request); err != nil {
			return e, err
		}
	}
	if int64(len(c.log[w.Request])) >= w.Offset {
		c.log[w.Request] = c.log[w.Request][:w.Offset] + w.Log
	} else {
		c.t.Errorf("a log at %d, and only %d bytes are there", w.Offset, len(c.log[w.Request]))
	}
	if c.lose != nil && c.lose(link.VerbWorking, w.Request) {
		return e, fault.New(fault.Unavailable, "lost")
	}
	return c.receipt(w.Request, c.stop[w.Request]), nil
}

func (c *controller) answer(e link.Envelope) (link.Envelope, error) {
	payload, err := e.Open(link.TypeBuildAnswer, c.builder)
	if err != nil {
		c.t.Errorf("an answer that the builder did not sign: %v", err)
		return e, err
	}
	a, err := build.DecodeAnswer(payload)
	if err != nil {
		c.t.Errorf("an answer that no controller reads: %v", err)
		return e, err
	}
	if c.refuse != nil {
		if err := c.refuse(link.VerbAnswer, a.Request); err != nil {
			return e, err
		}
	}
	c.answers[a.Request] = a
	if c.lose != nil && c.lose(link.VerbAnswer, a.Request) {
		return e, fault.New(fault.Unavailable, "lost")
	}
	select {
	case c.answered <- a.Request:
	default:
	}
	return c.receipt(a.Request, ""), nil
}

func (c *controller) receipt(request, stop string) link.Envelope {
	return c.seal(link.TypeReceipt, link.Receipt{Format: link.Format, Mesh: testMesh, To: testBuilder, For: request, At: 1, Stop: stop})
}

func (r *rig) ask(q build.Request) {
	c := r.controller
	c.mu.Lock()
	defer c.mu.Unlock()
	q.Registry = r.registry.server.URL // no part of its identity
	c.queue = append(c.queue, q)
}

// wait is the answer to a request, once it is there.
func (c *controller) wait(r build.Request) build.Answer {
	c.t.Helper()
	limit := time.After(60 * time.Second)
	for {
		c.mu.Lock()
		a, ok := c.answers[r.ID]
		c.mu.Unlock()
		if ok {
			return a
		}
		select {
		case <-c.answered:
		case <-limit:
			c.t.Fatalf("no answer to %s", r.ID)
		}
	}
}

func (c *controller) logOf(r build.Request) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log[r.ID]
}

const testSecret = "the builder's secret"

// testRegistry is a real one. It knows only this builder, and only while it
// names a request.
type testRegistry struct {
	server   *httptest.Server
	client   *oci.Client
	requests atomic.Int64

	mu     sync.Mutex // guards what follows
	writes []registry.Access
}

func newTestRegistry(t *testing.T) *testRegistry {
	t.Helper()
	r := &testRegistry{}
	real, err := registry.New(registry.Config{Dir: t.TempDir(), Secret: []byte("0123456789abcdef"), Authorize: r.authorize})
	if err != nil {
		t.Fatal(err)
	}
	r.server = httptest.NewServer(real)
	t.Cleanup(func() {
		r.server.Close()
		if err := real.Close(); err != nil {
			t.Error(err)
		}
	})
	r.client, err = oci.New(oci.Config{Base: r.server.URL, User: "reader"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.client.Close)
	return r
}

func (r *testRegistry) authorize(_ context.Context, a registry.Access) error {
	r.requests.Add(1)
	if !a.Write {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.User != testBuilder || a.Password != testSecret || !requestPattern.MatchString(a.RequestID) || !slices.Contains([]string{"site", "lib", "base", "app", "other"}, a.Repository) {
		return fault.New(fault.Denied, "%q may not write to %q", a.User, a.Repository)
	}
	r.writes = append(r.writes, a)
	return nil
}

// written is how many writes there were.
func (r *testRegistry) written() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.writes)
}

// rig is a builder in its state folder, with the controller that it speaks to.
type rig struct {
	t          *testing.T
	config     Config
	controller *controller
	registry   *testRegistry
	root       link.Key
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "mesh-builder-test-") //nolint:usetesting // t.TempDir is closed to the sandbox's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	root, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	declare, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		t:      t,
		root:   root,
		config: Config{State: filepath.Join(dir, "state"), Version: "test", Log: testLog(t), Users: testUsers()},
		controller: &controller{
			t: t, declare: declare, lease: 1, log: map[string]string{}, answers: map[string]build.Answer{},
			answered: make(chan string, 64), stop: map[string]string{},
		},
		registry: newTestRegistry(t),
	}
	r.join(root)
	return r
}

// join puts into the state folder what a join leaves there.
func (r *rig) join(root link.Key) {
	r.t.Helper()
	s, err := openState(r.config.State)
	if err != nil {
		r.t.Fatal(err)
	}
	key, _, err := s.keysFor("")
	if err != nil {
		r.t.Fatal(err)
	}
	r.controller.builder = key.Public()
	keys, err := link.Seal(root, link.TypeKeys, link.Keys{Format: link.Format, Mesh: testMesh, Version: 1, Declare: []link.PublicKey{r.controller.declare.Public()}})
	if err != nil {
		r.t.Fatal(err)
	}
	err = s.keepJoined(joined{Format: stateFormat, Mesh: testMesh, ID: testBuilder, Name: "b1", Root: root.Public(), Registry: r.registry.server.URL, RegistrySecret: testSecret, Keys: keys})
	if err != nil {
		r.t.Fatal(err)
	}
}

// start runs the builder until stop is called.
func (r *rig) start() (stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	b, closeAll, err := open(ctx, r.config)
	if err != nil {
		cancel()
		r.t.Fatal(err)
	}
	if b.sandbox == nil && os.Geteuid() == 0 {
		r.t.Errorf("no sandbox: %s", b.why)
	}
	b.caller.link = r.controller
	ended := make(chan error, 1)
	go func() { ended <- b.loop(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				r.t.Error(err)
			}
			if err := closeAll(); err != nil {
				r.t.Error(err)
			}
		})
	}
	r.t.Cleanup(stop)
	return stop
}

// build makes one request from beginning to end.
func (r *rig) build(q build.Request) build.Answer {
	r.t.Helper()
	r.ask(q)
	stop := r.start()
	defer stop()
	return r.controller.wait(q)
}

func needsSandbox(t *testing.T) {
	t.Helper()
	testSandbox(t, testWorkshop(t), Limits{})
}

func testLog(t *testing.T) *slog.Logger {
	t.Helper()
	return slog.New(slog.NewTextHandler(&lines{t: t}, nil))
}

type lines struct {
	t  *testing.T
	mu sync.Mutex
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Log(string(bytes.TrimSpace(p)))
	return len(p), nil
}
