package controller

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/registry"
	"noxmesh/report"
)

// shelved is a registry whose blobs are really there, and every manifest.
type shelved struct {
	quiet
	*oci.Client
}

func (s shelved) HasManifest(context.Context, string, document.Digest) (bool, error) {
	return true, nil
}

func (s shelved) HasBlob(ctx context.Context, repository string, d document.Digest, size int64) (bool, error) {
	return s.Client.HasBlob(ctx, repository, d, size)
}

func (s shelved) PullManifest(ctx context.Context, repository string, d document.Digest) (oci.Manifest, error) {
	return s.Client.PullManifest(ctx, repository, d)
}

func (s shelved) PullBytes(ctx context.Context, b oci.Blob) ([]byte, error) {
	return s.Client.PullBytes(ctx, b)
}

// stored is a rig whose controller keeps a real registry, and module site in it.
type stored struct {
	*rig
	client *oci.Client
	dir    string
}

func newStored(t *testing.T) stored {
	t.Helper()
	r := stored{rig: newRig(t), dir: t.TempDir()}
	reg, err := registry.New(registry.Config{Dir: r.dir, Authorize: func(context.Context, registry.Access) error { return nil }})
	r.must(err)
	srv := httptest.NewServer(reg)
	t.Cleanup(func() {
		srv.Close()
		r.must(reg.Close())
	})
	r.client, err = oci.New(oci.Config{Base: srv.URL, User: "b", Secret: "s"})
	r.must(err)
	t.Cleanup(r.client.Close)
	r.stores = shelved{Client: r.client}
	r.restart()
	r.edges.registry = reg
	r.repo("site", "first")
	r.add("site", api.ModuleAddIn{Repository: r.address("site")})
	r.step("site")
	return r
}

// push publishes one blob as builders do, and is its digest.
func (r stored) push(text string) document.Digest {
	r.t.Helper()
	blob := oci.Blob{Repository: "site", Digest: document.Sum([]byte(text)), Size: int64(len(text))}
	r.must(r.client.PushBlob(r.t.Context(), blob, strings.NewReader(text)))
	return blob.Digest
}

// rot changes a blob of one byte where it lies on the disk.
func (r stored) rot(d document.Digest) {
	r.t.Helper()
	name := strings.TrimPrefix(string(d), "sha256:")
	r.must(os.WriteFile(filepath.Join(r.dir, "docker/registry/v2/blobs/sha256", name[:2], name, "data"), []byte("o"), 0o600))
}

// asked is the open requests after one more comparison.
func (r stored) asked() (open []deliverystore.RequestRow) {
	r.t.Helper()
	_, err := r.buildStep(r.t.Context(), "site")
	r.must(err)
	r.must(r.record.Read(r.t.Context(), func(tx *db.Tx) (err error) {
		open, err = deliverystore.Requests(tx, "site", deliverystore.Open)
		return err
	}))
	return open
}

// weed looks at every byte that the registry keeps.
func (r stored) weed() {
	r.t.Helper()
	r.weeded = time.Time{}
	result, err := r.weedStep(r.t.Context(), weedKey)
	r.must(err)
	if result.After != 0 {
		r.t.Errorf("the first look waits %s", result.After)
	}
}

// X23: what has rotted in the registry is found, gone from it, and built again.
func TestWhatHasRottedIsBuiltAgain(t *testing.T) {
	t.Parallel()
	r := newStored(t)
	blob := r.push("x")
	r.library("site", "x")
	if n := len(r.asked()); n != 0 {
		t.Fatalf("nothing has rotted, and %d are asked for", n)
	}
	r.rot(blob)
	if n := len(r.asked()); n != 0 {
		t.Fatalf("nobody has looked at the bytes, and %d are asked for", n)
	}
	r.weed()
	if n := len(r.asked()); n != 1 {
		t.Errorf("%d are asked for, want 1", n)
	}
	// A node that says so again and again does not have it all read again and again.
	if result, err := r.weedStep(t.Context(), weedKey); err != nil || result.After <= 0 || result.After > weedGap {
		t.Errorf("soon after: %+v %v", result, err)
	}
}

// lost is what status says of builds that the registry does not have.
func (r stored) lost() string {
	r.t.Helper()
	var out []string
	for _, l := range r.status().Modules[0].Lost {
		if l.Since.IsZero() {
			r.t.Errorf("nobody says since when %s is gone", l.Build)
		}
		out = append(out, fmt.Sprintf("%d of %s on %d, mends %v: %s", len(out)+1, l.Commit[:7], l.Nodes, l.Mends, l.Says))
	}
	return strings.Join(out, "\n")
}

