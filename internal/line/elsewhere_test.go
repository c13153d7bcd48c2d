package line

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"noxmesh/api"
	"noxmesh/internal/oci/registry/registrytest"
	"noxmesh/status"
)

// What is published is kept in another's registry where the controller is told to: a
// builder that dies with the blobs there leaves nothing that shows, a node applies what
// lies there, its provenance is found, and a login that is not taken any more is named
// and is nobody's failed build.
func TestWhatIsPublishedIsKeptInAnothersRegistry(t *testing.T) {
	t.Parallel()
	plain := registrytest.Serve(t, registrytest.Config{})
	m := start(t, options{hosts: 1, builders: 1, elsewhere: plain, every: 50e6})
	reached, once := make(chan struct{}), sync.Once{}
	manifests := func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/")
	}
	plain.Wrong(func(w http.ResponseWriter, r *http.Request) bool { // no manifest gets there
		if manifests(r) {
			once.Do(func() { close(reached) })
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return manifests(r)
	})
	first := m.module("site", site("site", "first"))
	m.assign("site", "node1")
	m.auto("site")
	<-reached
	m.builders[0].stop()
	plain.Wrong(nil)
	if builds := do(m, api.Builds(), api.BuildsIn{Module: "site"}).Builds; len(builds) == 0 || builds[0].Build != "" {
		t.Errorf("with the blobs there and no manifest: %+v", builds)
	}
	m.builders[0].start()
	m.until("it is out", isOut("site", first, 1))
	p := do(m, api.Provenance(), api.ProvenanceIn{Build: "site"})
	for _, digest := range []string{p.Manifest, p.Subject, strings.Replace(p.Subject, ":", "-", 1)} {
		if !plain.Has(t, "/v2/site/manifests/"+digest) {
			t.Errorf("%s is not in the registry", digest)
		}
	}

	right, err := os.ReadFile(plain.Login)
	must(t, err)
	must(t, os.WriteFile(plain.Login, []byte("mesh:of-yesterday\n"), 0o600))
	second := m.forge.commit("site", site("site", "second"))
	m.until("the login is named", func(s status.Status) string {
		if s.Registry == nil || !strings.Contains(s.Registry.Why, plain.Login) {
			return line(s, "site")
		}
		return ""
	})
	must(t, os.WriteFile(plain.Login, right, 0o600))
	m.until("it is out", isOut("site", second, 1))
	m.until("the registry is well", func(s status.Status) string {
		if s.Registry != nil {
			return s.Registry.Why
		}
		return ""
	})
	for _, b := range do(m, api.Builds(), api.BuildsIn{Module: "site"}).Builds {
		if b.State == "failed" {
			t.Errorf("the registry's login failed a build: %+v", b)
		}
	}
}
