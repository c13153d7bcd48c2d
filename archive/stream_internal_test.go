package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawEntries draws entries of any size and name length; that they are no tree
// does not matter to a stream.
func drawEntries(t *rapid.T) []Entry {
	size := rapid.OneOf(
		rapid.Int64Range(0, 2000),
		rapid.Int64Range(FrameSize-1200, FrameSize+1200),
		rapid.Int64Range(0, 5*FrameSize),
	)
	name := rapid.OneOf(
		rapid.IntRange(1, 40),
		rapid.IntRange(80, 130),   // about where a pax record begins
		rapid.IntRange(950, 1010), // about where its length takes another digit
		rapid.IntRange(1, MaxPath),
	)
	entries := make([]Entry, rapid.IntRange(1, 60).Draw(t, "entries"))
	for i := range entries {
		e := &entries[i]
		e.Path = strings.Repeat(rapid.SampledFrom([]string{"x", "ü", "☃"}).Draw(t, "letter"), name.Draw(t, "name"))
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			e.Kind = Directory
		case 1:
			e.Kind, e.Target = Link, strings.Repeat("t", name.Draw(t, "target"))
		default:
			e.Kind, e.Size, e.Executable = File, size.Draw(t, "size"), rapid.Bool().Draw(t, "executable")
		}
	}
	return entries
}

// TestHeadersAreTar has the standard library read every header and find what it stands for.
func TestHeadersAreTar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		for _, e := range drawEntries(r) {
			if rapid.IntRange(0, 9).Draw(r, "huge") == 0 && e.Kind == File {
				e.Size = rapid.Int64Range(1<<33-2, MaxSize).Draw(r, "size")
			}
			h, err := tar.NewReader(bytes.NewReader(appendHeader(nil, &e))).Next()
			if err != nil {
				r.Fatal(err)
			}
			name, kind, mode := e.Path, byte(tar.TypeReg), int64(e.Mode())
			switch e.Kind {
			case Directory:
				name, kind = name+"/", tar.TypeDir
			case Link:
				kind, mode = tar.TypeSymlink, 0o777
			case File:
			}
			if h.Name != name || h.Typeflag != kind || h.Mode != mode || h.Linkname != e.Target || h.Size != e.Size ||
				h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || h.ModTime.Unix() != 0 {
				r.Errorf("%+v reads as %+v", e, h)
			}
		}
	})
}

// TestCuts holds the frames' borders against what is promised of them.
func TestCuts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := newStream(drawEntries(r))
		spans := s.cuts()
		if err := cover(spans, s.size()); err != nil {
			r.Fatal(err)
		}
		for i := range s.entries {
			if s.starts[i+1]-s.starts[i] > FrameSize {
				continue
			}
			for _, sp := range spans {
				if sp.begin > s.starts[i] && sp.begin < s.starts[i+1] {
					r.Errorf("a border at %d, inside an entry of %d bytes at %d", sp.begin, s.starts[i+1]-s.starts[i], s.starts[i])
				}
			}
		}
		if most := 2*s.size()/FrameSize + 2; int64(len(spans)) > most {
			r.Errorf("%d frames for %d bytes", len(spans), s.size())
		}
		if err := whole(s, spans); err != nil {
			r.Error(err)
		}
	})
}

// cover is nil where the spans are the stream, each within a frame.
func cover(spans []span, size int64) error {
	var at int64
	for _, sp := range spans {
		if sp.begin != at || sp.end <= sp.begin || sp.end-sp.begin > FrameSize {
			return fmt.Errorf("span %v after %d", sp, at)
		}
		at = sp.end
	}
	if at != size {
		return fmt.Errorf("the spans end at %d of %d", at, size)
	}
	return nil
}

// whole is nil where the pieces of the spans are each entry's header, content
// and padding, all of them and in order.
func whole(s *stream, spans []span) error {
	var at int64
	lengths := map[[2]int]int64{}
	for _, sp := range spans {
		for p := range s.pieces(sp) {
			if sp.begin+int64(p.lo) != at {
				return fmt.Errorf("piece %+v of %v does not follow %d", p, sp, at)
			}
			key := [2]int{p.entry, int(p.part)}
			if p.offset != lengths[key] {
				return fmt.Errorf("piece %+v does not follow %d", p, lengths[key])
			}
			lengths[key] += int64(p.hi - p.lo)
			at = sp.begin + int64(p.hi)
		}
	}
	if at != s.size() {
		return fmt.Errorf("the pieces end at %d of %d", at, s.size())
	}
	for i := range s.entries {
		if lengths[[2]int{i, int(content)}] != s.entries[i].Size {
			return fmt.Errorf("entry %d has %d bytes in pieces", i, lengths[[2]int{i, int(content)}])
		}
	}
	return nil
}

// TestStreamIsTar has the standard library read a whole stream of empty contents.
func TestStreamIsTar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := newStream(drawEntries(r))
		b := make([]byte, s.size())
		for p := range s.pieces(span{0, s.size()}) {
			if p.part == header {
				copy(b[p.lo:p.hi], appendHeader(nil, &s.entries[p.entry]))
			}
		}
		reader := tar.NewReader(bytes.NewReader(b))
		for i := range s.entries {
			h, err := reader.Next()
			if err != nil {
				r.Fatal(err)
			}
			if strings.TrimSuffix(h.Name, "/") != s.entries[i].Path {
				r.Errorf("entry %d reads as %q", i, h.Name)
			}
		}
		if _, err := reader.Next(); !errors.Is(err, io.EOF) {
			r.Errorf("after the last entry: %v", err)
		}
	})
}

// FuzzTable reads any table: what is accepted covers the stream, fills the blob, and is the table of its frames.
func FuzzTable(f *testing.F) {
	honest := []frame{
		{span: span{0, 1024}, length: 100},
		{span: span{1024, 1024 + FrameSize}, offset: 100, length: FrameSize + 100},
	}
	blob := int64(100+FrameSize+100) + tableSize(2)
	f.Add(encodeTable(honest), honest[1].end, blob)
	f.Add(encodeTable(nil), int64(0), tableSize(0))
	f.Add(encodeTable(honest)[1:], honest[1].end, blob)
	f.Fuzz(func(t *testing.T, data []byte, size, blob int64) {
		frames, err := decodeTable(data, size, blob)
		if err != nil {
			return
		}
		if !bytes.Equal(encodeTable(frames), data) {
			t.Error("the table of its frames is another")
		}
		spans := make([]span, len(frames))
		var at int64
		for i := range frames {
			if frames[i].offset != at || frames[i].length <= 0 || frames[i].length > FrameSize+frameSlack {
				t.Errorf("frame %+v after %d", frames[i], at)
			}
			spans[i], at = frames[i].span, at+int64(frames[i].length)
		}
		if err := cover(spans, size); err != nil {
			t.Error(err)
		}
		if at+int64(len(data)) != blob {
			t.Errorf("frames and table end at %d of %d", at+int64(len(data)), blob)
		}
	})
}
