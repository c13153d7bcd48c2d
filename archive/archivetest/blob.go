package archivetest

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"testing"

	"noxmesh/archive"
)

// Victim is an honest archive of three entries, its tar stream, and a forger's
// hand on both.
type Victim struct {
	Index  archive.Index
	Stream []byte // as it is made of the index
}

// NewVictim is that archive.
func NewVictim(t testing.TB) Victim {
	t.Helper()
	contents := map[string]string{"dir/a": "the first\n", "dir/b": "the second\n"}
	return Victim{
		Index: Index(Directory("dir"), File("dir/a", contents["dir/a"]), File("dir/b", contents["dir/b"]), Link("l", "dir/a")),
		Stream: TarStream(t, []tar.Header{
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
func (v Victim) retar(t testing.TB, at int, change func(*tar.Header)) []byte {
	t.Helper()
	h, err := tar.NewReader(bytes.NewReader(v.Stream[at:])).Next()
	if err != nil {
		t.Fatal(err)
	}
	change(h)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	stream := bytes.Clone(v.Stream)
	copy(stream[at:at+512], b.Bytes())
	return stream
}

// set is the victim's stream with one byte set.
func (v Victim) set(at int, b byte) []byte {
	stream := bytes.Clone(v.Stream)
	stream[at] = b
	return stream
}

// Streams is tar streams that are not the index's, in honest frames.
func (v Victim) Streams(t testing.TB) map[string][]byte {
	t.Helper()
	retype := func(kind byte, name string) func(*tar.Header) {
		return func(h *tar.Header) { h.Typeflag, h.Linkname = kind, name }
	}
	rename := func(name string) func(*tar.Header) { return func(h *tar.Header) { h.Name = name } }
	cut := func(from, to int) []byte { return append(bytes.Clone(v.Stream[:from]), v.Stream[to:]...) }
	extra := TarStream(t, []tar.Header{{Typeflag: tar.TypeReg, Name: "extra", Mode: 0o644}}, nil)
	swapped := bytes.Clone(v.Stream)
	copy(swapped[headA:], v.Stream[headB:headLink])
	copy(swapped[headB:], v.Stream[headA:headB])
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
		"last byte":                v.set(len(v.Stream)-1, 1),
		"content":                  v.set(bodyA, 'T'),
		"content of the last file": v.set(bodyB+3, 'T'),
		"contents swapped":         swapped,
		"entry left out":           cut(headA, headB),
		"no end":                   v.Stream[:end],
		"half an end":              v.Stream[:end+512],
		"more zeros at the end":    append(bytes.Clone(v.Stream), make([]byte, 512)...),
		"entry after the end":      append(bytes.Clone(v.Stream), extra...),
		"entry in place of an end": append(bytes.Clone(v.Stream[:end]), extra...),
		"nothing":                  {},
	}
}

// Tables is frames and tables that lie about each other.
func (v Victim) Tables(t testing.TB) map[string]func(*Forged) {
	t.Helper()
	bomb := Compress(t, make([]byte, 16<<20))
	small := Compress(t, v.Stream[:100])
	return map[string]func(*Forged){
		"no frames":                  func(f *Forged) { f.count = 0 },
		"one frame less":             func(f *Forged) { f.count-- },
		"one frame more":             func(f *Forged) { f.count++ },
		"very many frames":           func(f *Forged) { f.count = 0xffffffff },
		"as many as the stream":      func(f *Forged) { f.count = uint32(len(v.Stream)) },
		"other version":              func(f *Forged) { f.version = 2 },
		"other magic":                func(f *Forged) { f.magic = "meshTABL" },
		"other frame for the table":  func(f *Forged) { f.start = 0xFD2FB528 },
		"table's size":               func(f *Forged) { f.size++ },
		"bytes after the table":      func(f *Forged) { f.tail = []byte("more") },
		"second table":               func(f *Forged) { f.tail = Forge(t, nil, 1).Bytes() },
		"bytes before the table":     func(f *Forged) { f.rows[3].packed = append(f.rows[3].packed, 0) },
		"bytes between frames":       func(f *Forged) { f.rows[0].packed = append(f.rows[0].packed, 0) },
		"frame of no bytes":          func(f *Forged) { f.rows[0].length = 0 },
		"frame of nothing":           func(f *Forged) { f.rows[0].plain = 0 },
		"frame larger than all":      func(f *Forged) { f.rows[0].length = 0xffffffff },
		"frame holds more":           func(f *Forged) { f.rows[0].plain++ },
		"frame holds less":           func(f *Forged) { f.rows[0].plain-- },
		"frame holds too much":       func(f *Forged) { f.rows[0].plain = archive.FrameSize + 1 },
		"border moved":               func(f *Forged) { f.rows[0].plain++; f.rows[1].plain-- },
		"border of bytes moved":      func(f *Forged) { f.rows[0].length++; f.rows[1].length-- },
		"other digest":               func(f *Forged) { f.rows[0].digest[0] ^= 1 },
		"digests swapped":            func(f *Forged) { f.rows[0].digest, f.rows[1].digest = f.rows[1].digest, f.rows[0].digest },
		"frames swapped":             func(f *Forged) { f.rows[0], f.rows[1] = f.rows[1], f.rows[0] },
		"frame twice":                func(f *Forged) { f.rows[1] = f.rows[0] },
		"frame damaged":              func(f *Forged) { f.rows[0].packed[5] ^= 0xff },
		"frame of garbage":           func(f *Forged) { f.replace(0, bytes.Repeat([]byte("garbage"), 20)) },
		"frame of plain bytes":       func(f *Forged) { f.replace(0, v.Stream[:700]) },
		"skippable frame":            func(f *Forged) { f.replace(0, []byte("\x50\x2a\x4d\x18\x04\x00\x00\x00abcd")) },
		"bomb":                       func(f *Forged) { f.replace(0, bomb[:min(len(bomb), 500)]) },
		"bomb to its end":            func(f *Forged) { f.replace(0, Compress(t, make([]byte, 8<<20))) },
		"frame shorter than it says": func(f *Forged) { f.replace(0, small) },
		"frame cut off":              func(f *Forged) { f.replace(0, f.rows[0].packed[:len(f.rows[0].packed)-3]) },
		"skippable frame of 4 KiB":   func(f *Forged) { f.replace(0, append(bytes.Clone(f.rows[0].packed), skip(4<<10)...)) },
		"skippable frame of 4 MiB":   func(f *Forged) { f.replace(0, append(bytes.Clone(f.rows[0].packed), skip(4<<20)...)) },
		"two frames, too much":       func(f *Forged) { f.replace(0, append(bytes.Clone(f.rows[0].packed), small...)) },
		// Magic, a descriptor without content size, and a window of 1 GiB.
		"window of 1 GiB": func(f *Forged) { f.replace(0, []byte("\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00")) },
		"dictionary":      func(f *Forged) { f.replace(0, []byte("\x28\xb5\x2f\xfd\x21\x07\x01\x01\x00\x00")) },
	}
}

// skip is a skippable frame with so many bytes in it.
func skip(n int) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte("\x50\x2a\x4d\x18"), uint32(n)), make([]byte, n)...)
}
