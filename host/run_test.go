package host

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/internal/fault"
	"noxmesh/link"
	"noxmesh/report"
)

const (
	testMesh = "meshmesh"
	testNode = "nodenode"
)

func key(t testing.TB, n byte) link.Key {
	t.Helper()
	k, err := link.KeyFromSeed(bytes.Repeat([]byte{n}, 32))
	must(t, err)
	return k
}

// controller is the far end of the link: it hears, and answers as it is told.
type controller struct {
	t       testing.TB
	changed chan struct{}
	blobs   *memoryBlobs

	mu      sync.Mutex // guards what follows
	sign    link.Key   // a declare key
	keys    *link.Envelope
	current *link.Envelope // the declaration to answer with, where it is not what was accepted
	tuple   declaration.Tuple
	deaf    bool // no answer to anything
	lossy   bool // reports are taken and the receipts lost
	twist   func(*link.HelloAnswer)
	bend    func(*link.Receipt)
	hellos  []link.Hello
	given   []int64 // when each hello was answered
	reports []report.Report
}

func newController(t testing.TB) *controller {
	t.Helper()
	c := &controller{t: t, changed: make(chan struct{}, 1), sign: key(t, 2), blobs: &memoryBlobs{bodies: map[document.Digest][]byte{}}}
	c.changed <- struct{}{}
	return c
}

func (c *controller) Changed() <-chan struct{} { return c.changed }

func (c *controller) Request(_ context.Context, subject string, data []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf {
		return nil, fault.New(fault.Unavailable, "nobody answers")
	}
	envelope, err := link.DecodeEnvelope(data)
	must(c.t, err)
	verb, from, err := link.From(subject)
	must(c.t, err)
	if from != testNode {
		c.t.Errorf("spoke on %q", subject)
	}
	if verb == link.VerbHello {
		return c.hear(envelope)
	}
	return c.take(envelope)
}

// node is whoever signs for the node: these tests know its key.
func (c *controller) node() link.PublicKey { return key(c.t, 3).Public() }

func (c *controller) hear(envelope link.Envelope) ([]byte, error) {
	payload, err := envelope.Open(link.TypeHello, c.node())
	must(c.t, err)
	h, err := link.DecodeHello(payload)
	must(c.t, err)
	c.hellos = append(c.hellos, h)
	a := link.HelloAnswer{Format: link.Format, Mesh: h.Mesh, Node: h.Node, Counter: h.Counter, At: time.Now().UnixMilli(), Keys: c.keys}
	a.Current = h.Accepted == c.tuple
	if !a.Current {
		a.Declaration = c.current
	}
	if c.twist != nil {
		c.twist(&a)
	}
	c.given = append(c.given, a.At)
	return c.sealed(link.TypeHelloAnswer, a)
}

func (c *controller) take(envelope link.Envelope) ([]byte, error) {
	payload, err := envelope.Open(link.TypeReport, c.node())
	must(c.t, err)
	r, err := report.Decode(payload)
	must(c.t, err)
	c.reports = append(c.reports, r)
	if c.lossy {
		return nil, fault.New(fault.Unavailable, "the receipt was lost")
	}
	receipt := link.Receipt{Format: link.Format, Mesh: r.Mesh, To: r.Node, For: strconv.FormatInt(r.Sequence, 10), At: time.Now().UnixMilli()}
	if c.bend != nil {
		c.bend(&receipt)
	}
	return c.sealed(link.TypeReceipt, receipt)
}

func (c *controller) sealed(t link.PayloadType, v any) ([]byte, error) {
	e, err := link.Seal(c.sign, t, v)
	must(c.t, err)
	return document.Canonical(e)
}

func (c *controller) set(f func(*controller)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

// declare makes a declaration what the node should be, and returns its envelope.
func (c *controller) declare(d declaration.Declaration) link.Envelope {
	e := signed(c.t, c.sign, d)
	tuple, err := d.Tuple()
	must(c.t, err)
	c.set(func(c *controller) { c.current, c.tuple = &e, tuple })
	return e
}

func signed(t testing.TB, k link.Key, d declaration.Declaration) link.Envelope {
	t.Helper()
	e, err := link.Seal(k, link.TypeDeclaration, d)
	must(t, err)
	return e
}

func (c *controller) lastHello() link.Hello {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.hellos) == 0 {
		c.t.Fatal("no hello came")
	}
	return c.hellos[len(c.hellos)-1]
}

