package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"noxmesh/archive"
	"noxmesh/internal/fault"
)

// victim is an honest archive of three entries, its tar stream, and a forger's
// hand on both.
type victim struct {
	index  archive.Index
	stream []byte
}

func newVictim(t testing.TB) victim {
	t.Helper()
	contents := map[string]string{"dir/a": "the first\n", "dir/b": "the second\n"}
	return victim{
		index: index(directory("dir"), file("dir/a", contents["dir/a"]), file("dir/b", contents["dir/b"]), link("l", "dir/a")),
		stream: tarStream(t, []tar.Header{
			{Typeflag: tar.TypeDir, Name: "dir/", Mode: 0o755},
			{Typeflag: tar.TypeReg, Name: "dir/a", Mode: 0o644},
			{Typeflag: tar.TypeReg, Name: "dir/b", Mode: 0o644},
			{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "dir/a", Mode: 0o777},
		}, contents),
	}
}

// The blocks of the victim's stream.
const (
	headDir = iota * 512
	headA
	bodyA
	headB
	bodyB
	headLink
	end
)

// retar is the victim's stream with one header written otherwise.
func (v victim) retar(t testing.TB, at int, change func(*tar.Header)) []byte {
	t.Helper()
	h, err := tar.NewReader(bytes.NewReader(v.stream[at:])).Next()
	if err != nil {
		t.Fatal(err)
	}
	change(h)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	stream := bytes.Clone(v.stream)
	copy(stream[at:at+512], b.Bytes())
	return stream
}

// set is the victim's stream with one byte set.
func (v victim) set(at int, b byte) []byte {
	stream := bytes.Clone(v.stream)
	stream[at] = b
	return stream
}

// hostileStreams is tar streams that are not the index's, in honest frames.
func hostileStreams(t testing.TB, v victim) map[string][]byte {
	t.Helper()
	retype := func(kind byte, name string) func(*tar.Header) {
		return func(h *tar.Header) { h.Typeflag, h.Linkname = kind, name }
	}
	rename := func(name string) func(*tar.Header) { return func(h *tar.Header) { h.Name = name } }
	cut := func(from, to int) []byte { return append(bytes.Clone(v.stream[:from]), v.stream[to:]...) }
	extra := tarStream(t, []tar.Header{{Typeflag: tar.TypeReg, Name: "extra", Mode: 0o644}}, nil)
	swapped := bytes.Clone(v.stream)
	copy(swapped[headA:], v.stream[headB:headLink])
	copy(swapped[headB:], v.stream[headA:headB])
	return map[string][]byte{
		"setuid":                   v.retar(t, headA, func(h *tar.Header) { h.Mode = 0o4755 }),
		"executable":               v.retar(t, headA, func(h *tar.Header) { h.Mode = 0o755 }),
		"owner":                    v.retar(t, headA, func(h *tar.Header) { h.Uid = 1000 }),
		"owner's name":             v.retar(t, headA, func(h *tar.Header) { h.Uname = "root" }),
		"time":                     v.retar(t, headA, func(h *tar.Header) { h.ModTime = h.ModTime.Add(1e9) }),
		"hard link":                v.retar(t, headA, retype(tar.TypeLink, "/etc/passwd")),
		"link for a file":          v.retar(t, headA, retype(tar.TypeSymlink, "/etc/passwd")),
		"link for a directory":     v.retar(t, headDir, retype(tar.TypeSymlink, "../outside")),
		"other target":             v.retar(t, headLink, retype(tar.TypeSymlink, "../outside/secret")),
		"character device":         v.retar(t, headA, retype(tar.TypeChar, "")),
		"block device":             v.retar(t, headA, retype(tar.TypeBlock, "")),
		"FIFO":                     v.retar(t, headA, retype(tar.TypeFifo, "")),
		"GNU sparse file":          v.set(headA+156, tar.TypeGNUSparse),
		"contiguous file":          v.set(headA+156, '7'),
		"GNU long name":            v.set(headA+156, 'L'),
		"pax header":               v.set(headA+156, 'x'),
		"global pax header":        v.set(headA+156, 'g'),
		"old kind of file":         v.set(headA+156, 0),
		"name out of the folder":   v.retar(t, headA, rename("../outside/secret")),
		"absolute name":            v.retar(t, headA, rename("/etc/cron.d/x")),
		"name with dot":            v.retar(t, headA, rename("./dir/a")),
		"name of another":          v.retar(t, headB, rename("dir/a")),
		"whiteout":                 v.retar(t, headA, rename("dir/.wh.a")),
		"size in the header":       v.retar(t, headA, func(h *tar.Header) { h.Size-- }),
		"checksum":                 v.set(headA+148, '7'),
		"magic of GNU":             v.set(headA+262, ' '),
		"bytes after a header":     v.set(headA+511, 1),
		"padding":                  v.set(bodyA+511, 1),
		"first byte of padding":    v.set(bodyA+10, 1),
		"end":                      v.set(end, 1),
		"last byte":                v.set(len(v.stream)-1, 1),
		"content":                  v.set(bodyA, 'T'),
		"content of the last file": v.set(bodyB+3, 'T'),
		"contents swapped":         swapped,
		"entry left out":           cut(headA, headB),
		"no end":                   v.stream[:end],
		"half an end":              v.stream[:end+512],
		"more zeros at the end":    append(bytes.Clone(v.stream), make([]byte, 512)...),
		"entry after the end":      append(bytes.Clone(v.stream), extra...),
		"entry in place of an end": append(bytes.Clone(v.stream[:end]), extra...),
		"nothing":                  {},
	}
}

