package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/archive"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// site adds an archive with one file to a declaration; its index and its frames
// are in the registry.
func site(t *testing.T, c *controller, d *declaration.Declaration, content string) (index, frames document.Digest) {
	t.Helper()
	dir := t.TempDir()
	plant(t, filepath.Join(dir, "page"), content)
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	var b bytes.Buffer
	packed, err := archive.Pack(t.Context(), root, &b)
	must(t, err)
	compressed, err := archive.CompressIndex(packed.Index)
	must(t, err)
	digest, err := packed.Index.Digest()
	must(t, err)
	index, frames = document.Sum(compressed), document.Sum(b.Bytes())
	c.blobs.bodies[index], c.blobs.bodies[frames] = compressed, b.Bytes()
	d.Where.Archives = map[document.Digest]declaration.Packed{
		digest: {Repository: "m", Index: index, IndexSize: int64(len(compressed)), Blob: frames, Size: packed.Size},
	}
	d.Body.Resources = append(d.Body.Resources, declaration.Resource{ID: "m/site", Type: declaration.Archive, Path: "/site", Digest: digest})
	return index, frames
}

// A blob that came with the right size and other bytes is thrown away, said, and
// asked for again until it is right: without another declaration.
func TestABlobThatIsSpoiledIsAskedForUntilItIsMended(t *testing.T) {
	t.Parallel()
	page := strings.Repeat("a page of the site\n", 50)
	for name, which := range map[string]int{"body": 0, "index": 1, "frames": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *controller, root string) {
				d := declared(c, 2, "/a", "blob: new")
				index, frames := site(t, c, &d, page)
				spoiled := []document.Digest{document.Sum([]byte("blob: new")), index, frames}[which]
				good := c.blobs.bodies[spoiled]
				c.blobs.bodies[spoiled] = bytes.Clone(good)
				c.blobs.bodies[spoiled][len(good)/2] ^= 1
				c.declare(declared(c, 1, "/a", "old"))
				s := begin(t, root, c)
				defer s.stop()
				time.Sleep(time.Second)
				synctest.Wait()
				c.declare(d)
				c.changed <- struct{}{}
				time.Sleep(20 * time.Minute)
				synctest.Wait()
				if which == 0 {
					s.is("/a", "old")
				} else {
					s.is("/a", "blob: new") // the other resource goes on
					s.is("/site/page", "")
				}
				left, err := filepath.Glob(filepath.Join(root, "*/.mesh-new-*"))
				must(t, err)
				if top, _ := filepath.Glob(filepath.Join(root, ".mesh-new-*")); len(left)+len(top) > 0 {
					t.Errorf("left behind: %v %v", left, top)
				}
				r := c.lastReport()
				if r.Outcome != report.OutcomeFailed || r.Applied == r.Accepted || r.Trouble == nil || r.Trouble.Count < 4 {
					t.Errorf("it says %s, trouble %+v", r.Outcome, r.Trouble)
				}
				said := 0
				for _, res := range r.Resources {
					if res.State == report.StateFailed && res.Error != "" {
						said++
					}
				}
				if said != 1 {
					t.Errorf("%d resources say why: %+v", said, r.Resources)
				}
				c.blobs.mu.Lock()
				c.blobs.bodies[spoiled] = good
				c.blobs.mu.Unlock()
				time.Sleep(6 * time.Minute)
				synctest.Wait()
				s.is("/a", "blob: new")
				s.is("/site/page", page)
				if r := c.lastReport(); r.Outcome != report.OutcomeApplied || r.Applied != r.Accepted || r.Trouble != nil {
					t.Errorf("mended, and it says %s, trouble %+v", r.Outcome, r.Trouble)
				}
			})
		})
	}
}

// moving is registries of which only the one with this address answers.
type moving struct {
	at   string
	have *memoryBlobs
}

func (m moving) At(base string) (Blobs, error) {
	if base == m.at {
		return m.have, nil
	}
	return &memoryBlobs{absent: true}, nil
}

func TestARegistryThatMovedIsNoOtherDeclaration(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		d := declared(c, 1, "/a", "blob: one")
		d.Where.Registry = "https://old.example"
		c.declare(d)
		s := beginOn(t, root, c, moving{"https://new.example", c.blobs})
		time.Sleep(time.Hour)
		synctest.Wait()
		s.is("/a", "")
		before := c.lastHello().Accepted
		d.Where.Registry = "https://new.example"
		e := c.declare(d)
		s.pushed(e)
		time.Sleep(time.Second)
		synctest.Wait()
		s.is("/a", "blob: one")
		if h := c.lastHello(); h.Accepted != before || h.Refused != nil {
			t.Errorf("%+v", h)
		}
		s.stop()
		must(t, os.Remove(filepath.Join(root, "a")))
		s = beginOn(t, root, c, moving{"https://new.example", c.blobs}) // it has kept it
		defer s.stop()
		c.set(func(c *controller) { c.deaf = true })
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		s.is("/a", "blob: one")
		// A stranger's word on where the bytes are is not taken.
		d.Where.Registry = "https://stranger.example"
		s.pushed(signed(t, key(t, 9), d))
		time.Sleep(time.Second)
		synctest.Wait()
		if d, _ := s.member.wanted(); d.Where.Registry != "https://new.example" {
			t.Errorf("it would ask %q", d.Where.Registry)
		}
	})
}

// What could not be kept is said with each hello, and no longer when the mesh
// wants nothing more than what was: nobody declares anything just to end it.
func TestWhatCouldNotBeKeptIsOverWhenItIsWantedNoMore(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/a", "one"))
		s := begin(t, root, c)
		defer s.stop()
		time.Sleep(time.Second)
		synctest.Wait()
		c.set(func(c *controller) { c.tuple.Generation++ }) // something is wanted that does not come
		c.set(func(c *controller) { c.current = nil })
		s.member.fall(fault.New(fault.Unavailable, "no space left on device"))
		time.Sleep(2 * s.cfg.Heartbeat)
		synctest.Wait()
		if h := c.lastHello(); !strings.Contains(h.Unwell, "no space left") {
			t.Errorf("it says %q", h.Unwell)
		}
		c.set(func(c *controller) { c.tuple.Generation-- })
		time.Sleep(3 * s.cfg.Heartbeat)
		synctest.Wait()
		if h := c.lastHello(); h.Unwell != "" {
			t.Errorf("it still says %q", h.Unwell)
		}
	})
}
