package archivetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"noxmesh/archive"
	"noxmesh/document"
)

// row is one frame as a forger tells it.
type row struct {
	packed []byte
	plain  uint32
	length uint32
	digest [32]byte
}

// Forged is a blob whose every field can lie. It is written from the format's
// description, without the package's own code.
type Forged struct {
	rows    []row
	count   uint32
	version uint32
	magic   string
	size    uint32 // of the skippable frame
	start   uint32
	tail    []byte // after the table
}

// encoder is for as long as the test.
func encoder(t testing.TB) *zstd.Encoder {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = enc.Close() })
	return enc
}

// Compress is one zstd frame.
func Compress(t testing.TB, plain []byte) []byte {
	t.Helper()
	return encoder(t).EncodeAll(plain, nil)
}

// Forge is the honest blob of a tar stream, cut every so many bytes.
func Forge(t testing.TB, stream []byte, every int) *Forged {
	t.Helper()
	f := &Forged{version: 1, magic: "meshtabl", start: 0x184D2A5D}
	enc := encoder(t)
	for len(stream) > 0 {
		n := min(every, len(stream))
		f.add(enc.EncodeAll(stream[:n], nil), n)
		stream = stream[n:]
	}
	f.count = uint32(len(f.rows))
	f.size = uint32(len(f.rows)*40 + 16)
	return f
}

func (f *Forged) add(packed []byte, plain int) {
	f.rows = append(f.rows, row{packed: packed, plain: uint32(plain), length: uint32(len(packed)), digest: sha256.Sum256(packed)})
}

// replace puts other bytes in place of a frame, with the right digest and length.
func (f *Forged) replace(i int, packed []byte) {
	f.rows[i].packed, f.rows[i].length, f.rows[i].digest = packed, uint32(len(packed)), sha256.Sum256(packed)
}

// Bytes is the blob.
func (f *Forged) Bytes() []byte {
	var b []byte
	for _, r := range f.rows {
		b = append(b, r.packed...)
	}
	b = binary.LittleEndian.AppendUint32(b, f.start)
	b = binary.LittleEndian.AppendUint32(b, f.size)
	for _, r := range f.rows {
		b = binary.LittleEndian.AppendUint32(b, r.length)
		b = binary.LittleEndian.AppendUint32(b, r.plain)
		b = append(b, r.digest[:]...)
	}
	b = binary.LittleEndian.AppendUint32(b, f.count)
	b = binary.LittleEndian.AppendUint32(b, f.version)
	b = append(b, f.magic...)
	return append(b, f.tail...)
}

// TarStream writes the tar of these headers and contents with the standard library.
func TarStream(t testing.TB, members []tar.Header, contents map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range members {
		h := members[i]
		h.Size = 0
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(contents[h.Name]))
		}
		h.ModTime = time.Unix(0, 0)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(contents[h.Name])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// File is a file's entry.
func File(path, content string) archive.Entry {
	return archive.Entry{Path: path, Kind: archive.File, Size: int64(len(content)), Digest: document.Sum([]byte(content))}
}

// Directory is a directory's entry.
func Directory(path string) archive.Entry {
	return archive.Entry{Path: path, Kind: archive.Directory}
}

// Link is a link's entry.
func Link(path, target string) archive.Entry {
	return archive.Entry{Path: path, Kind: archive.Link, Target: target}
}

// Index is an index of these entries as they stand.
func Index(entries ...archive.Entry) archive.Index {
	return archive.Index{Format: archive.Format, Entries: entries}
}

// With is e after a change.
func With(e archive.Entry, change func(*archive.Entry)) archive.Entry {
	change(&e)
	return e
}

// Sorted is an index of these entries in their order.
func Sorted(entries []archive.Entry) archive.Index {
	slices.SortFunc(entries, func(a, b archive.Entry) int { return strings.Compare(a.Path, b.Path) })
	return Index(entries...)
}
