package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"noxmesh/declaration"
	"noxmesh/host"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
	"noxmesh/internal/invariant"
	"noxmesh/link"
	"noxmesh/report"
)

// node is one machine: its disk, and the host that runs on it or does not.
type node struct {
	w    *world
	name string
	id   string
	key  link.Key
	root string

	run     *program
	heard   func([]byte)
	changed chan struct{}

	history  []invariant.Accepted
	most     int64             // the highest sequence of its reports
	looks    []look            // its disk before each pass, and before anybody else changed it
	keeps    *os.File          // the folder of the host's state; nil where it is not open
	files    map[string]file   // the state files as they were last seen
	foreign  map[string]string // what somebody else has put there
	touched  map[string]bool   // what somebody else has changed
	proven   map[declaration.Module]bool
	whole    map[declaration.Tuple]bool // declarations that it has read back as a whole
	said     map[string]bool            // reports that its key has signed
	restored bool                       // its disk is older than what the record knows of it
	excused  int64                      // reports up to this were committed in another record
	snapshot string
	astray   map[string]bool // what somebody else had changed in it
}

func keyOf(name string) link.Key {
	seed := sha256.Sum256([]byte("the key of " + name))
	k, err := link.KeyFromSeed(seed[:])
	if err != nil {
		panic(err)
	}
	return k
}

// join makes a machine that has joined the mesh.
func (w *world) join(name string) *node {
	n := &node{
		w: w, name: name, id: name + "node", key: keyOf(name), root: filepath.Join(w.dir, name),
		foreign: map[string]string{}, proven: map[declaration.Module]bool{}, whole: map[declaration.Tuple]bool{}, said: map[string]bool{},
	}
	n.forgetDisk()
	w.must(os.Mkdir(n.root, 0o755))
	sys, err := system.Open(n.root)
	w.must(err)
	f, err := keep.Open(sys)
	w.must(err)
	w.must(f.SaveIdentity(keep.Identity{Sign: hex.EncodeToString(n.key.Seed()), Nats: w.fixed.nats, Seal: w.fixed.seal}))
	w.must(f.SaveJoined(keep.Joined{Mesh: w.who.Mesh, Node: n.id, Name: name, Root: w.who.Root, Keys: w.who.Keys}))
	w.must(f.Close())
	w.must(sys.Close())
	w.nodes = append(w.nodes, n)
	return n
}

func (n *node) forgetDisk() {
	if n.keeps != nil {
		n.w.must(n.keeps.Close())
	}
	n.keeps = nil
	n.files, n.touched, n.history = map[string]file{}, map[string]bool{}, nil
}

// start runs the host.
func (n *node) start() {
	p := n.w.begin(n.name)
	p.host = true
	n.run, n.heard, n.changed = p, nil, make(chan struct{}, 1)
	cfg := host.Default()
	cfg.Root, cfg.Version, cfg.Log = n.root, "sim", n.w.logger(p)
	cfg.Drift, cfg.BackoffMost = 3*time.Minute, time.Minute
	rim := host.Rim{
		Link: line{p, n.changed}, Depots: shelf{p}, Random: p.random,
		Listen: func(push func([]byte)) error {
			n.heard = push
			return nil
		},
	}
	n.w.note(n.name, "starts")
	p.goes(func(ctx context.Context) {
		if err := host.On(ctx, cfg, rim); err != nil && !p.dead.Load() {
			p.why = err
		}
	})
	n.reconnect()
}

// reconnect is that the broker is there again.
func (n *node) reconnect() {
	if n.run == nil || n.run.dead.Load() {
		return
	}
	changed := n.changed
	n.w.queue.waits = append(n.w.queue.waits, &event{
		actor: "post", what: n.name + " is connected", of: n.run, due: time.Now().Add(n.w.latency()), do: func(w *world, e *event) {
			w.note(e.actor, "%s", e.what)
			select {
			case changed <- struct{}{}:
			default:
			}
		},
	})
}

// line is the host's connection to the broker.
type line struct {
	p       *program
	changed chan struct{}
}

// Request is the host's.
func (l line) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	return l.p.ask(ctx, subject, data)
}

// Changed is the host's.
func (l line) Changed() <-chan struct{} { return l.changed }

// stop kills the host, and waits until nothing of it runs.
func (n *node) stop() {
	if n.run != nil {
		n.run.die()
		n.run.runs.Wait()
		n.run = nil
	}
}

