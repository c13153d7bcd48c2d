package registrytest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd" // how it knows who asks
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory" // where it keeps things

	"noxmesh/internal/oci"
)

// Registry is another's registry as it is: with tags and deletion and a login, and
// without a list of referrers. It is in memory, over plain http on loopback.
type Registry struct {
	URL   string
	Login string // a file with who may write there

	server *httptest.Server
	back   http.Handler

	mu     sync.Mutex // guards what follows
	wrong  func(http.ResponseWriter, *http.Request) bool
	tokens bool
	asked  []string
	login  string
}

// Config is what a plain registry is like.
type Config struct {
	Keeps  bool // it lets nothing be deleted
	Tokens bool // it wants a token for each repository, and gives it to the login
}

const (
	plainUser   = "mesh"
	plainSecret = "s3cret:with colon"
	plainHash   = "$2a$04$RbS4wUmKCyxazCT9PNEpMuMeq6bwG0PIaIeC6AXwSJRqTbBqJCzBG" // of the secret, as cheap as can be
)

// Serve is an empty one. It ends with the test.
func Serve(t testing.TB, c Config) *Registry {
	t.Helper()
	dir := t.TempDir()
	p := &Registry{Login: filepath.Join(dir, "login"), tokens: c.Tokens, login: plainUser + ":" + plainSecret}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("login", p.login+"\n")
	write("htpasswd", plainUser+":"+plainHash+"\n")
	config := &configuration.Configuration{Version: "0.1", Storage: configuration.Storage{
		"inmemory": nil, "delete": configuration.Parameters{"enabled": !c.Keeps}, "maintenance": configuration.Parameters{"uploadpurging": map[any]any{"enabled": false}},
	}}
	if !c.Tokens {
		config.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "another's", "path": filepath.Join(dir, "htpasswd")}}
	}
	config.HTTP.Secret, config.Log.Level = "whoever signs uploads", "panic"
	ctx, cancel := context.WithCancel(context.Background())
	app := handlers.NewApp(ctx, config)
	p.back = app
	p.server = httptest.NewServer(p)
	p.URL = p.server.URL
	t.Cleanup(func() {
		p.server.Close()
		cancel()
		if err := app.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Wrong answers what it takes upon itself instead of the registry; nil: nothing.
func (p *Registry) Wrong(f func(w http.ResponseWriter, r *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = f
}

// Asked is each request so far, as "PUT /v2/…", and forgets them.
func (p *Registry) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.asked = nil
	return asked
}

// Has reports whether the registry itself has a path: /v2/…/manifests/….
func (p *Registry) Has(t testing.TB, path string) bool {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodHead, path, nil)
	r.SetBasicAuth(plainUser, plainSecret)
	r.Header.Set("Accept", oci.MediaManifest)
	r.Header.Add("Accept", oci.MediaReferrers)
	w := httptest.NewRecorder()
	p.back.ServeHTTP(w, r)
	return w.Code == http.StatusOK
}

// ServeHTTP answers as the registry does.
func (p *Registry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.URL.Path)
	wrong := p.wrong
	p.mu.Unlock()
	switch {
	case wrong != nil && wrong(w, r):
	case p.tokens && r.URL.Path == "/token":
		p.give(w, r)
	case p.tokens && !p.lets(r):
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+p.URL+`/token",service="another's"`)
		w.WriteHeader(http.StatusUnauthorized)
	default:
		p.back.ServeHTTP(w, r)
	}
}

// give gives the login the token that it asks for: its scope.
func (p *Registry) give(w http.ResponseWriter, r *http.Request) {
	if user, secret, _ := r.BasicAuth(); user+":"+secret != p.login {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	scope := strings.NewReplacer(`"`, "", " ", "").Replace(r.URL.Query().Get("scope"))
	_, _ = w.Write([]byte(`{"token": "for-` + scope + `", "expires_in": 300}`))
}

// lets reports whether a request's token is for what is asked.
func (p *Registry) lets(r *http.Request) bool {
	scope, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer for-")
	if !ok || r.URL.Path == "/v2/" {
		return ok
	}
	repository, actions, _ := strings.Cut(strings.TrimPrefix(scope, "repository:"), ":")
	need := map[string]string{http.MethodGet: "pull", http.MethodHead: "pull", http.MethodDelete: "delete"}[r.Method]
	if need == "" || strings.Contains(r.URL.Path, "/uploads/") {
		need = "push"
	}
	return strings.HasPrefix(r.URL.Path, "/v2/"+repository+"/") && slices.Contains(strings.Split(actions, ","), need)
}
