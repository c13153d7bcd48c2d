package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"noxmesh/identity"
	"noxmesh/internal/fault"
)

// served is a server on which every row is answered by the zero value of its
// Out, and a count of the calls that reached a handler. The name of whoever
// asks is their credential; "wrong" is none that is known.
type served struct {
	*httptest.Server
	reached atomic.Int64
	log     *strings.Builder
}

func serveAll(t *testing.T, roles map[string]identity.Role) *served {
	t.Helper()
	var log strings.Builder
	s := NewServer(func(r *http.Request) (Who, error) {
		name := r.Header.Get("Authorization")
		role, ok := roles[name]
		if !ok {
			return Who{Name: "nobody"}, fault.New(fault.Denied, "no valid login came with this")
		}
		return Who{Name: name, Role: role}, nil
	}, slog.New(slog.NewTextHandler(&log, nil)))
	out := &served{log: &log}
	answerAll(s, &out.reached)
	if missing := s.Missing(); len(missing) > 0 {
		t.Fatalf("no handler for %v", missing)
	}
	out.Server = httptest.NewServer(s)
	t.Cleanup(out.Close)
	return out
}

func answerAll(s *Server, reached *atomic.Int64) {
	handleZero(s, Version(), reached)
	handleZero(s, Status(), reached)
	handleZero(s, Plans(), reached)
	handleZero(s, Push(), reached)
	handleZero(s, ModuleAdd(), reached)
	handleZero(s, Modules(), reached)
	handleZero(s, ModuleShow(), reached)
	handleZero(s, ModuleRemove(), reached)
	handleZero(s, ModuleLook(), reached)
	handleZero(s, ModuleHook(), reached)
	handleZero(s, ModulePolicy(), reached)
	handleZero(s, Declare(), reached)
	handleZero(s, NodeAdd(), reached)
	handleZero(s, Nodes(), reached)
	handleZero(s, NodeShow(), reached)
	handleZero(s, NodeRemove(), reached)
	handleZero(s, NodeAllow(), reached)
	handleZero(s, Assign(), reached)
	handleZero(s, Unassign(), reached)
	handleZero(s, Secrets(), reached)
	handleZero(s, SecretRecipients(), reached)
	handleZero(s, SecretSet(), reached)
	handleZero(s, SecretRemove(), reached)
	handleZero(s, Builds(), reached)
	handleZero(s, BuildShow(), reached)
	handleZero(s, BuildCheck(), reached)
	handleZero(s, Log(), reached)
	handleZero(s, BuildCancel(), reached)
	handleZero(s, Provenance(), reached)
	handleZero(s, Collect(), reached)
	handleZero(s, Graph(), reached)
	handleZero(s, Why(), reached)
	handleZero(s, Change(), reached)
	handleZero(s, Owners(), reached)
	handleZero(s, Stales(), reached)
	handleZero(s, BuilderAdd(), reached)
	handleZero(s, Builders(), reached)
	handleZero(s, BuilderRemove(), reached)
	handleZero(s, LoginAdd(), reached)
	handleZero(s, Join(), reached)
	handleZero(s, Hook(), reached)
}

func handleZero[In, Out any](s *Server, c Call[In, Out], reached *atomic.Int64) {
	Handle(s, c, func(context.Context, Who, In) (out Out, err error) {
		reached.Add(1)
		return out, nil
	})
}

// send makes a request, and is the status and the body of its answer.
func (s *served) send(t *testing.T, method, path, who string, body io.Reader) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", who)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestRolesOfEveryRow is TP1: each row by each role, and nothing by default.
func TestRolesOfEveryRow(t *testing.T) {
	t.Parallel()
	s := serveAll(t, map[string]identity.Role{
		"viewer": identity.Viewer, "operator": identity.Operator, "anyone": identity.Anyone, "none": "", "king": "king",
	})
	// What a viewer may, as a list: a row that is added is denied here until somebody has decided.
	asks := map[string]bool{
		"version": true, "status": true, "plan": true, "modules": true, "module": true, "nodes": true, "node": true,
		"builds": true, "build": true, "log": true, "provenance": true, "builders": true, "graph": true, "why": true, "change": true, "stale": true, "owners": true, "secrets": true,
	}
	open := map[string]bool{"join": true, "hook": true}
	for _, row := range Table() {
		path := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(row.Path, "x")
		for who, may := range map[string]bool{
			"wrong": open[row.Name], "none": open[row.Name], "anyone": open[row.Name], "king": open[row.Name],
			"viewer": open[row.Name] || asks[row.Name], "operator": true,
		} {
			before := s.reached.Load()
			code, body := s.send(t, row.Method, path, who, strings.NewReader(""))
			passed := s.reached.Load() > before
			if passed != may || (code == http.StatusOK) != may || !may && code != http.StatusForbidden {
				t.Errorf("%s by %s: %d, reached %v, want %v: %s", row.Name, who, code, passed, may, body)
			}
			if who == "viewer" && !may && !strings.Contains(body, "mesh login add NAME --role operator") {
				t.Errorf("%s by %s gives no hint: %s", row.Name, who, body)
			}
		}
		question := row.Method == http.MethodGet || row.Name == "owners" // which is too long for an address
		if question != asks[row.Name] {
			t.Errorf("%s is a %s, and a viewer may make it: %v", row.Name, row.Method, asks[row.Name])
		}
	}
}

