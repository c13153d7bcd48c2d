package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"

	"github.com/klauspost/compress/zstd"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Extract gives put the entries that want asks for, in order, one at a time,
// each with its content (empty for a directory and a link). It fetches the
// frames that hold those contents and no others; where everything is asked for,
// it fetches the whole blob, and no byte of it may be other than the index makes it.
//
// The index is the authority: it must be the one that was declared. A frame is
// not looked into before its digest, nor used before all of it is what the index
// makes of it. A file within one frame reaches put only when its bytes are known
// to be right. A larger one is read as it comes, and its reader fails instead of
// ending where the bytes were not right: put must make nothing of it final
// before the reader has ended. A reader is not used after put has returned.
//
// Bytes that are not what they should be are fault.Invalid; bytes that did not
// come are fault.Unavailable.
func Extract(ctx context.Context, idx Index, src Source, want func(Entry) bool, put func(Entry, io.Reader) error) error {
	if err := idx.Check(); err != nil {
		return fault.Add(err, "extract")
	}
	b := Blob{stream: newStream(idx.Entries), src: src}
	return b.Extract(ctx, want, put)
}

// Blob is an archive's bytes, of which all has been checked that can be without
// reading content: the index obeys its laws, and the table of frames is one for
// this index and for a blob of this size.
type Blob struct {
	stream *stream
	src    Source
	frames []frame // nil where the table has not been read yet
}

// Open reads the table of frames of a blob, and refuses before anybody has
// written anything what is no archive of this index.
func Open(ctx context.Context, idx Index, src Source) (*Blob, error) {
	if err := idx.Check(); err != nil {
		return nil, fault.Add(err, "extract")
	}
	b := &Blob{stream: newStream(idx.Entries), src: src}
	frames, err := readTable(ctx, src, b.stream)
	if err != nil {
		return nil, err
	}
	b.frames = frames
	return b, nil
}

// Extract is the function Extract on this blob.
func (b *Blob) Extract(ctx context.Context, want func(Entry) bool, put func(Entry, io.Reader) error) error {
	x := extraction{stream: b.stream, put: put, wanted: make([]bool, len(b.stream.entries)), all: true}
	fetched := false
	for i, e := range b.stream.entries {
		x.wanted[i] = want(e)
		x.all = x.all && x.wanted[i]
		fetched = fetched || x.wanted[i] && e.Size > 0
	}
	if !fetched && !x.all {
		return x.deliver(func() (*opening, error) { return nil, nil })
	}
	frames, err := b.frames, error(nil)
	if frames == nil {
		frames, err = readTable(ctx, b.src, b.stream)
	}
	if err != nil {
		return err
	}
	if x.decoder, err = newFrameDecoder(); err != nil {
		return err
	}
	defer x.decoder.Close()
	fetch := fetcher{src: b.src, frames: frames, needed: x.needed(frames)}
	defer fetch.close()
	plain, packed := largest(frames)
	made := slots(len(fetch.needed), func() *opening {
		return &opening{plain: make([]byte, 0, plain), packed: make([]byte, packed)}
	})
	return line[opening]{slots: made, next: fetch.next(ctx), work: x.open, collect: x.deliver}.run(ctx)
}

// largest is what the largest frames hold, and have: mostly far less than they may.
func largest(frames []frame) (plain int64, packed int) {
	for _, f := range frames {
		plain, packed = max(plain, f.end-f.begin), max(packed, f.length)
	}
	return plain, packed
}

// extraction is one run of Extract.
type extraction struct {
	stream  *stream
	wanted  []bool
	all     bool // everything is wanted
	decoder *zstd.Decoder
	put     func(Entry, io.Reader) error
}

// opening is one frame on its way.
type opening struct {
	frame
	number        int
	plain, packed []byte
}

// needed is the numbers of the frames that hold content that is wanted, or of all.
func (x *extraction) needed(frames []frame) []int {
	var needed []int
	for n := range frames {
		if x.all {
			needed = append(needed, n)
			continue
		}
		for piece := range x.stream.pieces(frames[n].span) {
			if piece.part == content && x.wanted[piece.entry] {
				needed = append(needed, n)
				break
			}
		}
	}
	return needed
}

// open checks and decompresses a frame and holds what it holds against the index.
func (x *extraction) open(_ context.Context, o *opening) error {
	packed := o.packed[:o.length]
	if sha256.Sum256(packed) != o.digest {
		return fault.New(fault.Invalid, "frame %d of the archive has not the digest that the table gives it", o.number)
	}
	if !oneFrame(packed) {
		return fault.New(fault.Invalid, "frame %d of the archive is not one frame of zstd and nothing else", o.number)
	}
	plain, err := x.decoder.DecodeAll(packed, o.plain[:0])
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "decompress frame %d of the archive", o.number)
	}
	if int64(len(plain)) != o.end-o.begin {
		return fault.New(fault.Invalid, "frame %d of the archive holds %d bytes, the table says %d", o.number, len(plain), o.end-o.begin)
	}
	o.plain = plain
	for piece := range x.stream.pieces(o.span) {
		if err := x.match(piece, plain[piece.lo:piece.hi]); err != nil {
			return fault.Add(err, "frame %d of the archive", o.number)
		}
	}
	return nil
}

// match is nil where the bytes are what the index makes of them. Of content it
// judges the files that lie in the frame whole; the rest is the reader's.
func (x *extraction) match(p piece, b []byte) error {
	switch p.part {
	case zeros:
		for _, c := range b {
			if c != 0 {
				return fault.New(fault.Invalid, "bytes where there should be zeros")
			}
		}
	case header:
		e := &x.stream.entries[p.entry]
		whole := appendHeader(nil, e)
		if !bytes.Equal(b, whole[p.offset:p.offset+int64(len(b))]) {
			return fault.New(fault.Invalid, "the header in place of %q is not that of the index", document.Short(e.Path))
		}
	case content:
		e := &x.stream.entries[p.entry]
		if x.wanted[p.entry] && int64(len(b)) == e.Size && document.Sum(b) != e.Digest {
			return wrongBytes(e)
		}
	}
	return nil
}

func wrongBytes(e *Entry) error {
	return fault.New(fault.Invalid, "the bytes of %q have not the digest that the index gives them", document.Short(e.Path))
}

// deliver puts what is wanted, in order.
func (x *extraction) deliver(pull func() (*opening, error)) error {
	c := cursor{pull: pull}
	var err error
	// The first frame is looked at before anything is put, a directory included.
	if c.open, err = pull(); err != nil {
		return err
	}
	for i := range x.stream.entries {
		if !x.wanted[i] {
			continue
		}
		e := &x.stream.entries[i]
		if e.Size == 0 {
			if err := x.put(*e, bytes.NewReader(nil)); err != nil {
				return err
			}
			continue
		}
		if err := x.deliverContent(&c, i); err != nil {
			return err
		}
	}
	return c.drain()
}

// deliverContent puts one file. Of one that comes in several frames, it makes
// sure that all was right, however much of it put has read.
func (x *extraction) deliverContent(c *cursor, i int) error {
	e := &x.stream.entries[i]
	begin, end := x.stream.content(i)
	b, err := c.at(begin)
	if err != nil {
		return err
	}
	if int64(len(b)) >= e.Size {
		return x.put(*e, bytes.NewReader(b[:e.Size]))
	}
	r := &reader{cursor: c, at: begin, end: end, entry: e, hash: sha256.New()}
	if err := x.put(*e, r); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return err
}
