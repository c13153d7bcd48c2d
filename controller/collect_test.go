package controller

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"noxmesh/api"
	"noxmesh/delivery/artifact"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/loop"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/registry"
	inventorystore "noxmesh/inventory/store"
)

// store is a rig with a registry in which builds really lie.
type store struct {
	*rig
	client *oci.Client
}

func newStore(t *testing.T) *store {
	t.Helper()
	r := newRig(t)
	reg, err := registry.New(registry.Config{Dir: t.TempDir(), Authorize: func(context.Context, registry.Access) error { return nil }})
	r.must(err)
	srv := httptest.NewServer(reg)
	t.Cleanup(func() {
		srv.Close()
		r.must(reg.Close())
	})
	client, err := oci.New(oci.Config{Base: srv.URL, User: "b", Secret: "s"})
	r.must(err)
	t.Cleanup(client.Close)
	r.stores = client
	r.restart()
	r.edges.registry = reg
	r.cfg.Grace = -r.cfg.Limit // nothing is young
	return &store{r, client}
}

// publish builds what the source is at, and publishes it.
func (s *store) publish(module, text string) artifact.Build {
	s.t.Helper()
	s.repo(module, text)
	s.step(module)
	b := s.build(module)
	body := module + " " + text
	blob := oci.Blob{Repository: module, Digest: document.Sum([]byte(body)), Size: int64(len(body))}
	s.must(s.client.PushBlob(s.t.Context(), blob, strings.NewReader(body)))
	d, err := s.client.PushManifest(s.t.Context(), module, oci.Manifest{Config: oci.Descriptor{MediaType: oci.MediaBuilt, Digest: blob.Digest, Size: blob.Size}})
	s.must(err)
	s.tx(func(tx *db.Tx) error {
		tx.Changed("build", string(b.ID))
		_, err := tx.Exec(`UPDATE build SET published = $1 WHERE id = $2`, string(d), string(b.ID))
		return err
	})
	b.Published = d
	return b
}

func (s *store) on(b artifact.Build) error {
	return s.declare(s.t.Context(), deliverystore.DeclareWrite{Module: b.Module, Build: b.ID, Nodes: []string{testNode}, By: "anna", At: clock.Now()})
}

func (s *store) shows(b artifact.Build) bool {
	s.t.Helper()
	has, err := s.client.HasManifest(s.t.Context(), b.Module, b.Published)
	s.must(err)
	return has
}

func (s *store) gc(look bool) api.CollectOut {
	s.t.Helper()
	out, err := s.answerCollect(s.t.Context(), api.Who{}, api.CollectIn{Look: look})
	s.must(err)
	return out
}

func why(out api.CollectOut, b artifact.Build) string {
	for _, k := range out.Kept {
		if k.Build == string(b.ID) {
			return strings.Join(k.Why, " ")
		}
	}
	return ""
}

