package builder

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/identity"
	"noxmesh/internal/bus"
	"noxmesh/internal/bus/broker"
	"noxmesh/internal/fault"
	"noxmesh/link"
)

// TestJoinThenRun is a builder's whole life over the real broker and the real
// registry, both with the mesh's own CA: it joins, takes a request, publishes,
// answers, and stops.
func TestJoinThenRun(t *testing.T) {
	t.Parallel()
	repo, rig := newRepository(t), newRig(t)
	rig.config.State += "-joined" // not the one that the rig has joined
	ca, err := identity.NewCA(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := ca.Issue([]string{"127.0.0.1"}, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := broker.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	carrier, err := broker.Start(broker.Config{Listen: "127.0.0.1:0", TLS: certificate, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { carrier.Close(context.Background()) })
	serveController(t, carrier, rig.controller)
	secured := func(h http.Handler) string {
		s := httptest.NewUnstartedServer(h)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL
	}
	registryURL := secured(rig.registry.server.Config.Handler)
	secret := identity.NewSecret()
	api := secured(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := rig.admit(r, secret, carrier)
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		answer.CA, answer.Registry = string(ca.PEM()), registryURL
		body, err := document.Canonical(answer)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(body)
	}))
	token, err := identity.Token{URL: api, CA: ca.Fingerprint(), Root: rig.root.Public(), Mesh: testMesh, ID: testBuilder, Secret: secret}.Text()
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--state", rig.config.State}
	var out, errs bytes.Buffer
	if code := Main(t.Context(), append([]string{"join", token}, flags...), "1", &out, &errs); code != exitAnswered || !strings.Contains(out.String(), registryURL) {
		t.Fatalf("join: status %d\n%s%s", code, out.String(), errs.String())
	}
	if code := Main(t.Context(), append([]string{"join", token}, flags...), "1", &out, &errs); code != exitCouldNot || !strings.Contains(errs.String(), "has joined") {
		t.Errorf("join twice: status %d\n%s", code, errs.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, rig.config) }()
	q := repo.request(repo.commit(plain()), "")
	q.Registry = registryURL
	rig.controller.mu.Lock()
	rig.controller.queue = append(rig.controller.queue, q)
	rig.controller.mu.Unlock()
	a := rig.controller.wait(q)
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run ended with %v", err)
	}
	if a.Outcome != build.OutcomeBuilt {
		t.Fatalf("%s %s: %s", a.Outcome, a.Step, a.Why)
	}
	checkPublished(t, rig.registry, a)
	for _, shown := range []string{out.String(), errs.String()} {
		if strings.Contains(shown, testSecret) || strings.Contains(shown, secret.Reveal()) {
			t.Error("a secret was printed")
		}
	}
}

// admit answers a join as the controller does.
func (r *rig) admit(req *http.Request, secret identity.Secret, carrier *broker.Broker) (identity.JoinAnswer, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return identity.JoinAnswer{}, err
	}
	q, err := identity.DecodeJoinRequest(body)
	if err != nil {
		return identity.JoinAnswer{}, err
	}
	if q.Secret != secret.Reveal() || q.Kind != identity.KindBuilder {
		return identity.JoinAnswer{}, fault.New(fault.Denied, "not with this token")
	}
	jwt, err := carrier.UserJWT(link.Builders, testBuilder, q.Nats)
	if err != nil {
		return identity.JoinAnswer{}, err
	}
	document, err := link.Seal(r.root, link.TypeKeys, link.Keys{Format: link.Format, Mesh: testMesh, Version: 1, Declare: []link.PublicKey{r.controller.declare.Public()}})
	if err != nil {
		return identity.JoinAnswer{}, err
	}
	r.controller.mu.Lock()
	defer r.controller.mu.Unlock()
	r.controller.builder = q.Sign
	return identity.JoinAnswer{
		Format: identity.Format, Mesh: testMesh, ID: testBuilder, Name: q.Name, Broker: carrier.URL(), JWT: jwt, RegistrySecret: testSecret, Keys: document,
	}, nil
}

func serveController(t *testing.T, carrier *broker.Broker, c *controller) {
	t.Helper()
	conn, err := carrier.InProcess(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	for _, verb := range []link.Verb{link.VerbWork, link.VerbWorking, link.VerbAnswer} {
		subject, err := link.Every(verb)
		if err != nil {
			t.Fatal(err)
		}
		err = conn.Serve(subject, func(ctx context.Context, m bus.Message) ([]byte, error) { return c.Request(ctx, m.Subject, m.Data) })
		if err != nil {
			t.Fatal(err)
		}
	}
}