func (c *controller) lastReport() report.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.reports) == 0 {
		c.t.Fatal("no report came")
	}
	return c.reports[len(c.reports)-1]
}

func (c *controller) counts() (hellos, reports int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.hellos), len(c.reports)
}

// declared is a declaration of files, by path; a content that begins with
// "blob:" is not in it.
func declared(c *controller, generation int64, files ...string) declaration.Declaration {
	d := declaration.Declaration{
		Format: declaration.Format, Mesh: testMesh, Node: testNode, Name: "n", Epoch: 1, Generation: generation,
		Body:  declaration.Body{Modules: []declaration.Module{{Module: "m", Content: document.Sum([]byte{byte(generation)})}}},
		Where: declaration.Where{Inline: map[document.Digest]string{}, Blobs: map[document.Digest]declaration.Blob{}},
	}
	for i := 0; i < len(files); i += 2 {
		path, content := files[i], files[i+1]
		digest := document.Sum([]byte(content))
		if strings.HasPrefix(content, "blob:") {
			c.blobs.mu.Lock()
			c.blobs.bodies[digest] = []byte(content)
			c.blobs.mu.Unlock()
			d.Where.Blobs[digest] = declaration.Blob{Repository: "m", Size: int64(len(content))}
		} else {
			d.Where.Inline[digest] = content
		}
		d.Body.Resources = append(d.Body.Resources, declaration.Resource{
			ID: "m/" + strings.Trim(strings.ReplaceAll(path, "/", "-"), "-"), Type: declaration.File,
			Path: path, Mode: "0644", Digest: digest, Size: int64(len(content)),
		})
	}
	return d
}

// started is a node that runs.
type started struct {
	*runner
	t    testing.TB
	root string
	stop func()
}

// turn is a time in which the drift timer goes off in any case.
func (s *started) turn() time.Duration { return s.cfg.Drift + s.cfg.Drift/10 + time.Second }

func configured(root string) Config {
	cfg := Default()
	cfg.Root, cfg.Version, cfg.Log = root, "test", slog.New(slog.DiscardHandler)
	return cfg
}

// joinedRoot is a machine that has joined the mesh, with keys that the tests know.
func joinedRoot(t testing.TB) string {
	t.Helper()
	root := memory(t)
	n, err := open(configured(root))
	must(t, err)
	k, err := keysFor(n.folder, "")
	must(t, err)
	must(t, n.close())
	must(t, os.Remove(filepath.Join(root, keep.Path, "identity")))
	n, err = open(configured(root))
	must(t, err)
	must(t, n.folder.SaveIdentity(keep.Identity{
		Sign: hex.EncodeToString(key(t, 3).Seed()), Nats: string(k.nats), Seal: k.seal.Reveal(),
	}))
	must(t, n.folder.SaveJoined(keep.Joined{
		Mesh: testMesh, Node: testNode, Name: "n", Root: key(t, 1).Public(), Keys: keyDocument(t, 1, 2),
	}))
	must(t, n.close())
	return root
}

func keyDocument(t testing.TB, version int64, declareKeys ...byte) link.Envelope {
	t.Helper()
	k := link.Keys{Format: link.Format, Mesh: testMesh, Version: version}
	for _, n := range declareKeys {
		k.Declare = append(k.Declare, key(t, n).Public())
	}
	e, err := link.Seal(key(t, 1), link.TypeKeys, k)
	must(t, err)
	return e
}

// begin starts the node at root. It is inside a bubble: time stands still while it waits.
func begin(t testing.TB, root string, c *controller) *started {
	t.Helper()
	return beginOn(t, root, c, c.blobs)
}

// beginOn is begin with these registries.
func beginOn(t testing.TB, root string, c *controller, d Depots) *started {
	t.Helper()
	return beginWith(t, configured(root), c, d)
}

