package sim

import (
	"bytes"
	"context"
	"io"
	"slices"
	"time"

	"noxmesh/builder"
	"noxmesh/delivery/build"
	"noxmesh/document"
	"noxmesh/host"
	"noxmesh/internal/fault"
	"noxmesh/internal/invariant"
	"noxmesh/internal/oci"
	"noxmesh/manifest"
)

// registry is what was published. It may lie about the bytes of a blob, and may
// have lost something.
type registry struct {
	blobs     map[document.Digest][]byte
	manifests map[document.Digest]oci.Manifest
	bytes     map[document.Digest][]byte // of the manifests
	taken     []document.Digest
	lies      float64 // how often it answers with something else
	down      bool
}

func newRegistry() *registry {
	return &registry{
		blobs: map[document.Digest][]byte{}, manifests: map[document.Digest]oci.Manifest{}, bytes: map[document.Digest][]byte{},
	}
}

// shelf is the registry as one program sees it.
type shelf struct {
	p *program
}

func (s shelf) turn(ctx context.Context, what string) error {
	if err := s.p.turn(ctx, what); err != nil {
		return fault.Wrap(fault.Unavailable, err, "ask the registry")
	}
	w := s.p.w
	if w.registry.down || w.chance(0.01) {
		return fault.New(fault.Unavailable, "the registry does not answer")
	}
	return nil
}

// HasManifest is the controller's question.
func (s shelf) HasManifest(ctx context.Context, _ string, d document.Digest) (bool, error) {
	if err := s.turn(ctx, "has manifest "+d.Short()); err != nil {
		return false, err
	}
	_, ok := s.p.w.registry.bytes[d]
	return ok, nil
}

// HasBlob is the controller's question.
func (s shelf) HasBlob(ctx context.Context, _ string, d document.Digest, size int64) (bool, error) {
	if err := s.turn(ctx, "has blob "+d.Short()); err != nil {
		return false, err
	}
	b, ok := s.p.w.registry.blobs[d]
	return ok && int64(len(b)) == size, nil
}

// PullManifest is the controller's.
func (s shelf) PullManifest(ctx context.Context, _ string, d document.Digest) (oci.Manifest, error) {
	if err := s.turn(ctx, "pulls manifest "+d.Short()); err != nil {
		return oci.Manifest{}, err
	}
	m, ok := s.p.w.registry.manifests[d]
	if !ok {
		return oci.Manifest{}, fault.New(fault.NotFound, "there is no manifest %s", d)
	}
	return m, nil
}

// PullBytes is the controller's.
func (s shelf) PullBytes(ctx context.Context, b oci.Blob) ([]byte, error) {
	if err := s.turn(ctx, "pulls "+b.Digest.Short()); err != nil {
		return nil, err
	}
	data, ok := s.p.w.registry.blobs[b.Digest]
	if !ok || int64(len(data)) != b.Size {
		return nil, fault.New(fault.NotFound, "there is no blob %s", b.Digest)
	}
	return data, nil
}

// At is the host's way to it. It is asked before each pass, which begins a
// moment later: so there is always a look at the disk between two passes.
func (s shelf) At(string) (host.Blobs, error) {
	may := make(chan struct{})
	e := &event{actor: s.p.name, what: "begins a pass", of: s.p, do: func(w *world, e *event) {
		for _, n := range w.nodes {
			if n.run == s.p {
				n.remember()
			}
		}
		w.note(e.actor, "%s", e.what)
		close(may)
	}}
	if err := s.p.await(s.p.ctx, e, may); err != nil {
		return nil, err
	}
	time.Sleep(apart)
	return s, nil
}

// apart lies between two changes of one disk, so that times tell them apart.
const apart = 2 * time.Millisecond

// bytes are what the registry gives for a blob: mostly its bytes.
func (s shelf) bytes(ctx context.Context, d document.Digest, what string) ([]byte, error) {
	if err := s.turn(ctx, what+" "+d.Short()); err != nil {
		return nil, err
	}
	w := s.p.w
	b, ok := w.registry.blobs[d]
	if !ok {
		return nil, fault.New(fault.NotFound, "there is no blob %s", d)
	}
	if w.registry.lies == 0 || !w.chance(w.registry.lies) {
		return b, nil
	}
	w.note("registry", "lies about %s", d.Short())
	wrong := bytes.Clone(b)
	switch w.rng.IntN(4) {
	case 0:
		wrong[w.rng.IntN(len(wrong))] ^= 1
	case 1:
		wrong = wrong[:w.rng.IntN(len(wrong))]
	case 2:
		wrong = append(wrong, "<html>"...)
	default:
		return nil, fault.New(fault.NotFound, "there is no blob %s", d)
	}
	return wrong, nil
}

// Pull is the host's.
func (s shelf) Pull(ctx context.Context, b host.Blob, to io.Writer) error {
	data, err := s.bytes(ctx, b.Digest, "pulls")
	if err != nil {
		return err
	}
	_, err = to.Write(data)
	return err
}

// Read is the host's.
func (s shelf) Read(ctx context.Context, b host.Blob, off, n int64) (io.ReadCloser, error) {
	data, err := s.bytes(ctx, b.Digest, "reads")
	if err != nil {
		return nil, err
	}
	return io.NopCloser(io.NewSectionReader(bytes.NewReader(data), off, n)), nil
}

// press is the registry as a builder sees it.
type press struct{ shelf }

func pressOf(p *program) func(build.Request) (builder.Registry, error) {
	return func(build.Request) (builder.Registry, error) { return press{shelf{p}}, nil }
}

// Close is nothing.
func (press) Close() {}

// PullBlob is the builder's.
func (s press) PullBlob(ctx context.Context, b oci.Blob, to io.Writer) error {
	return s.Pull(ctx, host.Blob{Digest: b.Digest, Size: b.Size}, to)
}

// PushBlob is the builder's.
func (s press) PushBlob(ctx context.Context, b oci.Blob, from io.Reader) error {
	data, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	if err := s.turn(ctx, "pushes "+b.Digest.Short()); err != nil {
		return err
	}
	if document.Sum(data) != b.Digest || int64(len(data)) != b.Size {
		return fault.New(fault.Invalid, "these are not the bytes of %s", b.Digest)
	}
	s.p.w.registry.blobs[b.Digest] = data
	return nil
}

// PushManifest is the builder's.
func (s press) PushManifest(ctx context.Context, _ string, m oci.Manifest) (document.Digest, error) {
	data, d, err := m.Encode()
	if err != nil {
		return "", err
	}
	if err := s.turn(ctx, "publishes "+d.Short()); err != nil {
		return "", err
	}
	g := s.p.w.registry
	for _, l := range append(slices.Clone(m.Layers), m.Config) {
		if _, there := g.blobs[l.Digest]; !there && !slices.Contains(g.taken, l.Digest) {
			s.p.w.find(invariant.I3, s.p.name, "it publishes a manifest, and blob %s is not there", l.Digest.Short())
		}
	}
	g.manifests[d], g.bytes[d] = m, data
	if m.Subject != nil {
		return d, nil // it is about another, and no build
	}
	if made, err := manifest.DecodeBuilt("built manifest", g.blobs[m.Config.Digest]); err == nil {
		s.p.w.learn(made)
	}
	return d, nil
}