// What can be declared again stays; what nothing names is gone, the record says
// so, and it cannot be declared; made again, it is there as if it had never left.
func TestWhatNothingNamesIsCollected(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.repo("site", "one")
	s.add("site", api.ModuleAddIn{Repository: s.address("site")})
	s.node()
	s.assign("site")
	one := s.publish("site", "one")
	s.must(s.on(one))
	two := s.publish("site", "two")
	s.must(s.on(two))
	three, four := s.publish("site", "three"), s.publish("site", "four")

	look := s.gc(true)
	if !s.shows(three) || len(look.Builds) != 1 || !look.Look {
		t.Fatalf("a look: %+v", look)
	}
	got := s.gc(false)
	for b, want := range map[*artifact.Build]string{&one: "written", &two: "declared written", &three: "", &four: "current fit newest"} {
		if why(look, *b) != want || why(got, *b) != want {
			t.Errorf("%s is kept because %q, and before %q: want %q", b.Manifest.Built.Commit, why(got, *b), why(look, *b), want)
		}
		if s.shows(*b) != (want != "") {
			t.Errorf("%q: shows %v", want, s.shows(*b))
		}
	}
	if len(got.Builds) != 1 || got.Builds[0].Build != string(three.ID) || got.Blobs != 2 || got.Bytes < 10 || got.Blobs != look.Blobs || got.Bytes != look.Bytes || got.KeptBytes != look.KeptBytes {
		t.Errorf("%+v\nand the look %+v", got, look)
	}
	list, err := s.answerBuilds(t.Context(), api.Who{}, api.BuildsIn{Module: "site"})
	s.must(err)
	for _, b := range list.Builds {
		if b.Collected.IsZero() == (b.Build == string(three.ID)) {
			t.Errorf("%s: collected %v", b.Build, b.Collected)
		}
	}
	_, err = s.answerDeclare(t.Context(), api.Who{Name: "anna"}, api.DeclareIn{Module: "site", Build: string(three.ID)})
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), three.ID.Short()+" has no bytes any more: it was collected on ") {
		t.Errorf("%v", err)
	}
	s.must(s.on(one)) // rolled back
	if again := s.gc(false); len(again.Builds)+again.Blobs+again.Manifests != 0 {
		t.Errorf("the next one: %+v", again)
	}
	if again := s.publish("site", "three"); again.Content != three.Content || !again.Collected.IsZero() || s.on(again) != nil {
		t.Errorf("made again: %+v", again)
	}
	s.tx(func(tx *db.Tx) error {
		return inventorystore.SetFinding(tx, testNode, "has accepted 1/9, which this record never issued")
	})
	if _, err := s.answerCollect(t.Context(), api.Who{}, api.CollectIn{}); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "nothing is collected") {
		t.Errorf("an older record collects: %v", err)
	}
}

// What a node was told it may still fetch, though nothing else names it; what a
// module that left had is gone when no node has it.
func TestWhatAModuleLeftBehindIsCollected(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.repo("site", "one")
	s.add("site", api.ModuleAddIn{Repository: s.address("site")})
	s.node()
	s.assign("site")
	one := s.publish("site", "one")
	s.must(s.on(one))
	_, err := s.declareStep(t.Context(), testNode)
	s.must(err)
	s.tx(func(tx *db.Tx) error {
		if err := inventorystore.Unassign(tx, "site", testNode); err != nil {
			return err
		}
		if err := deliverystore.Undeclare(tx, "site", testNode); err != nil {
			return err
		}
		return deliverystore.RemoveModule(tx, "site", clock.Now())
	})
	if out := s.gc(false); why(out, one) != "told" || !s.shows(one) {
		t.Errorf("kept because %q, and shows %v", why(out, one), s.shows(one))
	}
	s.tx(func(tx *db.Tx) error { return inventorystore.RemoveNode(tx, testNode, clock.Now()) })
	s.cfg.Grace = 0 // and half an hour
	if out := s.gc(false); why(out, one) != "written young" {
		t.Errorf("it has just left: %q", why(out, one))
	}
	s.cfg.Grace = -s.cfg.Limit
	if out := s.gc(false); len(out.Builds) != 1 || s.shows(one) || out.Kept == nil || out.KeptBlobs != 0 {
		t.Errorf("it has left: %+v", out)
	}
}

// Nothing is taken of a module that a builder may be publishing, and of it only.
func TestWhatIsBeingBuiltIsNotCollectedFrom(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, name := range []string{"site", "board"} {
		s.repo(name, "one")
		s.add(name, api.ModuleAddIn{Repository: s.address(name)})
	}
	site, board := s.publish("site", "one"), s.publish("board", "one")
	s.publish("site", "two")
	s.publish("board", "two")
	s.repo("site", "three")
	s.step("site")
	_, err := s.buildStep(t.Context(), "site")
	s.must(err)
	s.tx(func(tx *db.Tx) error {
		_, err := deliverystore.Lease(tx, deliverystore.Leasing{Builder: "builder1", Platform: "linux/amd64", Sandbox: true, Now: clock.Now(), Lease: s.cfg.Lease})
		return err
	})
	out := s.gc(false)
	if !slices.Equal(out.Busy, []string{"site"}) || s.shows(board) || !s.shows(site) || len(out.Builds) != 1 || out.Builds[0].Build != string(board.ID) {
		t.Errorf("%+v", out)
	}
	s.collecting <- struct{}{}
	if _, err := s.answerCollect(t.Context(), api.Who{}, api.CollectIn{}); fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "under way") {
		t.Errorf("two at once: %v", err)
	}
	<-s.collecting
	s.edges.registry = nil
	if _, err := s.answerCollect(t.Context(), api.Who{}, api.CollectIn{}); fault.KindOf(err) != fault.Conflict {
		t.Errorf("without a registry: %v", err)
	}
}