func TestHostileStreams(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	unpackForged(t, v, forge(t, v.stream, 1<<20).bytes(), "")
	unpackForged(t, v, forge(t, v.stream, 700).bytes(), "")
	for name, stream := range hostileStreams(t, v) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unpackForged(t, v, forge(t, stream, 1<<20).bytes(), "nothing")
			unpackForged(t, v, forge(t, stream, 700).bytes(), "something")
		})
	}
}

// unpackForged unpacks a blob as the victim. It succeeds where allowed is "",
// and otherwise is refused, with nothing or something right written by then.
func unpackForged(t *testing.T, v victim, blob []byte, allowed string) {
	t.Helper()
	o := newOutside(t)
	err := archive.Unpack(t.Context(), v.index, source(blob), o.target)
	o.unchanged(t)
	switch {
	case allowed == "":
		if err != nil {
			t.Errorf("the honest one: %v", err)
		}
		return
	case fault.KindOf(err) != fault.Invalid:
		t.Errorf("Unpack: %v; want it refused as invalid", err)
	}
	if allowed == "nothing" {
		o.empty(t)
	}
	differences, err := archive.Verify(t.Context(), o.target, v.index)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		// The file at which it stopped may be there in part; nothing else may be wrong.
		if d.What != archive.Missing && d.What != archive.WrongContent && d.What != archive.WrongMode {
			t.Errorf("written before it was refused: %+v", d)
		}
	}
}

