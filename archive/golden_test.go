package archive_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"noxmesh/archive"
	"noxmesh/document"
)

var update = flag.Bool("update", false, "write testdata/v1 anew; what machines hold already must decode for ever")

// TestV1 holds today's index and tar stream against those of the first version,
// and unpacks what it packed. A newer compressor may change the blob, and
// nothing else.
func TestV1(t *testing.T) {
	t.Parallel()
	indexFile, blobFile := filepath.Join("testdata", "v1", "index.json"), filepath.Join("testdata", "v1", "site.tar.zst")
	dir := t.TempDir()
	plant(t, dir, map[string]string{
		"bin/serve":           "#!/bin/sh\necho hello\n",
		"bin/link":            "->serve",
		"empty/":              "",
		"index.html":          "<h1>hello</h1>\n",
		"large":               string(bytes.Repeat([]byte("0123456789abcde\n"), 1<<17)),
		"none":                "",
		"übung/naïve – ☃.txt": "snow\n",
	})
	packed, blob := pack(t, dir)
	plain, err := packed.Index.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(indexFile), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{indexFile: plain, blobFile: blob} {
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	oldIndex, err := os.ReadFile(indexFile)
	if err != nil {
		t.Fatal(err)
	}
	oldBlob, err := os.ReadFile(blobFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(oldIndex), string(plain)); diff != "" {
		t.Errorf("the index is another: every archive would be delivered again (-v1 +today):\n%s", diff)
	}
	if document.Sum(decompress(t, oldBlob)) != document.Sum(decompress(t, blob)) {
		t.Error("the tar stream is another: no host that stands could unpack it")
	}
	idx, err := archive.DecodeIndex(oldIndex)
	if err != nil {
		t.Fatal(err)
	}
	root := openRoot(t, t.TempDir())
	if err := archive.Unpack(t.Context(), idx, source(oldBlob), root); err != nil {
		t.Fatal(err)
	}
	if differences, err := archive.Verify(t.Context(), root, idx); err != nil || len(differences) > 0 {
		t.Errorf("after unpacking: %v, %v", differences, err)
	}
}

// decompress is what all frames of a blob hold.
func decompress(t *testing.T, blob []byte) []byte {
	t.Helper()
	dec, err := zstd.NewReader(bytes.NewReader(blob))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(blob, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}
