package builder

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"noxmesh/delivery/build"
	"noxmesh/delivery/provenance"
	"noxmesh/internal/oci"
)

// provenanceOf is the statement that an answer names, read and verified as somebody
// does who has the builder's public key, an HTTP client and the specifications.
func provenanceOf(t *testing.T, r *rig, a build.Answer) provenance.Statement {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.registry.server.URL+"/v2/site/referrers/"+string(a.Published)+"?artifactType=application/vnd.in-toto.provenance%2Bdsse", http.NoBody)
	must(t, err)
	req.SetBasicAuth(testBuilder, testSecret)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	var index struct {
		Manifests []struct{ Digest, ArtifactType string }
	}
	must(t, json.NewDecoder(resp.Body).Decode(&index))
	listed := ""
	for _, m := range index.Manifests {
		listed += m.Digest + " "
	}
	if !strings.Contains(listed, string(a.Provenance)+" ") {
		t.Errorf("%s is not listed among the referrers of what was published: %d, %s", a.Provenance, resp.StatusCode, listed)
	}
	m, err := r.registry.client.PullManifest(t.Context(), "site", a.Provenance)
	must(t, err)
	if m.Subject == nil || m.Subject.Digest != a.Published || m.Config.MediaType != "application/vnd.oci.empty.v1+json" {
		t.Fatalf("it is about %+v", m.Subject)
	}
	signed, err := r.registry.client.PullBytes(t.Context(), oci.Blob{Repository: "site", Digest: m.Layers[0].Digest, Size: m.Layers[0].Size})
	must(t, err)
	var envelope struct {
		PayloadType string
		Payload     string
		Signatures  []struct{ KeyID, Sig string }
	}
	must(t, json.Unmarshal(signed, &envelope))
	text, err := base64.StdEncoding.DecodeString(envelope.Payload)
	must(t, err)
	sig, err := base64.StdEncoding.DecodeString(envelope.Signatures[0].Sig)
	must(t, err)
	written, err := r.controller.builder.PEM()
	must(t, err)
	block, _ := pem.Decode([]byte(written))
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	must(t, err)
	pae := fmt.Sprintf("DSSEv1 %d %s %d %s", len(envelope.PayloadType), envelope.PayloadType, len(text), text)
	if envelope.PayloadType != "application/vnd.in-toto+json" || len(envelope.Signatures) != 1 || !ed25519.Verify(key.(ed25519.PublicKey), []byte(pae), sig) {
		t.Errorf("the envelope does not verify: %s", signed)
	}
	s, err := provenance.Decode(text)
	must(t, err)
	return s
}

// checkProvenance holds what the builder says of a build against the request, the
// answer and the registry.
func checkProvenance(t *testing.T, r *rig, q build.Request, a build.Answer) {
	t.Helper()
	s := provenanceOf(t, r, a)
	m, err := r.registry.client.PullManifest(t.Context(), "site", a.Published)
	must(t, err)
	err = provenance.Verify(s, provenance.Made{
		Request: q, Builder: testBuilder, Manifest: *a.Manifest, Published: a.Published, Blobs: blobsOf(m),
		Began: time.UnixMilli(a.Began), Finished: time.UnixMilli(a.Ended),
	})
	if err != nil {
		t.Errorf("%v\n%+v", err, s)
	}
	about := map[string]bool{}
	for _, one := range s.Subject {
		about["sha256:"+one.Digest["sha256"]] = true
	}
	for _, p := range a.Where.Archives {
		if !about[string(p.Index)] || !about[string(p.Blob)] {
			t.Errorf("it is not about archive %+v", p)
		}
	}
	for d := range a.Where.Blobs {
		if !about[string(d)] {
			t.Errorf("it is not about %s", d)
		}
	}
	if !about[string(a.Build)] || !about[string(a.Content)] || !about[string(a.Published)] {
		t.Errorf("it is not about the build: %+v", s.Subject)
	}
}

// What the provenance of a small build adds to a publish, in requests and in bytes.
func TestWhatTheProvenanceCosts(t *testing.T) {
	t.Parallel()
	repo, rig := newRepository(t), newRig(t)
	files := map[string]string{"module.json": `{"module": "site", "resources": [{"id": "f", "type": "file", "path": "/opt/site", "from": "f"}]}`, "f": "text"}
	var counts []int
	for n := range 2 {
		files["f"] += "x"
		before := rig.registry.requests.Load()
		q := repo.request(repo.commit(files), "")
		a := rig.build(q)
		if a.Outcome != build.OutcomeBuilt {
			t.Fatal(a.Why)
		}
		counts = append(counts, int(rig.registry.requests.Load()-before))
		checkProvenance(t, rig, q, a)
		m, err := rig.registry.client.PullManifest(t.Context(), "site", a.Provenance)
		must(t, err)
		t.Logf("build %d: %d requests, %d bytes signed", n+1, counts[n], m.Layers[0].Size)
		if m.Layers[0].Size > 4<<10 {
			t.Errorf("%d bytes are signed for one file", m.Layers[0].Size)
		}
	}
	// Of a blob: is it there, where to, the bytes, and read back; of a manifest: the bytes, and read back. A file, the built manifest and the build: 10.
	// The provenance: 4 for what is signed, 2 for its manifest, and 1 to find the empty config there, or 4.
	if want := []int{20, 17}; !slices.Equal(counts, want) {
		t.Errorf("%v requests, want %v", counts, want)
	}
}
