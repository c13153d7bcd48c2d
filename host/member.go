package host

import (
	"reflect"
	"sync"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/resource"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
	"noxmesh/internal/planted"
	"noxmesh/link"
)

// none is the tuple of "no declaration yet".
var none declaration.Tuple //nolint:gochecknoglobals // the zero value, with a name

// member is this node as one of its mesh: whom it believes, and what it has accepted.
type member struct {
	folder *keep.Folder
	mesh   string
	node   string
	keys   keys
	gate   *system.Root // to look at the machine before a declaration is accepted

	mu          sync.Mutex // guards what follows; held while a declaration is judged
	joined      keep.Joined
	trusted     link.Keys
	accepted    declaration.Tuple
	declaration declaration.Declaration
	refused     *link.Refusal
	unwell      string // why the last declaration could not be kept
}

// fall notes that what was told could not be kept, and reports whether that is
// new. It is said with each hello until something can be kept again.
func (m *member) fall(err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := "what it is told cannot be kept: " + err.Error()
	isNew := m.unwell != is
	m.unwell = is
	return isNew
}

// rise notes that it can.
func (m *member) rise() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unwell = ""
}

// newMember is the node as its state has it. Without a mesh it is fault.NotFound.
func newMember(n *node) (*member, error) {
	m := &member{folder: n.folder}
	var err error
	m.joined, err = n.folder.Joined()
	if fault.KindOf(err) == fault.NotFound {
		return nil, fault.New(fault.NotFound, "this machine has not joined a mesh").
			With("mesh node add NAME prints a token for: mesh-host join TOKEN")
	}
	if err != nil {
		return nil, err
	}
	m.mesh, m.node = m.joined.Mesh, m.joined.Node
	if m.keys, err = ownKeys(n.folder); err != nil {
		return nil, err
	}
	if m.trusted, err = link.VerifyKeys(m.joined.Keys, m.joined.Root, link.Keys{Mesh: m.joined.Mesh}); err != nil {
		return nil, err
	}
	if err := m.remember(); err != nil {
		return nil, err
	}
	if m.gate, err = system.Open(n.cfg.Root); err != nil {
		return nil, err
	}
	m.gate.Guard(declaration.Reserved()...)
	n.engine.Opens(m)
	return m, nil
}

// remember loads what was accepted. Its signature was verified when it was; the
// key that made it may have been replaced since.
func (m *member) remember() error {
	d, err := m.held()
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	m.declaration = d
	m.accepted, err = m.declaration.Tuple()
	return err
}

// verdict is what became of a declaration.
type verdict int

const (
	nothingNew verdict = iota // the very one that was accepted before
	accepted
	refused
	moved // the very one, with another word on where its bytes are
)

// judge accepts a declaration, durably, or refuses it and remembers why. The
// error is that of a state folder that cannot be written: then it is neither.
func (m *member) judge(envelope link.Envelope) (verdict, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, tuple, err := m.verify(envelope)
	if err == nil && (tuple == m.accepted || planted.Is("equal digest taken for accepted") && tuple.Digest == m.accepted.Digest) {
		return m.follows(envelope, d)
	}
	if err == nil {
		err = m.may(d, tuple)
	}
	if err != nil {
		m.refused = &link.Refusal{Epoch: tuple.Epoch, Generation: tuple.Generation, Digest: tuple.Digest, Why: cut(err.Error(), refusalMost)}
		return refused, nil
	}
	if planted.Is("accepted kept after the first effect") {
		time.AfterFunc(5*time.Second, func() { _ = m.folder.SaveAccepted(envelope) })
	} else if err := m.folder.SaveAccepted(envelope); err != nil {
		return nothingNew, err
	}
	m.accepted, m.declaration, m.refused = tuple, d, nil
	return accepted, nil
}

// follows takes on what a declaration that is accepted already says of where its
// bytes are: a registry that has moved is no other declaration. m.mu is held.
func (m *member) follows(envelope link.Envelope, d declaration.Declaration) (verdict, error) {
	if d.Format != declaration.Format || d.Mesh != m.mesh || d.Node != m.node {
		return nothingNew, nil
	}
	if held, err := m.held(); err == nil && reflect.DeepEqual(d.Where, held.Where) {
		return nothingNew, nil
	}
	if err := m.folder.SaveAccepted(envelope); err != nil {
		return nothingNew, err
	}
	m.declaration.Where = d.Where
	return moved, nil
}

// held is the accepted declaration as it is on the disk, with the bodies in it.
func (m *member) held() (declaration.Declaration, error) {
	envelope, err := m.folder.Accepted()
	if err != nil {
		return declaration.Declaration{}, err
	}
	return declaration.Decode(envelope.Payload)
}