func TestWhatIsNoCall(t *testing.T) {
	t.Parallel()
	s := serveAll(t, map[string]identity.Role{"operator": identity.Operator})
	for _, c := range []struct{ method, path string }{
		{"GET", "/"}, {"GET", "/v1"}, {"POST", "/v1/status"}, {"GET", "/v1/push"}, {"PATCH", "/v1/nodes/x"}, {"GET", "/v1/nodes/x/y"}, {"GET", "/hooks/x"},
	} {
		code, body := s.send(t, c.method, c.path, "operator", nil)
		if code != http.StatusNotFound || !strings.Contains(body, `"kind":"not-found"`) {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, body)
		}
	}
	if n := s.reached.Load(); n > 0 {
		t.Errorf("%d handlers were reached", n)
	}
	if code, body := s.send(t, "GET", "/v1/openapi.json", "", nil); code != http.StatusOK || !strings.Contains(body, `"openapi":"3.1.0"`) {
		t.Errorf("the description: %d %.80s", code, body)
	}
}

// countedBody counts what is read of it, and has no end.
type countedBody struct{ read atomic.Int64 }

func (b *countedBody) Read(p []byte) (int, error) {
	b.read.Add(int64(len(p)))
	return len(p), nil
}

// A hook means "look now": its body is not read, whatever is in it, and however much.
func TestAHookThatNobodySignedIsNotRead(t *testing.T) {
	t.Parallel()
	s := NewServer(func(*http.Request) (Who, error) { return Who{}, fault.New(fault.Denied, "nobody") }, slog.New(slog.DiscardHandler))
	var module string
	Handle(s, Hook(), func(_ context.Context, _ Who, in HookIn) (Nothing, error) {
		module = in.Module
		return Nothing{}, nil
	})
	var endless countedBody
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/hooks/site", &endless))
	if w.Code != http.StatusOK || module != "site" || endless.read.Load() > 0 {
		t.Errorf("%d, module %q, %d bytes read", w.Code, module, endless.read.Load())
	}
	for _, body := range []string{"", "no JSON", `{"module":"other"}`, strings.Repeat("x", 2<<20)} {
		module = ""
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/hooks/site", strings.NewReader(body)))
		if w.Code != http.StatusOK || module != "site" {
			t.Errorf("%.20q: %d, module %q", body, w.Code, module)
		}
	}
}

// What is signed is read, in whatever way a forge says so, and no further than
// the limit: the rest of an endless body stays where it is.
func TestASignedHookIsRead(t *testing.T) {
	t.Parallel()
	s := NewServer(func(*http.Request) (Who, error) { return Who{}, nil }, slog.New(slog.DiscardHandler))
	var got HookIn
	Handle(s, Hook(), func(_ context.Context, _ Who, in HookIn) (Nothing, error) {
		got = in
		return Nothing{}, nil
	})
	call := func(header, value string, body io.Reader) {
		got = HookIn{}
		r := httptest.NewRequest(http.MethodPost, "/hooks/site", body)
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK || got.Module != "site" {
			t.Errorf("%s: %d, %+v", header, w.Code, got)
		}
	}
	for header, value := range map[string]string{"X-Hub-Signature-256": "sha256=ab", "X-Gitea-Signature": "ab", "X-Forgejo-Signature": "ab"} {
		call(header, value, strings.NewReader("{}"))
		if string(got.Body) != "{}" || got.Signature != "ab" || got.Token != "" {
			t.Errorf("%s: %+v", header, got)
		}
	}
	call("X-Gitlab-Token", "secret", strings.NewReader("{}"))
	if string(got.Body) != "{}" || got.Token != "secret" {
		t.Errorf("a token: %+v", got)
	}
	if got.From != "192.0.2.1" { // of httptest
		t.Errorf("from %q", got.From)
	}
	var endless countedBody
	call("X-Gitea-Signature", "ab", &endless)
	if got.Body != nil || endless.read.Load() > 4<<20 {
		t.Errorf("%d bytes kept and %d read of an endless body", len(got.Body), endless.read.Load())
	}
}