func (s *started) is(path, want string) {
	s.t.Helper()
	if got := describe(filepath.Join(s.root, path)); got != want {
		s.t.Errorf("%s is %q, want %q", path, got, want)
	}
}

func (s *started) pushed(e link.Envelope) {
	s.t.Helper()
	b, err := document.Canonical(e)
	must(s.t, err)
	s.push(b)
}

// bubble runs a test in which an hour costs nothing.
func bubble(t *testing.T, f func(t *testing.T, c *controller, root string)) {
	t.Helper()
	root := joinedRoot(t)
	synctest.Test(t, func(t *testing.T) { f(t, newController(t), root) })
}

func TestDeclarationComesWithTheFirstHello(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		d := declared(c, 7, "/a", "one", "/b", "blob: two")
		c.declare(d)
		s := begin(t, root, c)
		defer s.stop()
		synctest.Wait()
		s.is("/a", "one")
		s.is("/b", "blob: two")
		time.Sleep(time.Second)
		synctest.Wait()
		tuple, err := d.Tuple()
		must(t, err)
		r := c.lastReport()
		if r.Outcome != report.OutcomeApplied || r.Applied != tuple || r.Accepted != tuple || r.Cause != report.CauseDeclaration || r.Facts == nil {
			t.Errorf("report %+v", r)
		}
		if h := c.lastHello(); h.Accepted != tuple || h.Refused != nil || h.Counter == 0 || h.Keys != 1 || len(h.Speaks) != 1 {
			t.Errorf("hello %+v", h)
		}
		latest, err := s.folder.Latest()
		must(t, err)
		if !latest.Committed {
			t.Error("the receipt came and is not kept")
		}
		if _, reports := c.counts(); reports != 1 {
			t.Errorf("%d reports", reports)
		}
	})
}

func TestTheHelpNamesTheTimers(t *testing.T) {
	t.Parallel()
	for what, is := range map[string]time.Duration{"between two hellos": Default().Heartbeat, "between two looks for drift": Default().Drift} {
		if want := what + " (" + strings.TrimSuffix(is.String(), "0s") + ")"; !strings.Contains(usage, want) {
			t.Errorf("the help does not say %q", want)
		}
	}
}

func TestHeartbeatAndDriftAreTwoTimers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/a", "one"))
		s := begin(t, root, c)
		defer s.stop()
		time.Sleep(10 * time.Second)
		must(t, os.WriteFile(filepath.Join(root, "a"), []byte("by hand"), 0o644))
		hellos, _ := c.counts()
		time.Sleep(time.Hour)
		synctest.Wait()
		after, reports := c.counts()
		if n := after - hellos; n < 60 || n > 121 {
			t.Errorf("%d hellos in an hour", n)
		}
		least, most := int(time.Hour/s.turn()), int(time.Hour/(s.cfg.Drift-s.cfg.Drift/10))+1
		if reports < 1+least || reports > 1+most {
			t.Errorf("%d reports in an hour and a bit, want %d to %d: one for the declaration and one for each look", reports, 1+least, 1+most)
		}
		c.saysHowFresh()
		s.is("/a", "one")
		c.mu.Lock()
		first := c.reports[1]
		c.mu.Unlock()
		if first.Cause != report.CauseDrift || !first.Resources[0].Fixed || first.Facts != nil {
			t.Errorf("the first look for drift: %+v", first)
		}
	})
}

func TestPushIsAppliedAndReceiptIsTheNextHello(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		s := begin(t, root, c)
		defer s.stop()
		time.Sleep(time.Second)
		before, _ := c.counts()
		d := declared(c, 3, "/a", "one")
		s.pushed(c.declare(d))
		time.Sleep(time.Second)
		synctest.Wait()
		tuple, err := d.Tuple()
		must(t, err)
		after, _ := c.counts()
		if h := c.lastHello(); after != before+1 || h.Accepted != tuple {
			t.Errorf("%d hellos after the push, the last says %+v", after-before, h.Accepted)
		}
		s.is("/a", "one")
		// The same once more: silently fine, and heard.
		s.pushed(signed(t, c.sign, d))
		time.Sleep(time.Second)
		synctest.Wait()
		if h := c.lastHello(); h.Refused != nil || h.Accepted != tuple {
			t.Errorf("the same again: %+v", h)
		}
	})
}

