package archive_test

import (
	"bytes"
	"io"
	"testing"

	"noxmesh/archive"
	"noxmesh/archive/archivetest"
	"noxmesh/document"
)

// FuzzDecodeIndex holds what is decoded against the laws: it encodes to the
// same bytes, and obeys Check.
func FuzzDecodeIndex(f *testing.F) {
	seeds := 0
	seed := func(b []byte) {
		seeds++
		f.Add(b)
	}
	packed, _ := pack(f, site(f))
	plain, err := packed.Index.Encode()
	if err != nil {
		f.Fatal(err)
	}
	seed(plain)
	for _, idx := range archivetest.Indexes() {
		if b, err := idx.Encode(); err == nil {
			seed(b)
		}
	}
	if seeds < 50 {
		f.Fatalf("%d seeds", seeds)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		idx, err := archive.DecodeIndex(data)
		if err != nil {
			return
		}
		again, err := idx.Encode()
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("decoded and encoded again: %s, %v", again, err)
		}
		digest, err := idx.Digest()
		if err != nil || digest != document.Sum(data) {
			t.Errorf("digest %s, %v", digest, err)
		}
		if err := idx.Check(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzExtract gives any blob for an honest index: every byte that comes out is
// right, or it is refused.
func FuzzExtract(f *testing.F) {
	v := archivetest.NewVictim(f)
	honest := archivetest.Forge(f, v.Stream, 1100)
	f.Add(honest.Bytes())
	f.Add(archivetest.Forge(f, v.Stream, 1<<20).Bytes())
	seeds := 2
	for _, stream := range v.Streams(f) {
		seeds++
		f.Add(archivetest.Forge(f, stream, 1<<20).Bytes())
	}
	for _, change := range v.Tables(f) {
		seeds++
		forged := archivetest.Forge(f, v.Stream, 1100)
		change(forged)
		f.Add(forged.Bytes())
	}
	if seeds < 60 {
		f.Fatalf("%d seeds", seeds)
	}
	all := func(archive.Entry) bool { return true }
	one := func(e archive.Entry) bool { return e.Path == "dir/b" }
	f.Fuzz(func(t *testing.T, blob []byte) {
		for _, want := range []func(archive.Entry) bool{all, one} {
			n := 0
			err := archive.Extract(t.Context(), v.Index, source(blob), want, func(e archive.Entry, r io.Reader) error {
				b, err := io.ReadAll(r)
				if err == nil && e.Kind == archive.File && document.Sum(b) != e.Digest {
					t.Errorf("%q came out as %q", e.Path, b)
				}
				n++
				return err
			})
			if err == nil && n != 1 && n != len(v.Index.Entries) {
				t.Errorf("%d entries came out", n)
			}
		}
	})
}

func FuzzDecompressIndex(f *testing.F) {
	packed, _ := pack(f, site(f))
	wire, err := archive.CompressIndex(packed.Index)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(wire)
	f.Add(archivetest.Compress(f, []byte("{}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if idx, err := archive.DecompressIndex(data); err == nil {
			if err := idx.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}
