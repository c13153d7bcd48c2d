package controller

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/delivery/build"
	"noxmesh/delivery/provenance"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/bus"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/registry"
	"noxmesh/link"
	"noxmesh/manifest"
)

// workbench is a builder with a good key and a credential, in a hand that may do
// with them as it likes, and a real registry.
type workbench struct {
	*rig
	client *oci.Client
	key    link.Key
}

func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	r := newRig(t)
	reg, err := registry.New(registry.Config{Dir: t.TempDir(), Authorize: func(context.Context, registry.Access) error { return nil }})
	r.must(err)
	srv := httptest.NewServer(reg)
	t.Cleanup(func() {
		srv.Close()
		r.must(reg.Close())
	})
	w := &workbench{rig: r}
	w.client, err = oci.New(oci.Config{Base: srv.URL, User: "b", Secret: "s"})
	r.must(err)
	t.Cleanup(w.client.Close)
	r.stores = w.client
	r.restart()
	w.key, err = link.NewKey()
	r.must(err)
	r.tx(func(tx *db.Tx) error {
		return identitystore.AddBuilder(tx, identitystore.BuilderRow{ID: "builder1", Name: "forge", Sign: w.key.Public(), AddedAt: clock.Now()})
	})
	r.repo("site", "first")
	r.add("site", api.ModuleAddIn{Repository: r.address("site")})
	r.step("site")
	return w
}

// taken is the request for what the module is now, with this builder.
func (w *workbench) taken() build.Request {
	w.t.Helper()
	row, f, _, err := w.factsOf(w.t.Context(), "site")
	w.must(err)
	d := delivery.Compare(f, clock.Now())
	if d.Ask == nil {
		w.t.Fatalf("nothing is to be built: %+v", d)
	}
	w.must(w.ask(w.t.Context(), row, f, *d.Ask))
	var q *deliverystore.RequestRow
	w.tx(func(tx *db.Tx) (err error) {
		q, err = deliverystore.Lease(tx, deliverystore.Leasing{Builder: "builder1", Platform: "linux/amd64", Sandbox: true, Now: clock.Now(), Lease: time.Minute})
		return err
	})
	return q.Request
}

func (w *workbench) push(text []byte, media string) oci.Descriptor {
	w.t.Helper()
	d := oci.Descriptor{MediaType: media, Digest: document.Sum(text), Size: int64(len(text))}
	w.must(w.client.PushBlob(w.t.Context(), oci.Blob{Repository: "site", Digest: d.Digest, Size: d.Size}, bytes.NewReader(text)))
	return d
}

// publishes makes what is asked, as a good builder does: the answer and all that its
// provenance is about.
func (w *workbench) publishes(q build.Request) (build.Answer, provenance.Made) {
	w.t.Helper()
	text := "first"
	m := manifest.Built{
		Format: 1, Module: "site", Resources: []manifest.BuiltResource{{ID: "f", Type: "file", Path: "/opt/site", Content: &text}},
		Built: manifest.Provenance{Commit: q.Commit, Tree: q.Tree, Platform: q.Platform, Closure: q.Closure},
	}
	body, err := m.Encode()
	w.must(err)
	out := oci.Manifest{ArtifactType: oci.MediaBuilt, Config: w.push(body, oci.MediaBuilt), Layers: []oci.Descriptor{w.push([]byte("blob"), oci.MediaFile)}}
	out.Layers[0].Annotations = map[string]string{oci.TitleAnnotation: "blob"}
	published, err := w.client.PushManifest(w.t.Context(), "site", out)
	w.must(err)
	a := build.Answer{
		Format: build.Format, Mesh: "mesh0001", Request: q.ID, Builder: "builder1", Outcome: build.OutcomeBuilt, Manifest: &m, Where: &build.Where{},
		Published: published, Tests: build.TestsNone, Log: document.Sum(nil), Began: 1_764_486_000_123, Ended: 1_764_486_001_000,
	}
	a.Build, err = m.BuildDigest()
	w.must(err)
	a.Content, err = m.ContentDigest()
	w.must(err)
	return a, provenance.Made{
		Request: q, Builder: "builder1", Manifest: m, Published: published, Blobs: blobsOf(out),
		Began: time.UnixMilli(a.Began), Finished: time.UnixMilli(a.Ended - 100),
	}
}