func TestWhatComesDuringAnApplyIsAppliedNext(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.blobs.gate = make(chan struct{})
		s := begin(t, root, c)
		defer s.stop()
		first := c.declare(declared(c, 1, "/a", "blob: 1"))
		s.pushed(first)
		synctest.Wait() // it hangs in the registry
		if kept, err := s.folder.Accepted(); err != nil || !bytes.Equal(kept.Payload, first.Payload) {
			t.Errorf("before the first effect, the state holds %s %v", kept.Payload, err)
		}
		two := declared(c, 2, "/a", "blob: 2")
		s.pushed(c.declare(two))
		time.Sleep(time.Second)
		tuple, err := two.Tuple()
		must(t, err)
		if h := c.lastHello(); h.Accepted != tuple {
			t.Errorf("during an apply it says %+v", h.Accepted)
		}
		close(c.blobs.gate)
		time.Sleep(time.Second)
		synctest.Wait()
		s.is("/a", "blob: 2")
		if r := c.lastReport(); r.Applied != tuple {
			t.Errorf("applied %+v", r.Applied)
		}
	})
}

func TestReportIsKeptUntilItsReceipt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.lossy = true
		c.declare(declared(c, 1, "/a", "one"))
		s := begin(t, root, c)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s.stop()
		first := c.lastReport()
		if _, n := c.counts(); n < 3 {
			t.Errorf("tried %d times in two minutes", n)
		}
		c.set(func(c *controller) { c.lossy, c.deaf, c.reports = false, true, nil })
		s = begin(t, root, c)
		defer s.stop()
		synctest.Wait()
		c.set(func(c *controller) { c.deaf = false })
		c.changed <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := c.lastReport(); got.Sequence <= first.Sequence {
			t.Errorf("sequence %d after %d: it went down or stood still", got.Sequence, first.Sequence)
		}
		if _, n := c.counts(); n != 1 {
			t.Errorf("%d reports after the receipt", n)
		}
	})
}

func TestReceiptsThatAreNotBelieved(t *testing.T) {
	t.Parallel()
	for name, bend := range map[string]func(*link.Receipt){
		"another mesh":   func(r *link.Receipt) { r.Mesh = "othermesh" },
		"another node":   func(r *link.Receipt) { r.To = "othernode" },
		"another report": func(r *link.Receipt) { r.For += "0" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *controller, root string) {
				c.bend = bend
				c.declare(declared(c, 1, "/a", "one"))
				s := begin(t, root, c)
				defer s.stop()
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				latest, err := s.folder.Latest()
				must(t, err)
				if _, n := c.counts(); latest.Committed || n < 3 {
					t.Errorf("committed %v, told %d times", latest.Committed, n)
				}
			})
		})
	}
}

func TestOfflineItGoesOn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/a", "one"))
		s := begin(t, root, c)
		time.Sleep(time.Second)
		s.stop()
		must(t, os.Remove(filepath.Join(root, "a")))
		c.deaf = true
		s = begin(t, root, c)
		defer s.stop()
		synctest.Wait()
		s.is("/a", "one")
		must(t, os.Remove(filepath.Join(root, "a")))
		time.Sleep(s.turn())
		synctest.Wait()
		s.is("/a", "one")
	})
}

func TestTroubleIsCountedAndTryingGoesOn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		plant(t, filepath.Join(root, "a/in/the/way"), "x")
		c.declare(declared(c, 1, "/a", "one", "/b", "two"))
		s := begin(t, root, c)
		defer s.stop()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		r := c.lastReport()
		if r.Outcome != report.OutcomeFailed || r.Trouble == nil || r.Trouble.Count < 3 || r.Trouble.Since > r.Began {
			t.Fatalf("after two minutes: %+v %+v", r.Outcome, r.Trouble)
		}
		c.mu.Lock()
		for i, r := range c.reports {
			if r.Trouble.Count != int64(i+1) || r.Trouble.Fingerprint != c.reports[0].Trouble.Fingerprint || r.Trouble.Since != c.reports[0].Trouble.Since {
				t.Errorf("report %d counts %+v", i, r.Trouble)
			}
		}
		c.mu.Unlock()
		must(t, os.RemoveAll(filepath.Join(root, "a")))
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if r := c.lastReport(); r.Outcome != report.OutcomeApplied || r.Trouble != nil {
			t.Errorf("mended: %+v %+v", r.Outcome, r.Trouble)
		}
	})
}

