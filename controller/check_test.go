package controller

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"noxmesh/api"
	"noxmesh/archive"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/delivery/verdict"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/link"
	"noxmesh/manifest"
)

// pushIndex packs files and pushes what says which they are.
func (s *store) pushIndex(module string, files map[string]string) (document.Digest, build.Packed) {
	s.t.Helper()
	dir := s.t.TempDir()
	for name, text := range files {
		s.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	root, err := os.OpenRoot(dir)
	s.must(err)
	defer root.Close()
	var body bytes.Buffer
	packed, err := archive.Pack(s.t.Context(), root, &body)
	s.must(err)
	small, err := archive.CompressIndex(packed.Index)
	s.must(err)
	id, err := packed.Index.Digest()
	s.must(err)
	p := build.Packed{Index: document.Sum(small), IndexSize: int64(len(small)), Blob: packed.Blob, Size: packed.Size}
	s.must(s.client.PushBlob(s.t.Context(), oci.Blob{Repository: module, Digest: p.Index, Size: p.IndexSize}, bytes.NewReader(small)))
	s.must(s.client.PushBlob(s.t.Context(), oci.Blob{Repository: module, Digest: p.Blob, Size: p.Size}, &body))
	return id, p
}

// answers is what a builder makes of a request: an archive of these files.
func (s *store) answers(builder, request string, files map[string]string) build.Answer {
	s.t.Helper()
	var r deliverystore.RequestRow
	s.tx(func(tx *db.Tx) (err error) {
		only, err := alone(tx, link.Work{Builder: builder, Platform: "linux/amd64"}, clock.Now())
		if err != nil {
			return err
		}
		_, err = deliverystore.Lease(tx, deliverystore.Leasing{Builder: builder, Platform: "linux/amd64", Sandbox: true, Checks: true, Alone: only, Now: clock.Now(), Lease: time.Minute})
		if err != nil {
			return err
		}
		r, err = deliverystore.Request(tx, request)
		return err
	})
	digest, packed := s.pushIndex(r.Module, files)
	m := manifest.Built{
		Format: 1, Module: r.Module, Resources: []manifest.BuiltResource{{ID: "www", Type: "archive", Path: "/opt/www", Digest: digest}},
		Built: manifest.Provenance{Commit: r.Commit, Tree: r.Tree, Platform: r.Platform, Closure: r.Closure},
	}
	whole, err := m.BuildDigest()
	s.must(err)
	content, err := m.ContentDigest()
	s.must(err)
	a := build.Answer{
		Format: 1, Mesh: s.mesh, Request: request, Builder: builder, Outcome: build.OutcomeBuilt, Build: whole, Content: content, Manifest: &m,
		Published: document.Sum([]byte("published")), Where: &build.Where{Archives: map[document.Digest]build.Packed{digest: packed}}, Tests: build.TestsNone,
	}
	s.tx(func(tx *db.Tx) error {
		_, err := deliverystore.SaveAnswer(tx, deliverystore.AnswerRow{Answer: a, Envelope: []byte("{}"), Verdict: verdict.Judge(a), At: clock.Now()})
		return err
	})
	return a
}

// A build is made once more and compared, file by file; nothing else comes of it.
func TestABuildIsChecked(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.stores = shelved{Client: s.client}
	s.restart()
	s.repo("site", "one")
	s.add("site", api.ModuleAddIn{Repository: s.address("site")})
	s.step("site")
	_, err := s.buildStep(t.Context(), "site")
	s.must(err)
	list, err := s.answerBuilds(t.Context(), api.Who{}, api.BuildsIn{})
	s.must(err)
	request := list.Builds[0].Request
	ask := func(word string) (api.CheckOut, error) {
		return s.answerCheck(t.Context(), api.Who{Name: "anna"}, api.BuildIn{Build: word})
	}
	if _, err := ask(request); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "it is open") {
		t.Errorf("one that is not built is checked: %v", err)
	}
	first := s.answers("builder1", request, map[string]string{"a": "1", "b": "2"})
	show := func() api.BuildShowOut {
		out, err := s.answerBuild(t.Context(), api.Who{}, api.BuildIn{Build: request})
		s.must(err)
		return out
	}
	if b := show(); b.Reproducible != "never checked" || b.Build != string(first.Build) {
		t.Errorf("before: %+v", b)
	}
	one, err := ask(string(first.Build))
	s.must(err)
	if again, err := ask(one.Request); err != nil || !again.Already || again.Request != one.Request || one.Of != request || one.Already {
		t.Errorf("asked twice: %+v and %+v, %v", one, again, err)
	}
	s.must(s.upToDate(t.Context()))
	held := s.book.is
	s.answers("builder2", one.Request, map[string]string{"a": "1", "b": "2"})
	if b := show(); b.Reproducible != "yes" || len(b.Checks) != 1 || !b.Checks[0].Same || b.Finding != "" {
		t.Errorf("made again alike: %+v", b)
	}
	two, err := ask(request)
	s.must(err)
	other := s.answers("builder2", two.Request, map[string]string{"a": "1", "b": "3", "c": "4"})
	compare := func() { // as the loop does, which lists and then looks
		_, err := s.buildNames(t.Context())
		s.must(err)
		_, err = s.buildStep(t.Context(), "site")
		s.must(err)
	}
	compare()
	b := show()
	if b.Reproducible != "no" || len(b.Checks) != 2 || b.Checks[0].Same || b.Checks[0].Made != string(other.Build) || !strings.Contains(b.Finding, "not reproducible") {
		t.Fatalf("made again otherwise: %+v", b)
	}
	s.must(s.upToDate(t.Context()))
	if s.book.is != held {
		t.Error("what came of the checks had the whole record read anew")
	}
	files := []api.FileDifference{{Path: "b", What: archive.BytesDiffer}, {Path: "c", What: archive.Added}}
	if d := b.Checks[0].Differences; len(d) != 1 || d[0].Artifact != "www" || d[0].Type != "archive" || !slices.Equal(d[0].Files, files) {
		t.Errorf("it differs in %+v", d)
	}
	if m := s.status().Modules[0]; m.Built == nil || m.Built.Build != string(first.Build) || !m.Built.Current || m.Building != nil || !strings.Contains(m.Finding, "not reproducible") {
		t.Errorf("the module is %+v", m)
	}
	list, err = s.answerBuilds(t.Context(), api.Who{}, api.BuildsIn{})
	s.must(err)
	for _, b := range list.Builds {
		if is := b.Request != request; is != (b.Check == request) || is && (b.Verdict != "" || b.Build != "") {
			t.Errorf("in the list: %+v", b)
		}
	}

	// What is no longer in the registry is not compared, and says why.
	three, err := ask(request)
	s.must(err)
	s.answers("builder2", three.Request, map[string]string{"z": "1"})
	s.stores = quiet{}
	s.restart()
	compare()
	if d := show().Checks[0].Differences; len(d) != 1 || len(d[0].Files) != 0 || !strings.Contains(d[0].Why, "there is no blob") {
		t.Errorf("without its bytes it differs in %+v", d)
	}
}