// attaches publishes a statement, and is the digest of the manifest that holds it.
func (w *workbench) attaches(m provenance.Made, key link.Key, change func(*provenance.Statement, *oci.Manifest)) document.Digest {
	w.t.Helper()
	s, err := provenance.Of(m)
	w.must(err)
	about := oci.Manifest{}
	change(&s, &about)
	envelope, err := link.Seal(key, link.TypeStatement, s)
	w.must(err)
	signed, err := document.Canonical(envelope)
	w.must(err)
	w.push([]byte(oci.Empty), oci.MediaEmpty)
	whole := oci.About(oci.Descriptor{MediaType: oci.MediaManifest, Digest: m.Published, Size: 1}, w.push(signed, oci.MediaProvenance))
	if about.Subject != nil {
		whole.Subject = about.Subject
	}
	if about.ArtifactType != "" {
		whole.ArtifactType = about.ArtifactType
	}
	digest, err := w.client.PushManifest(w.t.Context(), "site", whole)
	w.must(err)
	return digest
}

func (w *workbench) answers(a build.Answer) (link.Receipt, error) {
	w.t.Helper()
	envelope, err := link.Seal(w.key, link.TypeBuildAnswer, a)
	w.must(err)
	data, err := document.Canonical(envelope)
	w.must(err)
	back, err := w.answer(w.t.Context(), bus.Message{From: "builder1", Data: data})
	if err != nil {
		return link.Receipt{}, err
	}
	got, err := link.DecodeEnvelope(back)
	w.must(err)
	receipt, err := link.DecodeReceipt(got.Payload)
	w.must(err)
	return receipt, nil
}

func plainly(*provenance.Statement, *oci.Manifest) {}

func (w *workbench) shown() api.BuildOut {
	w.t.Helper()
	out, err := w.answerBuilds(w.t.Context(), api.Who{}, api.BuildsIn{Module: "site"})
	w.must(err)
	return out.Builds[0]
}