func TestRegistryIsWaitedFor(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.blobs.absent = true
		d := declared(c, 1, "/a", "blob: a", "/b", "here")
		c.declare(d)
		s := begin(t, root, c)
		defer s.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		r := c.lastReport()
		tuple, err := d.Tuple()
		must(t, err)
		if r.Resources[0].State != report.StateWaiting || r.Trouble != nil || r.Applied == tuple || len(report.AppliedModules(r)) != 0 {
			t.Errorf("while the registry is away: %+v", r)
		}
		if e := r.Resources[0].Error; !strings.Contains(e, "r.example") || !strings.Contains(e, "waiting since 2000-01-01T00:00:0") {
			t.Errorf("it does not say for what and since when: %q", e)
		}
		s.is("/b", "here")
		c.blobs.mu.Lock()
		c.blobs.absent = false
		c.blobs.mu.Unlock()
		time.Sleep(5*time.Minute + 30*time.Second)
		synctest.Wait()
		s.is("/a", "blob: a")
		if r := c.lastReport(); r.Applied != tuple {
			t.Errorf("it came back: %+v", r)
		}
	})
}

func TestKeyDocumentIsFollowed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		s := begin(t, root, c)
		time.Sleep(time.Second)
		next := keyDocument(t, 2, 4)
		c.set(func(c *controller) { c.sign, c.keys = key(t, 4), &next })
		c.declare(declared(c, 1, "/a", "one"))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s.is("/a", "one")
		if h := c.lastHello(); h.Keys != 2 {
			t.Errorf("it holds key document %d", h.Keys)
		}
		// The key that was replaced declares no more, also after a restart.
		s.stop()
		s = begin(t, root, c)
		defer s.stop()
		s.pushed(signed(t, key(t, 2), declared(c, 2, "/a", "by the old key")))
		time.Sleep(time.Second)
		synctest.Wait()
		s.is("/a", "one")
		if h := c.lastHello(); h.Refused == nil || h.Keys != 2 {
			t.Errorf("it says %+v", h)
		}
	})
}

func TestAnswersThatAreNotBelieved(t *testing.T) {
	t.Parallel()
	forged := func(n byte) func(*testing.T, *controller) {
		return func(t *testing.T, c *controller) { c.sign = key(t, n) }
	}
	twisted := func(f func(*link.HelloAnswer)) func(*testing.T, *controller) {
		return func(_ *testing.T, c *controller) { c.twist = f }
	}
	cases := map[string]func(*testing.T, *controller){
		"another key":      forged(9),
		"the node's key":   forged(3),
		"the root's key":   forged(1),
		"another mesh":     twisted(func(a *link.HelloAnswer) { a.Mesh = "othermesh" }),
		"another node":     twisted(func(a *link.HelloAnswer) { a.Node = "othernode" }),
		"an older hello's": twisted(func(a *link.HelloAnswer) { a.Counter-- }),
		"keys of a stranger": func(t *testing.T, c *controller) {
			k := link.Keys{Format: link.Format, Mesh: testMesh, Version: 5, Declare: []link.PublicKey{key(t, 9).Public()}}
			e, err := link.Seal(key(t, 9), link.TypeKeys, k)
			must(t, err)
			c.sign, c.keys = key(t, 9), &e
		},
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *controller, root string) {
				c.declare(declared(c, 1, "/a", "one"))
				spoil(t, c)
				s := begin(t, root, c)
				defer s.stop()
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				s.is("/a", "")
				if h := c.lastHello(); h.Accepted != none || h.Keys != 1 {
					t.Errorf("it accepted %+v", h)
				}
			})
		})
	}
}