// lighten lets go of the bodies in a declaration that is applied: most hosts never
// need them again, and whoever does reads them from the disk.
func (m *member) lighten(applied declaration.Tuple) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.accepted == applied {
		m.declaration.Where.Inline = nil
	}
}

// inline is the bodies in a declaration, where it is still the one that is accepted.
func (m *member) inline(tuple declaration.Tuple) (map[document.Digest]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.accepted != tuple {
		return nil, fault.New(fault.Unavailable, "%d/%d is no longer what is accepted", tuple.Epoch, tuple.Generation)
	}
	d, err := m.held()
	return d.Where.Inline, err
}

// verify reads a declaration that a declare key has signed.
func (m *member) verify(envelope link.Envelope) (declaration.Declaration, declaration.Tuple, error) {
	payload, err := envelope.Open(link.TypeDeclaration, m.trusted.Declare...)
	if err != nil {
		return declaration.Declaration{}, none, err
	}
	d, err := declaration.Decode(payload)
	if err != nil {
		// Which one it was is said all the same, so that it is not sent again and again.
		tuple, bad := declaration.TupleOf(payload)
		if bad != nil {
			tuple = none
		}
		return declaration.Declaration{}, tuple, fault.New(fault.Denied, "%s", declaration.WhyUnknown(err)).With("upgrade mesh-host")
	}
	tuple, err := d.Tuple()
	return d, tuple, err
}

// refusalMost is how much of why something was refused a message has room for.
const refusalMost = 2 << 10

// may is what stands against a declaration that is rightly signed, or nil.
func (m *member) may(d declaration.Declaration, tuple declaration.Tuple) error {
	switch {
	case d.Format != declaration.Format:
		return fault.New(fault.Denied, "format %d: this host reads %d", d.Format, declaration.Format)
	case d.Mesh != m.mesh:
		return fault.New(fault.Denied, "it is of mesh %q, this node is of %q", d.Mesh, m.mesh)
	case d.Node != m.node:
		return fault.New(fault.Denied, "it is for node %q, this is %q", d.Node, m.node)
	case tuple.Before(m.accepted) && !planted.Is("lower generation accepted"):
		return fault.New(fault.Denied, "%d/%d is older than %d/%d, which was accepted", d.Epoch, d.Generation, m.accepted.Epoch, m.accepted.Generation)
	case !m.accepted.Before(tuple) && !planted.Is("equal generation with another digest accepted") && !planted.Is("lower generation accepted"):
		return fault.New(fault.Denied, "%d/%d was accepted as %s, and this is %s", d.Epoch, d.Generation, m.accepted.Digest.Short(), tuple.Digest.Short())
	}
	return resource.Refuse(m.gate, d.Body)
}

// open verifies an answer. Where no key that is held signed it, the answer may
// bring the key document that names its own: the root decides.
func (m *member) open(data []byte, t link.PayloadType) ([]byte, error) {
	envelope, err := link.DecodeEnvelope(data)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t == link.TypeHelloAnswer {
		if err := m.follow(envelope.Payload); err != nil {
			return nil, err
		}
	}
	return envelope.Open(t, m.trusted.Declare...)
}

// follow takes on the key document that an answer brings, where the root has
// signed it and it is newer. The answer itself need not be believed for that.
// m.mu is held.
func (m *member) follow(payload []byte) error {
	answer, err := link.DecodeHelloAnswer(payload)
	if err != nil || answer.Keys == nil {
		return err
	}
	trusted, err := link.VerifyKeys(*answer.Keys, m.joined.Root, m.trusted)
	if err != nil || trusted.Version == m.trusted.Version {
		return err
	}
	joined := m.joined
	joined.Keys = *answer.Keys
	if err := m.folder.SaveJoined(joined); err != nil {
		return err
	}
	m.joined, m.trusted = joined, trusted
	return nil
}

// refuse remembers what could not even be read.
func (m *member) refuse(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refused = &link.Refusal{Why: cut(why.Error(), refusalMost)}
}

// wanted is the declaration that was accepted last, or none.
func (m *member) wanted() (declaration.Declaration, declaration.Tuple) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.declaration, m.accepted
}

// hello is what the node says of itself, but for its number.
func (m *member) hello() link.Hello {
	m.mu.Lock()
	defer m.mu.Unlock()
	return link.Hello{
		Format: link.Format, Mesh: m.mesh, Node: m.node, Speaks: speaks(),
		Keys: m.trusted.Version, Accepted: m.accepted, Refused: m.refused, Unwell: m.unwell,
	}
}