// hostileTables is frames and tables that lie about each other.
func hostileTables(t testing.TB, v victim) map[string]func(*forged) {
	t.Helper()
	bomb := compress(t, make([]byte, 16<<20))
	small := compress(t, v.stream[:100])
	return map[string]func(*forged){
		"no frames":                  func(f *forged) { f.count = 0 },
		"one frame less":             func(f *forged) { f.count-- },
		"one frame more":             func(f *forged) { f.count++ },
		"very many frames":           func(f *forged) { f.count = 0xffffffff },
		"as many as the stream":      func(f *forged) { f.count = uint32(len(v.stream)) },
		"other version":              func(f *forged) { f.version = 2 },
		"other magic":                func(f *forged) { f.magic = "meshTABL" },
		"other frame for the table":  func(f *forged) { f.start = 0xFD2FB528 },
		"table's size":               func(f *forged) { f.size++ },
		"bytes after the table":      func(f *forged) { f.tail = []byte("more") },
		"second table":               func(f *forged) { f.tail = forge(t, nil, 1).bytes() },
		"bytes before the table":     func(f *forged) { f.rows[3].packed = append(f.rows[3].packed, 0) },
		"bytes between frames":       func(f *forged) { f.rows[0].packed = append(f.rows[0].packed, 0) },
		"frame of no bytes":          func(f *forged) { f.rows[0].length = 0 },
		"frame of nothing":           func(f *forged) { f.rows[0].plain = 0 },
		"frame larger than all":      func(f *forged) { f.rows[0].length = 0xffffffff },
		"frame holds more":           func(f *forged) { f.rows[0].plain++ },
		"frame holds less":           func(f *forged) { f.rows[0].plain-- },
		"frame holds too much":       func(f *forged) { f.rows[0].plain = archive.FrameSize + 1 },
		"border moved":               func(f *forged) { f.rows[0].plain++; f.rows[1].plain-- },
		"border of bytes moved":      func(f *forged) { f.rows[0].length++; f.rows[1].length-- },
		"other digest":               func(f *forged) { f.rows[0].digest[0] ^= 1 },
		"digests swapped":            func(f *forged) { f.rows[0].digest, f.rows[1].digest = f.rows[1].digest, f.rows[0].digest },
		"frames swapped":             func(f *forged) { f.rows[0], f.rows[1] = f.rows[1], f.rows[0] },
		"frame twice":                func(f *forged) { f.rows[1] = f.rows[0] },
		"frame damaged":              func(f *forged) { f.rows[0].packed[5] ^= 0xff },
		"frame of garbage":           func(f *forged) { f.replace(0, bytes.Repeat([]byte("garbage"), 20)) },
		"frame of plain bytes":       func(f *forged) { f.replace(0, v.stream[:700]) },
		"skippable frame":            func(f *forged) { f.replace(0, []byte("\x50\x2a\x4d\x18\x04\x00\x00\x00abcd")) },
		"bomb":                       func(f *forged) { f.replace(0, bomb[:min(len(bomb), 500)]) },
		"bomb to its end":            func(f *forged) { f.replace(0, compress(t, make([]byte, 8<<20))) },
		"frame shorter than it says": func(f *forged) { f.replace(0, small) },
		"frame cut off":              func(f *forged) { f.replace(0, f.rows[0].packed[:len(f.rows[0].packed)-3]) },
		"skippable frame of 4 KiB":   func(f *forged) { f.replace(0, append(bytes.Clone(f.rows[0].packed), skip(4<<10)...)) },
		"skippable frame of 4 MiB":   func(f *forged) { f.replace(0, append(bytes.Clone(f.rows[0].packed), skip(4<<20)...)) },
		"two frames, too much":       func(f *forged) { f.replace(0, append(bytes.Clone(f.rows[0].packed), small...)) },
		// Magic, a descriptor without content size, and a window of 1 GiB.
		"window of 1 GiB": func(f *forged) { f.replace(0, []byte("\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00")) },
		"dictionary":      func(f *forged) { f.replace(0, []byte("\x28\xb5\x2f\xfd\x21\x07\x01\x01\x00\x00")) },
	}
}

// skip is a skippable frame with so many bytes in it.
func skip(n int) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte("\x50\x2a\x4d\x18"), uint32(n)), make([]byte, n)...)
}

func TestHostileTables(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	for name, change := range hostileTables(t, v) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := forge(t, v.stream, 1100)
			change(f)
			unpackForged(t, v, f.bytes(), "something")
		})
	}
}