// TestRefusals signs everything that a host must not accept, and holds that it
// says so, keeps what it had, and does nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	held := func(c *controller) declaration.Declaration { return declared(c, 5, "/a", "held") }
	with := func(change func(*declaration.Declaration)) func(*testing.T, *controller) link.Envelope {
		return func(t *testing.T, c *controller) link.Envelope {
			d := declared(c, 6, "/a", "wrong", "/b", "wrong")
			change(&d)
			return signed(t, key(t, 2), d)
		}
	}
	raw := func(v any) func(*testing.T, *controller) link.Envelope {
		return func(t *testing.T, _ *controller) link.Envelope {
			// Signed by the right key, whatever it says.
			e, err := link.Seal(key(t, 2), link.TypeDeclaration, v)
			must(t, err)
			return e
		}
	}
	cases := map[string]func(*testing.T, *controller) link.Envelope{
		"unsigned": func(t *testing.T, c *controller) link.Envelope {
			e := with(func(*declaration.Declaration) {})(t, c)
			e.Signatures = nil
			return e
		},
		"another key": func(t *testing.T, c *controller) link.Envelope {
			return signed(t, key(t, 9), declared(c, 6, "/a", "wrong"))
		},
		"the root itself": func(t *testing.T, c *controller) link.Envelope {
			return signed(t, key(t, 1), declared(c, 6, "/a", "wrong"))
		},
		"the node itself": func(t *testing.T, c *controller) link.Envelope {
			return signed(t, key(t, 3), declared(c, 6, "/a", "wrong"))
		},
		"another type": func(t *testing.T, c *controller) link.Envelope {
			e, err := link.Seal(key(t, 2), link.TypeBuildRequest, declared(c, 6, "/a", "wrong"))
			must(t, err)
			return e
		},
		"relabelled": func(t *testing.T, c *controller) link.Envelope {
			e, err := link.Seal(key(t, 2), link.TypeReceipt, declared(c, 6, "/a", "wrong"))
			must(t, err)
			e.PayloadType = link.TypeDeclaration
			return e
		},
		"changed after": func(t *testing.T, c *controller) link.Envelope {
			e := with(func(*declaration.Declaration) {})(t, c)
			e.Payload = bytes.Replace(e.Payload, []byte("wrong"), []byte("other"), 1)
			return e
		},
		"another mesh":       with(func(d *declaration.Declaration) { d.Mesh = "othermesh" }),
		"another node":       with(func(d *declaration.Declaration) { d.Node = "othernode" }),
		"older generation":   with(func(d *declaration.Declaration) { d.Generation = 4 }),
		"older epoch":        with(func(d *declaration.Declaration) { d.Epoch, d.Generation = 0, 900 }),
		"equal, but another": with(func(d *declaration.Declaration) { d.Generation = 5 }),
		"a newer format":     with(func(d *declaration.Declaration) { d.Format = 2 }),
		"generation zero":    with(func(d *declaration.Declaration) { d.Generation = 0 }),
		"unknown type":       with(func(d *declaration.Declaration) { d.Body.Resources[0].Type = "exec" }),
		"the state":          with(func(d *declaration.Declaration) { d.Body.Resources[0].Path = "/var/lib/mesh-host/record" }),
		"the configuration":  with(func(d *declaration.Declaration) { d.Body.Resources[0].Path = "/etc/mesh-host/x" }),
		"the unit":           with(func(d *declaration.Declaration) { d.Body.Resources[0].Path = "/etc/systemd/system/mesh-host.service" }),
		"proc":               with(func(d *declaration.Declaration) { d.Body.Resources[0].Path = "/proc/sys/kernel/core_pattern" }),
		"the root":           with(func(d *declaration.Declaration) { d.Body.Resources[0].Path = "/" }),
		"traversal":          with(func(d *declaration.Declaration) { d.Body.Resources[0].Path = "/x/../../etc/passwd" }),
		"relative":           with(func(d *declaration.Declaration) { d.Body.Resources[0].Path = "etc/passwd" }),
		"trailing slash":     with(func(d *declaration.Declaration) { d.Body.Resources[0].Path = "/etc/x/" }),
		"two slashes":        with(func(d *declaration.Declaration) { d.Body.Resources[0].Path = "//etc/x" }),
		"one path twice":     with(func(d *declaration.Declaration) { d.Body.Resources[1].Path = "/a" }),
		"one id twice":       with(func(d *declaration.Declaration) { d.Body.Resources[1].ID = d.Body.Resources[0].ID }),
		"setuid":             with(func(d *declaration.Declaration) { d.Body.Resources[0].Mode = "4755" }),
		"after nothing":      with(func(d *declaration.Declaration) { d.Body.Resources[0].After = []string{"m/none"} }),
		"after itself":       with(func(d *declaration.Declaration) { d.Body.Resources[0].After = []string{d.Body.Resources[0].ID} }),
		"no digest":          with(func(d *declaration.Declaration) { d.Body.Resources[0].Digest = "sha256:0" }),
		"other bytes":        with(func(d *declaration.Declaration) { d.Body.Resources[0].Size++ }),
		"nowhere":            with(func(d *declaration.Declaration) { d.Where.Inline = nil }),
		"unknown module":     with(func(d *declaration.Declaration) { d.Body.Modules = nil }),
		"unknown key":        raw(map[string]any{"format": 1, "artifact": "x"}),
		"not an object":      raw([]string{}),
		"empty":              raw(struct{}{}),
		"a string":           raw("declaration"),
	}
	if len(cases) < 36 {
		t.Fatalf("%d cases", len(cases))
	}
	for name, wrong := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *controller, root string) {
				d := held(c)
				c.declare(d)
				s := begin(t, root, c)
				defer s.stop()
				time.Sleep(time.Second)
				s.pushed(wrong(t, c))
				time.Sleep(time.Second)
				synctest.Wait()
				tuple, err := d.Tuple()
				must(t, err)
				h := c.lastHello()
				if h.Accepted != tuple || h.Refused == nil || h.Refused.Why == "" {
					t.Errorf("it says accepted %+v, refused %+v", h.Accepted, h.Refused)
				}
				s.is("/a", "held")
				s.is("/b", "")
				// And so after a restart: what it has accepted is on the disk.
				s.stop()
				s = begin(t, root, c)
				defer s.stop()
				synctest.Wait()
				s.is("/a", "held")
				s.pushed(c.declare(declared(c, 6, "/a", "next")))
				time.Sleep(time.Second)
				synctest.Wait()
				s.is("/a", "next")
				if h := c.lastHello(); h.Refused != nil {
					t.Errorf("accepted, and it still says %+v", h.Refused)
				}
			})
		})
	}
}

