package registry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
)

// shelf is a registry that is collected from, and a builder that pushes to it.
type shelf struct {
	t   *testing.T
	dir string
	reg *Registry
	c   *oci.Client
}

func newShelf(t *testing.T, dir string) *shelf {
	t.Helper()
	reg, err := New(Config{Dir: dir, Secret: bytes.Repeat([]byte{7}, 32), Authorize: rules})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(reg)
	t.Cleanup(func() {
		srv.Close()
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	return &shelf{t, dir, reg, (&served{t, dir, srv}).builder()}
}

func (s *shelf) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) blob(size int) oci.Blob {
	s.t.Helper()
	b, data := random(s.t, size)
	s.must(s.c.PushBlob(s.t.Context(), b, bytes.NewReader(data)))
	return b
}

// publish is a manifest of these blobs, the first as its config.
func (s *shelf) publish(subject document.Digest, blobs ...oci.Blob) document.Digest {
	s.t.Helper()
	m := oci.Manifest{Config: layer(blobs[0])}
	if subject != "" {
		m.Subject = &oci.Descriptor{MediaType: oci.MediaManifest, Digest: subject, Size: 1}
	}
	for _, b := range blobs[1:] {
		m.Layers = append(m.Layers, layer(b))
	}
	digest, err := s.c.PushManifest(s.t.Context(), mine, m)
	s.must(err)
	return digest
}

func keeping(digests ...document.Digest) Named {
	n := Named{Manifests: map[document.Digest]bool{}}
	for _, d := range digests {
		n.Manifests[d] = true
	}
	return n
}

func (s *shelf) collect(before time.Time, n Named) Collected {
	s.t.Helper()
	out, err := s.reg.Collect(s.t.Context(), Collecting{Before: before, Names: func(context.Context, string) (Named, error) { return n, nil }})
	s.must(err)
	return out
}

// there is whether a blob and a manifest are there, as whoever pulls finds it.
func (s *shelf) there(b oci.Blob) bool {
	s.t.Helper()
	err := s.c.PullBlob(s.t.Context(), b, io.Discard)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		s.t.Fatal(err)
	}
	return err == nil
}

func (s *shelf) shows(d document.Digest) bool {
	s.t.Helper()
	_, err := s.c.PullManifest(s.t.Context(), mine, d)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		s.t.Fatal(err)
	}
	return err == nil
}

// onDisk is the digests of all blobs, whoever may ask for them.
func onDisk(t *testing.T, dir string) (out []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, blobs, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		out = append(out, filepath.Base(f))
	}
	slices.Sort(out)
	return out
}

func later() time.Time { return time.Now().Add(time.Hour) }