func TestCutOffBlob(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	whole := forge(t, v.stream, 1100).bytes()
	for n := range len(whole) {
		o := newOutside(t)
		// A blob that is declared shorter has no table at its end.
		err := archive.Unpack(t.Context(), v.index, source(whole[:n]), o.target)
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("a blob of %d bytes: %v", n, err)
		}
		o.empty(t)
		if n%16 != 0 {
			continue
		}
		// One that is declared whole and ends early did not come: try again.
		short := archive.Local(bytes.NewReader(whole[:n]), int64(len(whole)))
		if err := archive.Unpack(t.Context(), v.index, short, o.target); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("a blob that ends after %d bytes: %v", n, err)
		}
		o.unchanged(t)
	}
}

// odd is a source with a fault of its own.
type odd struct {
	archive.Source
	read func(off, n int64, body io.Reader) (io.Reader, error)
}

func (o odd) ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error) {
	body, err := o.Source.ReadRange(ctx, off, n)
	if err != nil {
		return nil, err
	}
	r, err := o.read(off, n, body)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(r), nil
}

func TestOddSources(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	blob := forge(t, v.stream, 1100).bytes()
	down := fault.New(fault.Unavailable, "registry is down")
	for name, c := range map[string]struct {
		read func(off, n int64, body io.Reader) (io.Reader, error)
		want fault.Kind
	}{
		"endless": {func(_, _ int64, body io.Reader) (io.Reader, error) {
			return io.MultiReader(body, zeros{}), nil
		}, fault.Unknown},
		"byte by byte": {func(_, _ int64, body io.Reader) (io.Reader, error) {
			return slow{body}, nil
		}, fault.Unknown},
		"down": {func(int64, int64, io.Reader) (io.Reader, error) { return nil, down }, fault.Unavailable},
		"breaks off": {func(_, n int64, body io.Reader) (io.Reader, error) {
			return io.LimitReader(body, n/2), nil
		}, fault.Unavailable},
		"fails while it is read": {func(_, n int64, body io.Reader) (io.Reader, error) {
			return io.MultiReader(io.LimitReader(body, n/2), failing{errors.New("connection reset")}), nil
		}, fault.Unavailable},
		"a page of HTML": {func(_, n int64, _ io.Reader) (io.Reader, error) {
			return strings.NewReader(strings.Repeat("<html>not found</html>", int(n))), nil
		}, fault.Invalid},
		"from the beginning always": {func(_, n int64, _ io.Reader) (io.Reader, error) {
			return io.MultiReader(bytes.NewReader(blob), zeros{}), nil
		}, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutside(t)
			err := archive.Unpack(t.Context(), v.index, odd{source(blob), c.read}, o.target)
			if kind := fault.KindOf(err); kind != c.want || (err == nil) != (c.want == fault.Unknown) {
				t.Errorf("Unpack: %v (%v), want %v", err, kind, c.want)
			}
			o.unchanged(t)
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type slow struct{ r io.Reader }

func (o slow) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestLateLie has the last frame of a large file lie: whoever reads it is told
// before it ends.
func TestLateLie(t *testing.T) {
	t.Parallel()
	content := noise(3<<20, 3)
	idx := index(file("large", content))
	stream := tarStream(t, []tar.Header{{Typeflag: tar.TypeReg, Name: "large", Mode: 0o644}}, map[string]string{"large": content})
	stream[512+len(content)-1] ^= 1
	src := source(forge(t, stream, 1<<20).bytes())
	all := func(archive.Entry) bool { return true }
	err := archive.Extract(t.Context(), idx, src, all, func(_ archive.Entry, r io.Reader) error {
		b, err := io.ReadAll(r)
		if err == nil {
			t.Errorf("the reader ended after %d bytes as if they were right", len(b))
		}
		if len(b) >= len(content) {
			t.Errorf("the reader gave all %d bytes", len(b))
		}
		return err
	})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("Extract: %v", err)
	}
	// Whoever looks at the beginning alone has not been given a right file either.
	err = archive.Extract(t.Context(), idx, src, all, func(archive.Entry, io.Reader) error { return nil })
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("Extract without reading: %v", err)
	}
}
