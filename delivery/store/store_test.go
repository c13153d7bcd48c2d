package deliverystore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	mesh "noxmesh"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/db/dbtest"
	"noxmesh/internal/fault"
	"noxmesh/link"
	"noxmesh/manifest"
)

const (
	platform = "linux/amd64"
	lease    = time.Minute
)

// t0 is when the tests begin. The record holds whole milliseconds.
func t0() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

func wantKind(t *testing.T, err error, kind fault.Kind, says ...string) {
	t.Helper()
	if fault.KindOf(err) != kind {
		t.Fatalf("error %v is %v, want %v", err, fault.KindOf(err), kind)
	}
	for _, s := range says {
		if !strings.Contains(err.Error()+"\n"+fault.HintOf(err), s) {
			t.Errorf("error %q with hint %q does not say %q", err, fault.HintOf(err), s)
		}
	}
}

func module(name string) mesh.Module {
	return mesh.Module{Name: name, Repository: "https://forge.example/" + name, Ref: "refs/heads/main", Folder: "sub"}
}

func addModule(t *testing.T, d *db.DB, names ...string) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) error {
		for _, n := range names {
			if err := deliverystore.AddModule(tx, module(n), "ann", t0()); err != nil {
				return err
			}
		}
		return nil
	})
}

// request asks for the module at this commit.
func request(t *testing.T, module, commit string, attempt int64, at time.Time) deliverystore.RequestRow {
	t.Helper()
	r := build.Request{
		Format: build.Format, Mesh: "mesh0001", Module: module, Repository: "https://forge.example/" + module, Commit: commit,
		Tree: "tree-of-" + commit, Platform: platform, Closure: []manifest.Input{{Module: "lib", Artifact: "go", Digest: document.Sum([]byte("lib"))}},
		Attempt: attempt, Limit: 600, Registry: "https://registry.example", Target: module,
	}
	var err error
	if r.ID, err = r.Identity(); err != nil {
		t.Fatal(err)
	}
	key, err := link.KeyFromSeed(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := link.Seal(key, link.TypeBuildRequest, r)
	if err != nil {
		t.Fatal(err)
	}
	return deliverystore.RequestRow{Request: r, Envelope: envelope, MadeAt: at}
}

func add(t *testing.T, d *db.DB, rows ...deliverystore.RequestRow) {
	t.Helper()
	dbtest.Write(t, d, func(tx *db.Tx) error {
		for _, r := range rows {
			if err := deliverystore.AddRequest(tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func take(t *testing.T, d *db.DB, builder string, at time.Time) *deliverystore.RequestRow {
	t.Helper()
	var r *deliverystore.RequestRow
	dbtest.Write(t, d, func(tx *db.Tx) (err error) {
		r, err = deliverystore.Lease(tx, deliverystore.Leasing{Builder: builder, Platform: platform, Now: at, Lease: lease})
		return err
	})
	return r
}

func mustTake(t *testing.T, d *db.DB, builder string, at time.Time) deliverystore.RequestRow {
	t.Helper()
	r := take(t, d, builder, at)
	if r == nil {
		t.Fatalf("builder %s was given nothing", builder)
	}
	return *r
}

// built is an answer that made something of the request; what differs with says.
func built(t *testing.T, r deliverystore.RequestRow, builder, says string) build.Answer {
	t.Helper()
	m := manifest.Built{
		Format: 1, Module: r.Module, Summary: says,
		Resources: []manifest.BuiltResource{{ID: "site", Type: "archive", Path: "/opt/site", Digest: document.Sum([]byte(says))}},
		Built:     manifest.Provenance{Commit: r.Commit, Tree: r.Tree, Platform: r.Platform, Closure: r.Closure},
	}
	whole, err := m.BuildDigest()
	if err != nil {
		t.Fatal(err)
	}
	content, err := m.ContentDigest()
	if err != nil {
		t.Fatal(err)
	}
	index := document.Sum([]byte(says))
	return build.Answer{
		Format: build.Format, Mesh: r.Mesh, Request: r.ID, Builder: builder, Outcome: build.OutcomeBuilt, Build: whole, Content: content,
		Manifest: &m, Published: document.Sum([]byte("published " + says)), Tests: build.TestsPassed, LogSize: 5, Began: 1000, Ended: 2000,
		Where: &build.Where{Archives: map[document.Digest]build.Packed{index: {Index: index, IndexSize: 1, Blob: index, Size: 2}}},
	}
}

func save(t *testing.T, d *db.DB, a build.Answer, at time.Time) deliverystore.Saved {
	t.Helper()
	saved, err := trySave(t, d, a, at)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func trySave(t *testing.T, d *db.DB, a build.Answer, at time.Time) (saved deliverystore.Saved, err error) {
	t.Helper()
	err = d.Write(t.Context(), func(tx *db.Tx) (err error) {
		saved, err = deliverystore.SaveAnswer(tx, deliverystore.AnswerRow{Answer: a, Envelope: []byte(`{}`), Verdict: verdict.Judge(a), At: at})
		return err
	})
	return saved, err
}

// made is the module with one fit build of this content.
func made(t *testing.T, d *db.DB, module, commit string, at time.Time) document.Digest {
	t.Helper()
	add(t, d, request(t, module, commit, 1, at))
	r := mustTake(t, d, "b1", at)
	a := built(t, r, "b1", "content of "+commit)
	if got := save(t, d, a, at.Add(time.Second)); got != deliverystore.SavedFirst {
		t.Fatalf("the first answer was saved as %q", got)
	}
	return a.Build
}

func attempts(t *testing.T, d *db.DB, module string) (out []string) {
	t.Helper()
	dbtest.Read(t, d, func(tx *db.Tx) error {
		all, err := deliverystore.Builds(tx, deliverystore.Listing{Module: module})
		for _, a := range all {
			out = append(out, fmt.Sprintf("%s %s %s", a.Module, a.Commit, a.State))
		}
		return err
	})
	return out
}