// What an honest builder says is recorded as built, and shown as it was signed.
func TestAProvenanceThatStands(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	q := w.taken()
	a, m := w.publishes(q)
	a.Provenance = w.attaches(m, w.key, plainly)
	if receipt, err := w.answers(a); err != nil || receipt.Stop != "" {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if b := w.shown(); b.State != "built" || b.Provenance != string(a.Provenance) || b.Finding != "" {
		t.Errorf("%+v", b)
	}
	for _, word := range []string{"site", q.ID[:8], string(a.Build), q.Commit[:9]} {
		out, err := w.answerProvenance(t.Context(), api.Who{}, api.ProvenanceIn{Build: word})
		if err != nil || out.Module != "site" || out.Builder != "forge" || out.Subject != string(a.Published) || out.Manifest != string(a.Provenance) ||
			out.Repository != "mesh.example.org:7443/site" && out.Repository != "site" || !strings.Contains(out.Key, "BEGIN PUBLIC KEY") {
			t.Errorf("%s: %+v, %v", word, out, err)
			continue
		}
		if s, err := provenance.Decode(out.Envelope.Payload); err != nil || s.Predicate.Run.Metadata.Request != q.ID || len(out.Envelope.Signatures) != 1 {
			t.Errorf("%+v, %v", s, err)
		}
		text, err := document.Canonical(out.Envelope)
		if err != nil || !strings.Contains(string(text), `"payload":"`+base64.StdEncoding.EncodeToString(out.Envelope.Payload)+`"`) {
			t.Errorf("it is not as others write it: %s", text)
		}
	}
	// What its builder has signed outlives the builder.
	w.tx(func(tx *db.Tx) error { return identitystore.RemoveBuilder(tx, "builder1", clock.Now()) })
	if _, err := w.answerProvenance(t.Context(), api.Who{}, api.ProvenanceIn{Build: "site"}); err != nil {
		t.Error(err)
	}
	if _, err := w.answerProvenance(t.Context(), api.Who{}, api.ProvenanceIn{Build: "ffffffff"}); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

// A builder that lies, in each way that there is: nothing is built by its answer, the
// finding says which field, and the module is asked for again.
func TestAProvenanceThatDoesNotStand(t *testing.T) {
	t.Parallel()
	other, err := link.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		lie  func(w *workbench, a *build.Answer, m provenance.Made)
		want string
	}{
		"none": {func(*workbench, *build.Answer, provenance.Made) {}, "there is none; upgrade the builder"},
		"not there": {func(_ *workbench, a *build.Answer, _ provenance.Made) {
			a.Provenance = document.Sum([]byte("nowhere"))
		}, "answered 404"},
		"another's key": {func(w *workbench, a *build.Answer, m provenance.Made) { a.Provenance = w.attaches(m, other, plainly) }, "no signature of"},
		"another commit": {func(w *workbench, a *build.Answer, m provenance.Made) {
			m.Request.Commit = strings.Repeat("c", 40)
			a.Provenance = w.attaches(m, w.key, plainly)
		}, `externalParameters.commit says "cccccc`},
		"another builder": {func(w *workbench, a *build.Answer, m provenance.Made) {
			m.Builder = "builder2"
			a.Provenance = w.attaches(m, w.key, plainly)
		}, `builder.id says "mesh:mesh0001/builder/builder2"`},
		"another request": {func(w *workbench, a *build.Answer, m provenance.Made) {
			m.Request.ID = strings.Repeat("0", 32)
			a.Provenance = w.attaches(m, w.key, plainly)
		}, "metadata.invocationId"},
		"another input": {func(w *workbench, a *build.Answer, m provenance.Made) {
			m.Request.Closure = []manifest.Input{{Module: "x", Artifact: "x", Digest: document.Sum(nil)}}
			a.Provenance = w.attaches(m, w.key, plainly)
		}, "resolvedDependencies[1]"},
		"fewer artifacts": {func(w *workbench, a *build.Answer, m provenance.Made) {
			m.Blobs = nil
			a.Provenance = w.attaches(m, w.key, plainly)
		}, "subject[3].name is missing"},
		"another time": {func(w *workbench, a *build.Answer, m provenance.Made) {
			m.Finished = time.UnixMilli(a.Ended + 1)
			a.Provenance = w.attaches(m, w.key, plainly)
		}, "runDetails.metadata"},
		"attached elsewhere": {func(w *workbench, a *build.Answer, m provenance.Made) {
			a.Provenance = w.attaches(m, w.key, func(_ *provenance.Statement, o *oci.Manifest) {
				o.Subject = &oci.Descriptor{MediaType: oci.MediaManifest, Digest: document.Sum(nil), Size: 1}
			})
		}, "is about manifest e3b0c442"},
		"of another kind": {func(w *workbench, a *build.Answer, m provenance.Made) {
			a.Provenance = w.attaches(m, w.key, func(_ *provenance.Statement, o *oci.Manifest) { o.ArtifactType = "application/x" })
		}, "holds no provenance"},
		"the build itself": {func(_ *workbench, a *build.Answer, _ provenance.Made) { a.Provenance = a.Published }, "is about no other manifest"},
		"no statement": {func(w *workbench, a *build.Answer, m provenance.Made) {
			a.Provenance = w.attaches(m, w.key, func(s *provenance.Statement, _ *oci.Manifest) { s.Type = "x" })
		}, `at _type: "x"`},
		"published something else": {func(w *workbench, a *build.Answer, m provenance.Made) {
			d, err := w.client.PushManifest(w.t.Context(), "site", oci.Manifest{Config: w.push([]byte("x"), oci.MediaBuilt)})
			w.must(err)
			m.Published, m.Blobs, a.Published = d, nil, d
			a.Provenance = w.attaches(m, w.key, plainly)
		}, "is of build 2d711642"},
		"published nothing": {func(w *workbench, a *build.Answer, m provenance.Made) {
			m.Published, a.Published = document.Sum([]byte("no")), document.Sum([]byte("no"))
			a.Provenance = w.attaches(m, w.key, plainly)
		}, "answered 404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkbench(t)
			q := w.taken()
			a, m := w.publishes(q)
			c.lie(w, &a, m)
			receipt, err := w.answers(a)
			if err != nil || !strings.Contains(receipt.Stop, c.want) {
				t.Fatalf("%q, %v, want %q", receipt.Stop, err, c.want)
			}
			b := w.shown()
			if b.State != "environment" || b.Build != "" || !strings.Contains(b.Finding, "the provenance of what builder forge built does not stand: ") || !strings.Contains(b.Finding, c.want) {
				t.Errorf("%+v", b)
			}
			_, f, _, err := w.factsOf(t.Context(), "site")
			w.must(err)
			if len(f.Builds) != 0 {
				t.Errorf("built: %+v", f.Builds)
			}
			if failing := delivery.FailingOf(f); failing == nil || !strings.Contains(failing.Says, c.want) {
				t.Errorf("status does not say it: %+v", failing)
			}
			if d := delivery.Compare(f, clock.Now().Add(time.Hour)); d.Ask == nil || d.Ask.Attempt != 2 || d.Declare != nil {
				t.Errorf("it is not asked for again: %+v", d)
			}
			if _, err := w.answerProvenance(t.Context(), api.Who{}, api.ProvenanceIn{Build: "site"}); fault.KindOf(err) != fault.NotFound {
				t.Error(err)
			}
		})
	}
}