// The timer waits until the nodes have been heard.
func TestTheFirstCollectionWaits(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	result, err := s.collectStep(t.Context(), collectKey)
	if err != nil || result.After <= 0 || result.After > collectSettled {
		t.Errorf("%+v %v", result, err)
	}
	s.conduct.since = s.conduct.since.Add(-collectSettled)
	if result, err = s.collectStep(t.Context(), collectKey); err != nil || result != (loop.Result{}) {
		t.Errorf("%+v %v", result, err)
	}
}

// What is older than the newest, has no bytes and is named by nothing leaves the
// record, and the list says so; what can be declared again stays with all that is
// known of it.
func TestWhatIsOldLeavesTheRecord(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.repo("site", "zero")
	s.add("site", api.ModuleAddIn{Repository: s.address("site")})
	s.node()
	s.assign("site")
	var all []artifact.Build
	for i, text := range []string{"one", "two", "three", "four", "five"} {
		b := s.publish("site", text)
		if i == 1 {
			s.must(s.on(b))
		}
		s.tx(func(tx *db.Tx) error { return deliverystore.AppendLog(tx, b.Request, 0, "said "+text) })
		all = append(all, b)
	}
	list := func() (requests []string, removed []api.RemovedOut) {
		out, err := s.answerBuilds(t.Context(), api.Who{}, api.BuildsIn{Module: "site"})
		s.must(err)
		for _, b := range out.Builds {
			requests = append(requests, b.Request)
		}
		slices.Sort(requests)
		return requests, out.Removed
	}
	want := func(which ...int) (requests []string) {
		for _, i := range which {
			requests = append(requests, all[i].Request)
		}
		slices.Sort(requests)
		return requests
	}
	s.cfg.KeepBuilds = 2
	if first := s.gc(false); first.Lines != 0 || len(first.Builds) != 3 {
		t.Errorf("what has bytes leaves the record: %+v", first)
	}
	look := s.gc(true)
	got, _ := list()
	if look.Lines != 2 || !slices.Equal(got, want(0, 1, 2, 3, 4)) {
		t.Errorf("a look: %d lines, and the list is %v", look.Lines, got)
	}
	if second := s.gc(false); second.Lines != 2 || second.LogBytes == 0 {
		t.Errorf("the second collection: %+v", second)
	}
	got, removed := list()
	if !slices.Equal(got, want(1, 3, 4)) || len(removed) != 1 || removed[0].Module != "site" || removed[0].Builds != 2 || removed[0].At.IsZero() {
		t.Errorf("the list is %v, and removed %+v", got, removed)
	}
	_, err := s.answerBuild(t.Context(), api.Who{}, api.BuildIn{Build: string(all[0].ID)})
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(fault.HintOf(err), "retention") {
		t.Errorf("one that has left is asked for: %v", err)
	}
	if _, err := s.recheckStep(t.Context(), ""); err != nil {
		t.Errorf("what is in memory is not the record: %v", err)
	}

	s.cfg.KeepLogs = 1
	if third := s.gc(false); third.Logs != 3 || third.Lines != 0 {
		t.Errorf("the third collection: %+v", third)
	}
	l, err := s.answerLog(t.Context(), api.Who{}, api.LogIn{Build: string(all[1].ID)})
	if err != nil || l.Text != "" || l.Removed.IsZero() || !l.Complete {
		t.Errorf("a log that was removed: %+v %v", l, err)
	}
	if again := s.gc(false); again.Logs+again.Lines != 0 {
		t.Errorf("a fourth time: %+v", again)
	}
	s.must(s.on(all[1])) // it can still be rolled back to
}