// again answers the one open request as the builder that made b before would.
func (r stored) again(b artifact.Build, with func(*build.Answer)) {
	r.t.Helper()
	r.tx(func(tx *db.Tx) error {
		q, err := deliverystore.Lease(tx, deliverystore.Leasing{Builder: "builder1", Platform: "linux/amd64", Sandbox: true, Now: clock.Now(), Lease: time.Minute})
		if err != nil {
			return err
		}
		a := build.Answer{Format: build.Format, Mesh: "mesh0001", Request: q.ID, Builder: "builder1"}
		if with != nil {
			with(&a)
		} else {
			a.Outcome, a.Tests, a.Build, a.Content, a.Manifest, a.Where, a.Published = build.OutcomeBuilt, build.TestsNone, b.ID, b.Content, &b.Manifest, &b.Where, b.Published
		}
		_, err = deliverystore.SaveAnswer(tx, deliverystore.AnswerRow{Answer: a, Envelope: []byte(`{}`), Verdict: verdict.Judge(a), At: clock.Now()})
		return err
	})
}

// TR2: what a machine is declared to have, and what somebody may go back to, is
// looked for too; what is lost of it is said at its module and made again of what
// it was made of, one after the other.
func TestWhatIsDeclaredAndRottenIsBuiltAgain(t *testing.T) {
	t.Parallel()
	r := newStored(t)
	r.node()
	r.assign("site")
	text := []string{"1", "2", "3"}
	var made []artifact.Build
	for i, one := range text {
		if i > 0 {
			r.repo("site", one)
			r.step("site")
		}
		r.push(one)
		r.library("site", one)
		_, f, _, err := r.factsOf(t.Context(), "site")
		r.must(err)
		made = append(made, *delivery.CurrentBuild(f))
		if i < 2 { // the third is current, and nobody has declared it
			r.must(r.declare(t.Context(), deliverystore.DeclareWrite{Module: "site", Build: made[i].ID, Nodes: []string{testNode}, By: "anna", At: clock.Now()}))
		}
	}
	if n, says := len(r.asked()), r.lost(); n != 0 || says != "" {
		t.Fatalf("nothing is lost; %d are asked for, and status says %q", n, says)
	}
	r.rot(document.Sum([]byte("1")))
	r.rot(document.Sum([]byte("2")))
	r.weed()
	first, second := made[0].Manifest.Built.Commit[:7], made[1].Manifest.Built.Commit[:7]
	open := r.asked()
	if len(open) != 1 || open[0].Commit != made[1].Manifest.Built.Commit || open[0].Attempt != 2 {
		t.Fatalf("asked for: %+v", open)
	}
	waits := "it is to be built again, and waits for a builder for linux/amd64, none has joined"
	if got, want := r.lost(), "1 of "+second+" on 1, mends true: "+waits+"\n2 of "+first+" on 0, mends true: it is to be built again"; got != want {
		t.Errorf("status says\n%s\nwant\n%s", got, want)
	}
	if again := r.asked(); len(again) != 1 || again[0].ID != open[0].ID {
		t.Fatalf("a second look asks for %d", len(again))
	}
	r.push("2")
	r.again(made[1], nil)
	open = r.asked()
	if len(open) != 1 || open[0].Commit != made[0].Manifest.Built.Commit {
		t.Fatalf("the second is there again; asked for: %+v", open)
	}
	// The commit of the other is gone: somebody has to be told.
	r.again(made[0], func(a *build.Answer) {
		a.Outcome, a.Step, a.Why = build.OutcomeFailed, build.StepClone, "the commit is not there any more"
	})
	if n := len(r.asked()); n != 0 {
		t.Errorf("%d are asked for at once after one that failed", n)
	}
	if got, want := r.lost(), "1 of "+first+" on 0, mends false: the last attempt to build it again: clone failed: the commit is not there any more; nobody can go back to it"; got != want {
		t.Errorf("status says\n%s\nwant\n%s", got, want)
	}
	// Somebody puts its bytes back: that is seen too.
	r.push("1")
	for range 16 { // it is looked for now and then
		r.asked()
	}
	if got := r.lost(); got != "" {
		t.Errorf("its bytes are back, and status says %s", got)
	}
}

// A node that was given other bytes brings a look about, and nothing else does.
func TestWhoIsGivenOtherBytesBringsALookAbout(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]bool{
		oci.OtherBytes + " sha256:00: what came is sha256:01": true, "frame 3 of the archive has not the digest that the table gives it": true, "no space left on device": false, "": false,
	} {
		r := report.Report{Resources: []report.Resource{{ID: "site/a", State: report.StateOK}, {ID: "site/b", State: report.StateFailed, Error: says}}}
		if got := suspects(r); got != want {
			t.Errorf("%q: %v", says, got)
		}
	}
}