// What is named stays with all that it needs, what is not goes with all that only
// it needed, and what is about something stays and goes with it.
func TestCollectTakesWhatNothingNames(t *testing.T) {
	t.Parallel()
	s := newShelf(t, t.TempDir())
	shared, old, fresh, orphan, about, aboutOld := s.blob(1000), s.blob(2000), s.blob(3000), s.blob(4000), s.blob(500), s.blob(600)
	first, second := s.publish("", old, shared), s.publish("", fresh, shared)
	said, saidOld := s.publish(second, about), s.publish(first, aboutOld)
	aboutThat := s.publish(said, s.blob(10))

	look, err := s.reg.Collect(t.Context(), Collecting{Before: later(), Look: true, Names: func(context.Context, string) (Named, error) { return keeping(second), nil }})
	s.must(err)
	if !s.shows(first) || !s.there(orphan) {
		t.Fatal("a look took something away")
	}
	if young := s.collect(time.Now().Add(-time.Hour), keeping()); young.Manifests+young.Blobs != 0 || young.Kept == 0 {
		t.Errorf("all of it is young, and %+v", young)
	}
	if busy := s.collect(later(), Named{Busy: true}); busy.Manifests+busy.Blobs != 0 || !slices.Equal(busy.Busy, []string{mine}) {
		t.Errorf("somebody is publishing there, and %+v", busy)
	}
	got := s.collect(later(), keeping(second))
	if diff := got.Manifests != 2 || got.Blobs != 5 || got.Bytes < 2000+4000+600 || got.Kept != 7; diff {
		t.Errorf("%+v", got)
	}
	look.Busy, got.Busy = nil, nil
	if look.Manifests != got.Manifests || look.Blobs != got.Blobs || look.Bytes != got.Bytes || look.Kept != got.Kept || look.KeptBytes != got.KeptBytes {
		t.Errorf("the look said %+v, and it was %+v", look, got)
	}
	if !s.shows(second) || !s.shows(said) || !s.shows(aboutThat) || !s.there(shared) || !s.there(fresh) || !s.there(about) {
		t.Error("what is named is gone")
	}
	if s.shows(first) || s.shows(saidOld) || s.there(old) || s.there(orphan) || s.there(aboutOld) {
		t.Error("what nothing names is there")
	}
	// It is made again as if it had never been there.
	again, data := random(t, 2000)
	s.must(s.c.PushBlob(t.Context(), again, bytes.NewReader(data)))
	if d := s.publish("", again, shared); !s.shows(d) || !s.there(again) {
		t.Error("what is pushed after a collection is not there")
	}
	// Of a repository that names nothing more, nothing is left.
	s.collect(later(), keeping())
	if left := onDisk(t, s.dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Stat(filepath.Join(s.dir, repositories, mine)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is left: %v", err)
	}
	s.must(s.c.PushBlob(t.Context(), again, bytes.NewReader(data)))
	if !s.there(again) {
		t.Error("a repository that was collected takes nothing more")
	}
}

// whileReading does something once the first bytes have come.
type whileReading struct {
	do  func()
	sum int
}

func (w *whileReading) Write(p []byte) (int, error) {
	if w.sum == 0 {
		w.do()
	}
	w.sum += len(p)
	return len(p), nil
}

// A pull that is under way is read to its end.
func TestCollectLetsAPullFinish(t *testing.T) {
	t.Parallel()
	s := newShelf(t, t.TempDir())
	b := s.blob(16 << 20)
	s.publish("", b)
	w := &whileReading{do: func() {
		if got := s.collect(later(), keeping()); got.Blobs != 2 {
			t.Errorf("%+v", got)
		}
	}}
	s.must(s.c.PullBlob(t.Context(), b, w))
	if s.there(b) {
		t.Error("it is there still")
	}
}

// Whoever publishes while a collection goes on, again and again what was there
// before or was not, finds all of it afterwards; whose request is open is Busy.
func TestCollectNeverRacesAPush(t *testing.T) {
	t.Parallel()
	s := newShelf(t, t.TempDir())
	type pushed struct {
		blob oci.Blob
		data []byte
	}
	pool := make([]pushed, 6)
	for i := range pool {
		pool[i].blob, pool[i].data = random(t, 2000+i)
	}
	open := atomic.Bool{} // a request: what the record says
	published := atomic.Pointer[map[document.Digest]bool]{}
	published.Store(&map[document.Digest]bool{})
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				done <- n
				return
			default:
			}
			_, err := s.reg.Collect(context.WithoutCancel(t.Context()), Collecting{Before: later(), Names: func(context.Context, string) (Named, error) {
				return Named{Busy: open.Load(), Manifests: *published.Load()}, nil
			}})
			if err != nil {
				t.Error(err)
			}
			n++
		}
	}()
	for round := range 60 {
		open.Store(true)
		one, two := pool[round%len(pool)], pool[(round+1)%len(pool)]
		for _, p := range []pushed{one, two} {
			s.must(s.c.PushBlob(t.Context(), p.blob, bytes.NewReader(p.data)))
		}
		d := s.publish("", one.blob, two.blob)
		published.Store(&map[document.Digest]bool{d: true})
		open.Store(false)
		if !s.shows(d) || !s.there(one.blob) || !s.there(two.blob) {
			t.Fatalf("round %d: what was published is gone", round)
		}
	}
	close(stop)
	if n := <-done; n < 2 {
		t.Errorf("only %d collections", n)
	}
}

// The record that cannot be asked takes nothing away.
func TestCollectStopsWhereTheRecordDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := newShelf(t, t.TempDir())
	b := s.blob(100)
	d := s.publish("", b)
	_, err := s.reg.Collect(t.Context(), Collecting{Before: later(), Names: func(context.Context, string) (Named, error) {
		return Named{}, fault.New(fault.Unavailable, "the record is away")
	}})
	if err == nil || !strings.Contains(err.Error(), "the record is away") {
		t.Errorf("%v", err)
	}
	if !s.shows(d) || !s.there(b) {
		t.Error("something is gone")
	}
}