func (w *world) node(id string) *node {
	for _, n := range w.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// state is a file of the host's state, and whether it is another than at the last look.
func (n *node) state(name string) bool {
	var is unix.Stat_t
	if n.keeps == nil {
		f, err := os.Open(n.root + keep.Path)
		n.w.must(err)
		n.keeps = f
	}
	if err := unix.Fstatat(int(n.keeps.Fd()), name, &is, 0); err != nil {
		is = unix.Stat_t{}
	}
	now := file{is.Ino, is.Size, is.Mtim.Nano()}
	if n.files[name] == now {
		return false
	}
	n.files[name] = now
	return true
}

// file is what tells one file of a name from the one before it.
type file struct {
	ino  uint64
	size int64
	at   int64
}

// folder reads the host's state beside the host.
func (n *node) folder(read func(*keep.Folder)) {
	sys, err := system.Open(n.root)
	n.w.must(err)
	f, err := keep.Look(sys)
	n.w.must(err)
	read(f)
	n.w.must(f.Close())
	n.w.must(sys.Close())
}

// observe looks at what has become durable on the node since the last step.
func (n *node) observe() {
	if n.state("accepted") {
		n.folder(n.observeAccepted)
	}
}

func (n *node) observeAccepted(f *keep.Folder) {
	e, err := f.Accepted()
	if fault.KindOf(err) == fault.NotFound {
		return
	}
	n.w.must(err)
	_, wrong := e.Open(link.TypeDeclaration, n.w.who.Declare.Public())
	d, err := declaration.Decode(e.Payload)
	n.w.must(err)
	t, err := d.Tuple()
	n.w.must(err)
	n.w.note(n.name, "has accepted %d/%d %s", t.Epoch, t.Generation, t.Digest.Short())
	if len(n.history) > 0 {
		was := n.history[len(n.history)-1].Tuple
		if t.Before(was) || !was.Before(t) && t != was {
			n.w.find(invariant.I5, n.name, "it had accepted %d/%d %s", was.Epoch, was.Generation, was.Digest.Short())
		}
	}
	n.history = append(n.history, invariant.Accepted{Tuple: t, Signed: wrong == nil})
}

// look is what the paths of all modules held at one moment.
type look struct {
	at   time.Time
	held map[string]string
}

// remember keeps how the disk is now: whatever was read back since the last look
// was read back from this.
func (n *node) remember() look {
	l := look{time.Now(), map[string]string{}}
	for _, paths := range n.w.paths {
		for path := range paths {
			if text := n.read(path); text != "" && n.foreign[path] == "" {
				l.held[path] = text
			}
		}
	}
	n.looks = append(n.looks, l)
	return l
}

// when is the disk as it was when a pass ended: as it was before anything came
// after it, or as it is.
func (n *node) when(ended time.Time) look {
	for _, l := range n.looks {
		if !l.at.Before(ended) {
			return l
		}
	}
	return n.remember()
}

// judge holds a report that leaves the node against the disk that it was made of.
func (n *node) judge(data []byte) {
	e, err := link.DecodeEnvelope(data)
	n.w.must(err)
	if n.said[string(e.Payload)] {
		return
	}
	n.said[string(e.Payload)] = true
	r, err := report.Decode(e.Payload)
	n.w.must(err)
	n.most = max(n.most, r.Sequence)
	was, applied := n.when(time.UnixMilli(r.Ended)), report.AppliedModules(r)
	n.w.note(n.name, "reports %d: %s %d/%d, %d of %d applied", r.Sequence, r.Outcome, r.Accepted.Epoch, r.Accepted.Generation, len(applied), len(r.Modules))
	for _, m := range applied {
		if why := n.lacks(m, was); why != "" {
			n.w.find(invariant.I2, n.name, "report %d says that %s %s is applied, and %s", r.Sequence, m.Module, m.Content.Short(), why)
			continue
		}
		n.proven[m] = true
	}
	if r.Outcome == report.OutcomeApplied && r.Applied == r.Accepted && len(applied) == len(r.Modules) {
		n.whole[r.Accepted] = true
		n.left(r, was)
	}
}

// lacks is what was wanting on the disk for the module to be applied, or empty.
func (n *node) lacks(m declaration.Module, was look) string {
	c := n.w.content[m.Content]
	if c == nil {
		return "nobody has published that"
	}
	for path, want := range c.on {
		if got := was.held[path]; got != want {
			return fmt.Sprintf("%s held %q, want %q", path, got, want)
		}
	}
	for path := range n.w.paths[m.Module] {
		if _, wanted := c.on[path]; !wanted && was.held[path] != "" {
			return fmt.Sprintf("%s of another edition was still there", path)
		}
	}
	return ""
}

// left looks for what was on the disk of modules that the whole report does not name.
func (n *node) left(r report.Report, was look) {
	for module, paths := range n.w.paths {
		named := slices.ContainsFunc(r.Modules, func(m declaration.Module) bool { return m.Module == module })
		for path := range paths {
			if !named && was.held[path] != "" {
				n.w.find(invariant.I2, n.name, "report %d says that all is applied, and %s was still there", r.Sequence, path)
			}
		}
	}
}

func (n *node) read(path string) string {
	b, err := os.ReadFile(filepath.Join(n.root, path))
	if err != nil {
		return ""
	}
	return string(b)
}

// put is what somebody else does to the node.
func (n *node) put(path, text string) {
	at := filepath.Join(n.root, path)
	n.w.must(os.MkdirAll(filepath.Dir(at), 0o755))
	n.w.must(os.WriteFile(at, []byte(text), 0o644))
}

// copyTree copies a node's disk, for a snapshot or back.
func (w *world) copyTree(from, to string) {
	w.must(os.RemoveAll(to))
	w.must(filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dest := filepath.Join(to, strings.TrimPrefix(path, from))
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Mkdir(dest, info.Mode().Perm())
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(dest, b, info.Mode().Perm())
	}))
}