// A body is read strictly, and no further than its limit.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := serveAll(t, map[string]identity.Role{"operator": identity.Operator})
	for body, wanted := range map[string]string{
		`{"repository":"x","branch":"main"}`:         `body of module-add:1:19: at branch: unknown key`,
		"{\"repository\":\"x\",\n \"fodler\":\"y\"}": `body of module-add:2:2: at fodler: unknown key \"fodler\"; did you mean \"folder\"?`,
		`{"repository":7}`:                           `at repository`,
		`{"repository":"x"} {}`:                      `body of module-add:1:20`,
		`{"repository":"x","repository":"y"}`:        `at repository`,
		`{"module":"other","repository":"x"}`:        `unknown key \"module\"`,
		"{\"repository\":\"\xff\"}":                  `not UTF-8`,
		strings.Repeat(" ", 1<<20) + "{}":            `at most 1048576 are read`,
	} {
		code, text := s.send(t, "PUT", "/v1/modules/site", "operator", strings.NewReader(body))
		if code != http.StatusBadRequest || !strings.Contains(text, wanted) || !strings.Contains(text, `"kind":"invalid"`) {
			t.Errorf("%.60q: %d %s, want %s", body, code, text, wanted)
		}
	}
	var endless countedBody
	r := httptest.NewRequest(http.MethodPut, "/v1/modules/site", &endless)
	r.Header.Set("Authorization", "operator")
	w := httptest.NewRecorder()
	s.Config.Handler.ServeHTTP(w, r)
	if n := endless.read.Load(); w.Code != http.StatusBadRequest || n > 2<<20 {
		t.Errorf("an endless body: %d after %d bytes", w.Code, n)
	}
	if n := s.reached.Load(); n > 0 {
		t.Errorf("%d handlers were reached", n)
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	s := serveAll(t, map[string]identity.Role{"viewer": identity.Viewer})
	for path, wanted := range map[string]string{
		"/v1/status?modul=site":                         `this call has no \"modul\"`,
		"/v1/builds?limit=many":                         `limit is \"many\", want a whole number`,
		"/v1/builds?limit=99999999999999999999":         `want a whole number`,
		"/v1/version?x=":                                `this call has no \"x\"`,
		"/v1/version?" + strings.Repeat("x", 2000):      `this call has no \"` + strings.Repeat("x", 80) + `…\"`,
		"/v1/builds?limit=" + strings.Repeat("x", 2000): `limit is \"` + strings.Repeat("x", 80) + `…\", want a whole number`,
	} {
		if code, text := s.send(t, "GET", path, "viewer", nil); code != http.StatusBadRequest || !strings.Contains(text, wanted) {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text := s.send(t, "GET", "/v1/builds?limit=3&module=site", "viewer", nil); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
}

// Whatever is asked for, what is said of it can be shown.
func TestACallThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := serveAll(t, map[string]identity.Role{"viewer": identity.Viewer})
	code, text := s.send(t, "GET", "/v1/%1b[2J"+strings.Repeat("x", 2000), "viewer", nil)
	if wanted := `no call GET \"/v1/\\x1b[2J` + strings.Repeat("x", 72) + `…\"`; code != http.StatusNotFound || !strings.Contains(text, wanted) {
		t.Errorf("%d %s, want %s", code, text, wanted)
	}
}

// A handler that panics is our bug, told to whoever asked, and the server lives.
func TestAPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := NewServer(func(*http.Request) (Who, error) { return Who{Role: identity.Operator}, nil }, slog.New(slog.NewTextHandler(&log, nil)))
	Handle(s, Nodes(), func(context.Context, Who, Nothing) (NodesOut, error) { panic("a law does not hold") })
	handleZero(s, Version(), new(atomic.Int64))
	for path, wanted := range map[string]int{"/v1/nodes": http.StatusInternalServerError, "/v1/version": http.StatusOK} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != wanted {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if path == "/v1/nodes" && !strings.Contains(w.Body.String(), `"kind":"broken"`) {
			t.Errorf("the answer is %s", w.Body)
		}
	}
	if !strings.Contains(log.String(), "a law does not hold") || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("the log does not say where: %s", log.String())
	}
}