// TestAwayForMonths takes the last declaration at once, with all that was
// removed between.
func TestAwayForMonths(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *controller, root string) {
		c.declare(declared(c, 1, "/a", "1", "/old/x", "1"))
		s := begin(t, root, c)
		time.Sleep(time.Second)
		s.stop()
		time.Sleep(90 * 24 * time.Hour)
		c.declare(declared(c, 400, "/a", "400", "/new/x", "400"))
		c.changed <- struct{}{}
		s = begin(t, root, c)
		defer s.stop()
		time.Sleep(time.Second)
		synctest.Wait()
		s.is("/a", "400")
		s.is("/old", "")
		s.is("/new/x", "400")
	})
}

// memoryBlobs is a registry in memory.
type memoryBlobs struct {
	mu     sync.Mutex // guards what follows
	bodies map[document.Digest][]byte
	absent bool
	gate   chan struct{} // each pull waits for it, where there is one
}

func (m *memoryBlobs) At(string) (Blobs, error) { return m, nil }

func (m *memoryBlobs) Pull(ctx context.Context, b Blob, w io.Writer) error {
	m.mu.Lock()
	body, absent, gate := m.bodies[b.Digest], m.absent, m.gate
	m.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if absent {
		return fault.New(fault.Unavailable, "registry \"r.example\" does not answer")
	}
	_, err := w.Write(body)
	return err
}

func (m *memoryBlobs) Read(_ context.Context, b Blob, off, n int64) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return io.NopCloser(bytes.NewReader(m.bodies[b.Digest][off : off+n])), nil
}
