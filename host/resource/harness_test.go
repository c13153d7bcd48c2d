package resource

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"noxmesh/archive"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
	"noxmesh/report"
)

// depot is a registry in memory.
type depot struct {
	bodies   map[document.Digest][]byte
	indexes  map[document.Digest][]byte
	blobs    map[document.Digest][]byte
	absent   bool  // it does not answer
	read     int64 // bytes of blobs that were fetched
	breakOff bool  // a body ends half way
}

func newDepot() *depot {
	return &depot{bodies: map[document.Digest][]byte{}, indexes: map[document.Digest][]byte{}, blobs: map[document.Digest][]byte{}}
}

func (d *depot) away() error {
	if d.absent {
		return fault.New(fault.Unavailable, "registry %q does not answer", "r.example")
	}
	return nil
}

func (d *depot) Body(_ context.Context, digest document.Digest, _ int64, w io.Writer) error {
	if err := d.away(); err != nil {
		return err
	}
	b, ok := d.bodies[digest]
	if !ok {
		return fault.New(fault.NotFound, "no body %s", digest.Short())
	}
	if d.breakOff {
		_, err := w.Write(b[:len(b)/2])
		if err == nil {
			err = fault.New(fault.Unavailable, "broke off")
		}
		return err
	}
	_, err := w.Write(b)
	return err
}

func (d *depot) Index(_ context.Context, digest document.Digest) ([]byte, error) {
	if err := d.away(); err != nil {
		return nil, err
	}
	return d.indexes[digest], nil
}

func (d *depot) Frames(_ context.Context, digest document.Digest) (archive.Source, error) {
	if err := d.away(); err != nil {
		return nil, err
	}
	b := d.blobs[digest]
	return counting{archive.Local(bytes.NewReader(b), int64(len(b))), d}, nil
}

// Part is none: what runs containers is tested on a machine.
func (d *depot) Part(context.Context, document.Digest, document.Digest, int64, io.Writer) error {
	return d.away()
}

type counting struct {
	archive.Source
	depot *depot
}

func (c counting) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	c.depot.read += n
	return c.Source.ReadRange(ctx, off, n)
}

func (d *depot) file(id, path, content string) declaration.Resource {
	digest := document.Sum([]byte(content))
	d.bodies[digest] = []byte(content)
	return declaration.Resource{ID: id, Type: declaration.File, Path: path, Digest: digest, Size: int64(len(content))}
}

// archive packs files: a name that ends in a slash is a directory, content that
// begins with "->" a link.
func (d *depot) archive(t testing.TB, id, path string, files map[string]string) declaration.Resource {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		plant(t, filepath.Join(dir, name), content)
	}
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	var blob bytes.Buffer
	packed, err := archive.Pack(t.Context(), root, &blob)
	must(t, err)
	digest, err := packed.Index.Digest()
	must(t, err)
	index, err := archive.CompressIndex(packed.Index)
	must(t, err)
	d.indexes[digest], d.blobs[digest] = index, blob.Bytes()
	return declaration.Resource{ID: id, Type: declaration.Archive, Path: path, Digest: digest}
}

func directory(id, path, mode string) declaration.Resource {
	return declaration.Resource{ID: id, Type: declaration.Directory, Path: path, Mode: mode}
}

func symlink(id, path, target string) declaration.Resource {
	return declaration.Resource{ID: id, Type: declaration.Link, Path: path, Target: target}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// plant puts something there by another hand than the host's.
func plant(t testing.TB, full, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(full), 0o755))
	target, link := strings.CutPrefix(content, "->")
	switch {
	case strings.HasSuffix(full, "/") || content == "/":
		must(t, os.MkdirAll(full, 0o755))
	case link:
		must(t, os.Symlink(target, full))
	default:
		must(t, os.WriteFile(full, []byte(content), 0o644))
	}
}

// machine is a folder that plays a machine, with a host on it.
type machine struct {
	t      testing.TB
	dir    string
	depot  *depot
	sys    *system.Root
	folder *keep.Folder
	engine *Engine
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir(), depot: newDepot()}
	m.start()
	t.Cleanup(m.stop)
	return m
}

func (m *machine) start() {
	m.t.Helper()
	var err error
	m.sys, err = system.Open(m.dir)
	must(m.t, err)
	m.folder, err = keep.Open(m.sys)
	must(m.t, err)
	record, err := m.folder.Record()
	must(m.t, err)
	m.engine = New(m.sys, m.folder, record)
}

func (m *machine) stop() {
	must(m.t, m.folder.Close())
	must(m.t, m.sys.Close())
}

// restart is another process with the same state.
func (m *machine) restart() {
	m.t.Helper()
	m.stop()
	m.start()
}

func (m *machine) apply(resources ...declaration.Resource) Result {
	m.t.Helper()
	r, err := m.engine.Apply(m.t.Context(), declaration.Body{Resources: resources}, m.depot)
	must(m.t, err)
	return r
}

// applied is apply where everything must come out as declared.
func (m *machine) applied(resources ...declaration.Resource) Result {
	m.t.Helper()
	r := m.apply(resources...)
	if r.Outcome != report.OutcomeApplied || !r.Right {
		m.t.Fatalf("outcome %s: %s", r.Outcome, words(r))
	}
	return r
}

func (m *machine) at(path string) string { return filepath.Join(m.dir, path) }

func (m *machine) plant(path, content string) { m.t.Helper(); plant(m.t, m.at(path), content) }

// is fails where the path is not as described: "" for nothing, "/" for a
// directory, "->x" for a link, else a file's content.
func (m *machine) is(path, want string) {
	m.t.Helper()
	if got := describe(m.at(path)); got != want {
		m.t.Errorf("%s is %q, want %q", path, got, want)
	}
}

func describe(full string) string {
	info, err := os.Lstat(full)
	if err != nil {
		return ""
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		return "/"
	case fs.ModeSymlink:
		target, _ := os.Readlink(full)
		return "->" + target
	case 0:
		b, _ := os.ReadFile(full)
		return string(b)
	}
	return "?" + info.Mode().String()
}

// snapshot is everything on the machine but the host's own state, with inodes
// and times: equal snapshots mean that nothing was written.
func (m *machine) snapshot() []string {
	m.t.Helper()
	var all []string
	must(m.t, filepath.WalkDir(m.dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(p, m.dir)
		if rel == keep.Path || rel == "" || rel == "/var" || rel == "/var/lib" {
			if rel == keep.Path {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		s := info.Sys().(*syscall.Stat_t)
		all = append(all, fmt.Sprint(rel, " ", describe(p), " ", info.Mode(), " ", s.Ino, " ", s.Mtim, " ", s.Ctim))
		return nil
	}))
	slices.Sort(all)
	return all
}

func words(r Result) string {
	var b strings.Builder
	for _, res := range r.Resources {
		fmt.Fprintf(&b, "\n  %s %s found=%q error=%q fixed=%v", res.ID, res.State, res.Found, res.Error, res.Fixed)
	}
	return b.String()
}

func state(t testing.TB, r Result, id string) report.Resource {
	t.Helper()
	for _, res := range r.Resources {
		if res.ID == id {
			return res
		}
	}
	t.Fatalf("no resource %q in %s", id, words(r))
	return report.Resource{}
}

func (m *machine) state(r Result, id string, want report.State) report.Resource {
	m.t.Helper()
	got := state(m.t, r, id)
	if got.State != want {
		m.t.Errorf("%s is %s, want %s: %s", id, got.State, want, words(r))
	}
	return got
}