// What a call carries arrives, through path, query and body, and an error comes
// back as it was: its kind, its words and its hint.
func TestClientAndServer(t *testing.T) {
	t.Parallel()
	s := NewServer(func(*http.Request) (Who, error) { return Who{Role: identity.Operator}, nil }, slog.New(slog.DiscardHandler))
	Handle(s, Assign(), func(_ context.Context, _ Who, in AssignIn) (AssignOut, error) {
		return AssignOut{Node: in.Node, Name: in.Module, Modules: []string{in.Settings["a b"]}}, nil
	})
	Handle(s, Log(), func(_ context.Context, _ Who, in LogIn) (LogOut, error) {
		return LogOut{Request: in.Build, Offset: in.Offset}, nil
	})
	kinds := []fault.Kind{fault.Invalid, fault.NotFound, fault.Conflict, fault.Denied, fault.Unavailable, fault.Broken, fault.Unknown}
	Handle(s, NodeShow(), func(_ context.Context, _ Who, in NodeIn) (out NodeShowOut, err error) {
		for _, k := range kinds {
			if k.String() == in.Node {
				return out, fault.New(k, "what was done with %q", in.Node).With("mesh do")
			}
		}
		return out, fmt.Errorf("none")
	})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c := &Client{http: server.Client(), base: server.URL, where: server.URL}

	for _, name := range []string{"a", "a/b", "a b", "../x", "ä?&=%", "{module}"} {
		out, err := Do(t.Context(), c, Assign(), AssignIn{Node: name, Module: "m", Settings: map[string]string{"a b": "ü\n"}})
		if err != nil || out.Node != name || out.Name != "m" || len(out.Modules) != 1 || out.Modules[0] != "ü\n" || out.LeftOut == nil {
			t.Errorf("%q: %+v, %v", name, out, err)
		}
	}
	if _, err := Do(t.Context(), c, Assign(), AssignIn{Node: "n"}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a module without a name: %v", err)
	}
	if out, err := Do(t.Context(), c, Log(), LogIn{Build: "b", Offset: 1 << 40}); err != nil || out.Request != "b" || out.Offset != 1<<40 {
		t.Errorf("%+v, %v", out, err)
	}
	for _, k := range kinds {
		_, err := Do(t.Context(), c, NodeShow(), NodeIn{Node: k.String()})
		if fault.KindOf(err) != k || err.Error() != fmt.Sprintf("what was done with %q", k) || fault.HintOf(err) != "mesh do" {
			t.Errorf("%s came back as %s: %v (%s)", k, fault.KindOf(err), err, fault.HintOf(err))
		}
	}
	if _, err := Do(t.Context(), c, Builds(), BuildsIn{}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a call that is not there: %v", err)
	}
}

// What answers is not always a controller.
func TestSomethingElseAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"a page":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"an error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) },
		"cut":      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"version":"v`) },
		"nothing":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		server := httptest.NewServer(answer)
		c := &Client{http: server.Client(), base: server.URL, where: server.URL}
		if out, err := Do(t.Context(), c, Version(), Nothing{}); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s: %+v", name, out)
		}
		server.Close()
	}
	newer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"version":"v9","mesh":"x","more":1}`)
	}))
	defer newer.Close()
	c := &Client{http: newer.Client(), base: newer.URL, where: newer.URL}
	if out, err := Do(t.Context(), c, Version(), Nothing{}); err != nil || out.Version != "v9" {
		t.Errorf("a newer controller: %+v, %v", out, err)
	}
	_, err := Do(t.Context(), OverSocket(t.TempDir()+"/none.sock"), Version(), Nothing{})
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(fault.HintOf(err), "mesh dev") {
		t.Errorf("no socket: %v (%s)", err, fault.HintOf(err))
	}
}

// Every answer is one that the client reads: no type holds what JSON can't carry.
func TestEveryZeroAnswerArrives(t *testing.T) {
	t.Parallel()
	s := serveAll(t, map[string]identity.Role{"operator": identity.Operator})
	for _, row := range Table() {
		path := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(row.Path, "x")
		code, body := s.send(t, row.Method, path, "operator", nil)
		out := reflect.New(row.Out).Interface()
		if err := json.Unmarshal([]byte(body), out); code != http.StatusOK || err != nil || strings.Contains(body, "null") {
			t.Errorf("%s: %d %s, %v", row.Name, code, body, err)
		}
	}
}

// Sealed values for many nodes come at once, and no other call takes as much.
func TestSealedValuesAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	s := serveAll(t, map[string]identity.Role{"operator": identity.Operator})
	values := strings.Repeat(`{"node":"n","recipient":"r","sealed":"`+strings.Repeat("A", 100<<10)+`"},`, 20)
	body := `{"version":1,"values":[` + strings.TrimSuffix(values, ",") + `]}`
	if code, text := s.send(t, "PUT", "/v1/modules/site/secrets/db-url", "operator", strings.NewReader(body)); code != http.StatusOK {
		t.Errorf("%d %.200s", code, text)
	}
	for _, row := range Table() {
		if (row.Limit > 0) != (row.Name == "secret-set") {
			t.Errorf("%s takes %d bytes", row.Name, row.Limit)
		}
	}
}
