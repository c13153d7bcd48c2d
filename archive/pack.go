package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Packed is an archive that has been written: its index, and the blob of its bytes.
type Packed struct {
	Index Index
	Blob  document.Digest // of the .tar.zst: where to get it, not what it is
	Size  int64           // of the .tar.zst
}

// Pack writes everything below root to w as a .tar.zst and returns its index.
// The bytes are the same for the same content, on any machine and any number of
// cores. What cannot be delivered is refused by its path before a byte is
// written; a file that changes meanwhile is refused too.
func Pack(ctx context.Context, root *os.Root, w io.Writer) (Packed, error) {
	entries, err := walk(ctx, root)
	if err != nil {
		return Packed{}, err
	}
	if err := packable(entries); err != nil {
		return Packed{}, err
	}
	enc, err := newEncoder()
	if err != nil {
		return Packed{}, err
	}
	defer enc.Close() //nolint:errcheck // it writes nothing by itself: only EncodeAll is used
	s := newStream(entries)
	p := packer{stream: s, cuts: s.cuts(), encoder: enc, out: w, blob: sha256.New()}
	if err := p.run(ctx, root); err != nil {
		return Packed{}, err
	}
	return Packed{
		Index: Index{Format: Format, Entries: entries},
		Blob:  document.FromHash(p.blob.Sum(nil)),
		Size:  p.size,
	}, nil
}

// List is what Pack would pack, sorted, without the files' digests: for whoever
// writes another form of the same content. What cannot be delivered is refused.
func List(ctx context.Context, root *os.Root) ([]Entry, error) {
	entries, err := walk(ctx, root)
	if err != nil {
		return nil, err
	}
	if err := packable(entries); err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].Digest = ""
	}
	return entries, nil
}

// packable checks the entries as an index is checked, before their digests are known.
func packable(entries []Entry) error {
	if len(entries) == 0 {
		return fault.New(fault.Invalid, "pack a folder with nothing in it").
			With("check that the build writes its output to the folder that the manifest names")
	}
	for i := range entries {
		if entries[i].Kind == File {
			entries[i].Digest = emptyDigest // in place of the one to come
		}
	}
	idx := Index{Format: Format, Entries: entries}
	if err := idx.Check(); err != nil {
		return fault.Add(err, "pack")
	}
	return idx.checkLength(MaxIndex)
}

// checkLength refuses an index of more than so many bytes, which no host would
// read. Digests all have one length, so that it need not know them.
func (idx Index) checkLength(limit int) error {
	most := 0
	for i := range idx.Entries {
		// Canonical JSON escapes a quote and a backslash with one byte more, and nothing else that a name may hold.
		most += 256 + 2*len(idx.Entries[i].Path) + 2*len(idx.Entries[i].Target)
	}
	if most <= limit {
		return nil
	}
	plain, err := idx.Encode()
	if err != nil {
		return err
	}
	if len(plain) > limit {
		return fault.New(fault.Invalid, "pack %d entries: their index has %d bytes, at most %d are read", len(idx.Entries), len(plain), limit).
			With("deliver fewer files, or shorter paths")
	}
	return nil
}

// packer is one run of Pack.
type packer struct {
	stream  *stream
	cuts    []span
	encoder *zstd.Encoder
	baton   chan hash.Hash // of the frame that was set up last

	out    io.Writer
	blob   hash.Hash
	size   int64
	frames []frame
}

// packing is one frame on its way. A file in several frames is hashed by one
// hash that goes from each frame to the next, while they are compressed side by side.
type packing struct {
	span
	folder        *folder
	plain, packed []byte
	digest        [sha256.Size]byte
	before, after chan hash.Hash
}

func (p *packer) run(ctx context.Context, root *os.Root) error {
	most := int64(0)
	for _, cut := range p.cuts {
		most = max(most, cut.end-cut.begin)
	}
	made := slots(len(p.cuts), func() *packing {
		return &packing{folder: newFolder(root), plain: make([]byte, most)}
	})
	defer func() {
		for _, m := range made {
			m.folder.close()
		}
	}()
	i := 0
	l := line[packing]{slots: made, work: p.make, collect: p.write}
	l.next = func(m *packing) (bool, error) {
		if i == len(p.cuts) {
			return false, nil
		}
		m.span = p.cuts[i]
		m.before, m.after = p.baton, make(chan hash.Hash, 1)
		p.baton = m.after
		i++
		return true, nil
	}
	if err := l.run(ctx); err != nil {
		return err
	}
	return p.emit(encodeTable(p.frames))
}

// make reads, hashes and compresses one frame.
func (p *packer) make(ctx context.Context, m *packing) error {
	m.plain = m.plain[:m.end-m.begin]
	for piece := range p.stream.pieces(m.span) {
		b := m.plain[piece.lo:piece.hi]
		switch piece.part {
		case zeros:
			clear(b)
		case header:
			whole := appendHeader(nil, &p.stream.entries[piece.entry])
			copy(b, whole[piece.offset:])
		case content:
			e := &p.stream.entries[piece.entry]
			if err := read(m.folder, e, b, piece.offset); err != nil {
				return fault.Wrap(fault.Unknown, err, "pack %q", e.Path)
			}
			if err := m.hash(ctx, e, b, piece.offset); err != nil {
				return err
			}
		}
	}
	m.packed = p.encoder.EncodeAll(m.plain, m.packed[:0])
	m.digest = sha256.Sum256(m.packed)
	return nil
}

// read fills b with the file's bytes from offset.
func read(at *folder, e *Entry, b []byte, offset int64) error {
	parent, name, err := at.parent(e.Path)
	if err != nil {
		return err
	}
	// Without O_NONBLOCK, opening what has become a FIFO would wait for ever.
	f, err := parent.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() != e.Size {
		return fault.New(fault.Conflict, "the file changed while it was packed")
	}
	if _, err := f.ReadAt(b, offset); err != nil {
		if errors.Is(err, io.EOF) {
			return fault.New(fault.Conflict, "the file became shorter while it was packed")
		}
		return err
	}
	return nil
}

// hash takes the bytes into the file's digest, which is set with the last of them.
func (m *packing) hash(ctx context.Context, e *Entry, b []byte, offset int64) error {
	if int64(len(b)) == e.Size {
		e.Digest = document.Sum(b)
		return nil
	}
	h := sha256.New()
	if offset > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case h = <-m.before:
		}
	}
	h.Write(b)
	if offset+int64(len(b)) == e.Size {
		e.Digest = document.FromHash(h.Sum(nil))
		return nil
	}
	m.after <- h
	return nil
}

// write puts the frames out in order.
func (p *packer) write(pull func() (*packing, error)) error {
	for {
		m, err := pull()
		if m == nil || err != nil {
			return err
		}
		p.frames = append(p.frames, frame{span: m.span, offset: p.size, length: len(m.packed), digest: m.digest})
		if err := p.emit(m.packed); err != nil {
			return err
		}
	}
}

func (p *packer) emit(b []byte) error {
	if _, err := p.out.Write(b); err != nil {
		return fault.Wrap(fault.Unknown, err, "write the archive")
	}
	p.blob.Write(b)
	p.size += int64(len(b))
	return nil
}
