package archive

import (
	"iter"
	"sort"
)

// trailer is the two blocks of zeros at tar's end.
const trailer = 2 * block

// stream is the tar stream of an index: where each entry's bytes are in it.
type stream struct {
	entries []Entry
	starts  []int64 // of each entry's header; one more for the trailer
}

// newStream lays the entries out one after another.
func newStream(entries []Entry) *stream {
	s := &stream{entries: entries, starts: make([]int64, len(entries)+1)}
	var at int64
	var scratch []byte
	for i := range entries {
		s.starts[i] = at
		scratch = appendHeader(scratch[:0], &entries[i])
		at += int64(len(scratch)) + entries[i].Size + padding(entries[i].Size)
	}
	s.starts[len(entries)] = at
	return s
}

// size is the bytes of the whole stream.
func (s *stream) size() int64 { return s.starts[len(s.entries)] + trailer }

// content is where entry i's content begins and ends.
func (s *stream) content(i int) (begin, end int64) {
	e := &s.entries[i]
	end = s.starts[i+1] - padding(e.Size)
	return end - e.Size, end
}

// part is which bytes of an entry a piece holds.
type part int

const (
	header part = iota
	content
	zeros // padding, or the trailer
)

// piece is a run of bytes of one part of one entry, as it stands in a span of the stream.
type piece struct {
	entry  int
	part   part
	offset int64 // in the part
	lo, hi int   // in the span
}

// span is a run of the stream that one frame holds.
type span struct{ begin, end int64 }

// pieces yields what the span is made of, in order.
func (s *stream) pieces(sp span) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		first := sort.Search(len(s.entries), func(i int) bool { return s.starts[i+1] > sp.begin })
		for i := first; i < len(s.entries) && s.starts[i] < sp.end; i++ {
			begin, end := s.content(i)
			if !sp.cut(piece{entry: i, part: header}, s.starts[i], begin, yield) ||
				!sp.cut(piece{entry: i, part: content}, begin, end, yield) ||
				!sp.cut(piece{entry: i, part: zeros}, end, s.starts[i+1], yield) {
				return
			}
		}
		sp.cut(piece{entry: len(s.entries), part: zeros}, s.starts[len(s.entries)], s.size(), yield)
	}
}

// cut yields the piece of the part at [begin, end) that lies in the span, and
// reports whether to go on.
func (sp span) cut(p piece, begin, end int64, yield func(piece) bool) bool {
	lo, hi := max(begin, sp.begin), min(end, sp.end)
	if lo >= hi {
		return true
	}
	p.offset = lo - begin
	p.lo, p.hi = int(lo-sp.begin), int(hi-sp.begin)
	return yield(p)
}

// FrameSize is the most of the stream that one frame holds: small, so that a
// changed file costs a node little; large enough to compress.
const FrameSize = 1 << 20

// cuts is the borders of the frames that Pack makes. Each holds as many entries
// as fit; an entry that is larger than a frame begins one and is cut every
// FrameSize, and others follow its last piece. Any two neighbours are together
// larger than a frame. The borders depend on the index alone.
func (s *stream) cuts() []span {
	var spans []span
	var begin int64
	until := func(at int64) {
		if at > begin {
			spans = append(spans, span{begin, at})
			begin = at
		}
	}
	for i := range s.entries {
		start, end := s.starts[i], s.starts[i+1]
		if end-begin <= FrameSize {
			continue
		}
		until(start)
		for end-begin > FrameSize {
			until(begin + FrameSize)
		}
	}
	if s.size()-begin > FrameSize {
		until(s.starts[len(s.entries)])
	}
	until(s.size())
	return spans
}