// A registry that does not answer is nobody's lie: nothing is recorded, and the
// builder says it again.
func TestAProvenanceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorkbench(t)
	a, m := w.publishes(w.taken())
	a.Provenance = w.attaches(m, w.key, plainly)
	w.pull = unanswering{}
	if receipt, err := w.answers(a); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if b := w.shown(); b.State != "leased" {
		t.Errorf("%+v", b)
	}
	w.pull = w.client
	if receipt, err := w.answers(a); err != nil || receipt.Stop != "" || w.shown().State != "built" {
		t.Errorf("%+v, %v, %+v", receipt, err, w.shown())
	}
	// One that refuses the controller is no builder's lie either.
	if kind := fault.KindOf(pulled(fault.New(fault.Denied, "no"))); kind != fault.Unavailable {
		t.Errorf("%s", kind)
	}
}

// What a check made is no build, and needs no provenance.
func TestACheckNeedsNoProvenance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := build.Answer{Outcome: build.OutcomeBuilt}
	for check, needs := range map[string]bool{"": true, strings.Repeat("1d", 16): false} {
		finding, err := r.proven(t.Context(), identitystore.BuilderRow{Name: "forge"}, build.Request{Check: check}, a)
		if err != nil || (finding != "") != needs {
			t.Errorf("%q: %q, %v", check, finding, err)
		}
	}
}

type unanswering struct{ quiet }

func (unanswering) PullManifest(context.Context, string, document.Digest) (oci.Manifest, error) {
	return oci.Manifest{}, fault.New(fault.Unavailable, "registry %q", "away")
}

// What a builder of before made has none, and that is said.
func TestABuildOfBeforeHasNoProvenance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.repo("site", "first")
	r.add("site", api.ModuleAddIn{Repository: r.address("site")})
	r.tx(func(tx *db.Tx) error {
		return identitystore.AddBuilder(tx, identitystore.BuilderRow{ID: "builder1", Name: "forge", Sign: r.key.Public(), AddedAt: clock.Now()})
	})
	r.step("site")
	r.build("site")
	_, err := r.answerProvenance(t.Context(), api.Who{}, api.ProvenanceIn{Build: "site"})
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), `has no provenance: builder "forge" was of a version that says nothing of it`) {
		t.Error(err)
	}
}
