package observe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
	"noxmesh/internal/invariant"
	"noxmesh/link"
	"noxmesh/sealed"
)

// looks is how often a node is looked at until it stands still meanwhile. One
// that never does is shown without its things.
const looks = 20

// Proofs remembers which signatures it has verified, by all that they are made of:
// what stood once is not worked out again at each look. It is for one goroutine.
// The zero Proofs remembers none.
type Proofs struct{ held map[[sha256.Size]byte]bool }

// holds is what verify says, or has said of the same words.
func (p *Proofs) holds(verify func() bool, words ...string) bool {
	h := sha256.New()
	for _, w := range words {
		_, _ = fmt.Fprintf(h, "%d %s", len(w), w)
	}
	key := [sha256.Size]byte(h.Sum(nil))
	is, known := p.held[key]
	if known {
		return is
	}
	if p.held == nil {
		p.held = map[[sha256.Size]byte]bool{}
	}
	is = verify()
	p.held[key] = is
	return is
}

// Node is the machine whose root is this folder, by its own disk alone. Its
// history is what it has accepted now; Nodes makes a history of it. What is at no path is
// held against what it has accepted, and against what is declared to it otherwise.
func Node(root string, declared ...declaration.Resource) (invariant.Node, error) {
	return new(Proofs).Node(root, declared...)
}

// Node is the function Node, with what has been verified before.
func (p *Proofs) Node(root string, declared ...declaration.Resource) (n invariant.Node, err error) {
	n.Name = filepath.Base(root)
	sys, err := system.Open(root)
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, sys.Close()) }()
	f, err := keep.Look(sys)
	if fault.KindOf(err) == fault.NotFound {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	accepted, err := p.member(f, &n)
	if err != nil {
		return n, err
	}
	declared = append(slices.Clone(declared), accepted...)
	for range looks {
		still, err := things(f, root, declared, &n)
		if still || err != nil {
			return n, err
		}
	}
	n.Things = nil
	return n, nil
}

// member is who it is, what it was told is committed, and what it has accepted: what that declares.
func (p *Proofs) member(f *keep.Folder, n *invariant.Node) ([]declaration.Resource, error) {
	latest, err := f.Latest()
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	if latest.Committed {
		n.Committed = latest.Report.Sequence
	}
	joined, err := f.Joined()
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n.ID = joined.Node
	envelope, err := f.Accepted()
	if fault.KindOf(err) == fault.NotFound {
		n.History = []invariant.Accepted{{}}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := declaration.Decode(envelope.Payload)
	if err != nil {
		return nil, err
	}
	tuple, err := d.Tuple()
	n.History = []invariant.Accepted{{Tuple: tuple, Signed: p.signed(envelope, joined)}}
	return d.Body.Resources, err
}

func (p *Proofs) signed(e link.Envelope, j keep.Joined) bool {
	return p.holds(func() bool { return signed(e, j) }, slices.Concat(words(e), words(j.Keys), []string{string(j.Root), j.Mesh})...)
}

// words is all that an envelope is made of.
func words(e link.Envelope) []string {
	all := []string{string(e.PayloadType), string(e.Payload)}
	for _, s := range e.Signatures {
		all = append(all, s.KeyID, string(s.Sig))
	}
	return all
}

func signed(e link.Envelope, j keep.Joined) bool {
	keys, err := link.VerifyKeys(j.Keys, j.Root, link.Keys{Mesh: j.Mesh})
	if err != nil {
		return false
	}
	_, err = e.Open(link.TypeDeclaration, keys.Declare...)
	return err == nil
}

// things holds the record against the disk, and reports whether the record was
// the same before and after.
func things(f *keep.Folder, root string, declared []declaration.Resource, n *invariant.Node) (still bool, err error) {
	before, err := f.Record()
	if err != nil {
		return false, err
	}
	mark, err := markOf(f)
	if err != nil {
		return false, err
	}
	n.Things = []invariant.Thing{}
	for e := range before.Entries.Sorted() {
		n.Things = append(n.Things, invariant.Thing{
			Path: e.Place(), Resource: e.ID, Done: e.Phase == keep.Done, Made: e.Origin == keep.Made,
			Want: want(e.Thing), Found: keyed(found(filepath.Join(root, e.Place()), e.Thing), e.Thing, mark),
		})
	}
	held, err := holds(root, before, declared)
	if err != nil {
		return false, err
	}
	n.Things = append(n.Things, held...)
	after, err := f.Record()
	if err != nil {
		return false, err
	}
	return bytes.Equal(before.Encode(), after.Encode()), nil
}

// markOf is what the node knows files with secrets by; nil where it has no key yet.
func markOf(f *keep.Folder) ([]byte, error) {
	id, err := f.Identity()
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k, err := sealed.ParseKey(id.Seal)
	if err != nil {
		return nil, err
	}
	return keep.Mark(k), nil
}

// keyed is what was found of a thing, in the words that the record has for a file with
// secrets where it is one.
func keyed(found string, t keep.Thing, mark []byte) string {
	before, after, ok := strings.Cut(found, "sha256:")
	if !ok || !keep.Keyed(t.Digest) {
		return found
	}
	digits, whose, _ := strings.Cut(after, " ")
	sum, err := hex.DecodeString(digits)
	if err != nil {
		return found
	}
	return strings.TrimSuffix(before+string(keep.KeyedDigest(mark, sum))+" "+whose, " ")
}

func want(t keep.Thing) string {
	whose := ""
	if t.Owner|t.Group != 0 {
		whose = fmt.Sprintf(" of %s:%s", t.Owner, t.Group)
	}
	switch t.Kind {
	case keep.Link:
		return pointing(t.Target) + whose
	case keep.Directory:
		return directory(t.Mode) + whose
	case keep.File:
	}
	return file(t.Mode, t.Digest) + whose
}

// found is Found, with whose it is as far as that is said of the thing.
func found(path string, t keep.Thing) string {
	text := Found(path)
	if t.Owner|t.Group == 0 || text == "" {
		return text
	}
	info, err := os.Lstat(path)
	if err != nil {
		return text
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return text
	}
	is := keep.Thing{}
	if t.Owner != 0 {
		is.Owner = keep.AccountOf(s.Uid)
	}
	if t.Group != 0 {
		is.Group = keep.AccountOf(s.Gid)
	}
	return fmt.Sprintf("%s of %s:%s", text, is.Owner, is.Group)
}

func pointing(target string) string { return "-> " + target }

func directory(mode fs.FileMode) string { return fmt.Sprintf("directory %04o", keep.Bits(mode)) }

func file(mode fs.FileMode, d document.Digest) string {
	return fmt.Sprintf("file %04o %s", keep.Bits(mode), d)
}

// Found is what lies at a path, in the words of a Thing; empty where nothing does.
func Found(path string) string {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return directory(info.Mode())
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err.Error()
		}
		return pointing(target)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return file(info.Mode(), document.Sum(b))
}
