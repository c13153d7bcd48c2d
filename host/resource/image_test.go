package resource

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/container"
	"noxmesh/host/keep"
	"noxmesh/image"
)

// slow is a runner to which an image takes a minute to come.
type slow struct {
	runner
	mu     sync.Mutex
	pulled []string
	there  map[string]string // by its name here: its digest
}

func (*slow) Name() string { return "slow" }

func (s *slow) Stores() []string { return nil } // nothing of it is on a disk

func (s *slow) Image(_ context.Context, name string) (container.Image, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	digest, there := s.there[name]
	return container.Image{ID: digest, Digests: []string{digest}}, there, nil
}

func (s *slow) Pull(ctx context.Context, name string) error {
	time.Sleep(time.Minute)
	if strings.Contains(name, "bad") {
		return errors.New("no such image")
	}
	of, ok := image.Parse(name)
	if !ok {
		return errors.New("no name of an image")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pulled = append(s.pulled, name)
	s.there[localName(of)] = of.Digest
	return ctx.Err()
}

// Images come side by side, each once, and one that does not come stands in nobody's way.
func TestImagesComeSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		digest := "@" + string(document.Sum(nil))
		by := &slow{there: map[string]string{}}
		var all []*holding
		for _, name := range []string{"a", "bad", "b", "a", "c", "d"} {
			h := &holding{want: declaration.Traits{Name: name, Image: "docker.io/library/" + name + digest}, hold: keep.Hold{Subject: "container " + name}}
			h.found.memory = newContained(h, by)
			all = append(all, h)
		}
		began := time.Now()
		bringImages(t.Context(), &pass{}, all)
		if took := time.Since(began); took != 2*time.Minute { // four at once, and one after them
			t.Errorf("five images of a minute each took %s", took)
		}
		slices.Sort(by.pulled)
		if want := []string{"a", "b", "c", "d"}; !slices.EqualFunc(by.pulled, want, func(got, name string) bool { return got == "docker.io/library/"+name+digest }) {
			t.Errorf("pulled %q", by.pulled)
		}
		for i, h := range all {
			c, _ := h.found.memory.(*contained)
			if bad := i == 1; (h.err != nil) != bad || (c.image.ID == "") != bad {
				t.Errorf("%s: %v %+v", h.want.Name, h.err, c.image)
			}
		}
	})
}
