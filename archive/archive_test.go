package archive_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"noxmesh/archive"
)

// openRoot opens a folder for the length of the test.
func openRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// pack packs a folder into memory.
func pack(t testing.TB, dir string) (archive.Packed, []byte) {
	t.Helper()
	var blob bytes.Buffer
	packed, err := archive.Pack(t.Context(), openRoot(t, dir), &blob)
	if err != nil {
		t.Fatal(err)
	}
	return packed, blob.Bytes()
}

// source is a blob in memory.
func source(blob []byte) archive.Source {
	return archive.Local(bytes.NewReader(blob), int64(len(blob)))
}

// plant makes files: a path that ends in a slash is a directory, content that
// begins with "->" a link, one that begins with "#!" is executable.
func plant(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch target, link := strings.CutPrefix(content, "->"); {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		case link:
			err = os.Symlink(target, full)
		case strings.HasPrefix(content, "#!"):
			err = os.WriteFile(full, []byte(content), 0o755)
		default:
			err = os.WriteFile(full, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// noise is bytes that do not compress, the same for the same seed.
func noise(n int, seed uint64) string {
	b := make([]byte, n)
	for i := range b {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		b[i] = byte(seed)
	}
	return string(b)
}

// site is a folder with something of everything.
func site(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	plant(t, dir, map[string]string{
		"index.html":                             "<h1>hello</h1>\n",
		"bin/serve":                              "#!/bin/sh\necho hello\n",
		"bin/link":                               "->serve",
		"empty/":                                 "",
		"none":                                   "",
		"assets/large.bin":                       noise(3<<20+17, 7),
		"assets/zeros":                           strings.Repeat("\x00", 2<<20),
		"übung/naïve – ☃.txt":                    "snow\n",
		"übung/link":                             "->../übung/naïve – ☃.txt",
		strings.Repeat("long/", 40):              "",
		strings.Repeat("n", 255):                 "long name\n",
		"long/up":                                "->" + strings.Repeat("long/", 39),
		"exact/" + strings.Repeat("x", 94):       "100 bytes of path",
		"exact/" + strings.Repeat("x", 95):       "101",
		"exact/" + strings.Repeat("y", 93) + "/": "",
		"exact/" + strings.Repeat("y", 94) + "/": "",
	})
	return dir
}

func TestUnpackGivesWhatWasPacked(t *testing.T) {
	t.Parallel()
	packed, blob := pack(t, site(t))
	dir := t.TempDir()
	root := openRoot(t, dir)
	if err := archive.Unpack(t.Context(), packed.Index, source(blob), root); err != nil {
		t.Fatal(err)
	}
	differences, err := archive.Verify(t.Context(), root, packed.Index)
	if err != nil || len(differences) > 0 {
		t.Fatalf("after unpacking: %v, %v", differences, err)
	}
	extra, err := archive.Extra(t.Context(), root, packed.Index)
	if err != nil || len(extra) > 0 {
		t.Fatalf("after unpacking, extra: %q, %v", extra, err)
	}
	again, blobAgain := pack(t, dir)
	if diff := cmp.Diff(packed, again); diff != "" {
		t.Errorf("what was unpacked packs to something else (-first +again):\n%s", diff)
	}
	if !bytes.Equal(blob, blobAgain) {
		t.Error("what was unpacked packs to other bytes")
	}
}

func TestIndexTravels(t *testing.T) {
	t.Parallel()
	packed, _ := pack(t, site(t))
	plain, err := packed.Index.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := archive.DecodeIndex(plain)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := archive.CompressIndex(decoded)
	if err != nil {
		t.Fatal(err)
	}
	arrived, err := archive.DecompressIndex(wire)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(packed.Index, arrived); diff != "" {
		t.Errorf("the index changed on its way (-packed +arrived):\n%s", diff)
	}
}

// TestOrdinaryTools has zstd and tar read what Pack wrote.
func TestOrdinaryTools(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"zstd", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here", tool)
		}
	}
	packed, blob := pack(t, site(t))
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "site.tar.zst")
	if err := os.WriteFile(file, blob, 0o644); err != nil {
		t.Fatal(err)
	}
	list, err := exec.CommandContext(t.Context(), "sh", "-c", `zstd -dc "$0" | tar --quoting-style=literal -t`, file).CombinedOutput()
	if err != nil {
		t.Fatalf("zstd | tar -t: %v\n%s", err, list)
	}
	var want strings.Builder
	for _, e := range packed.Index.Entries {
		want.WriteString(e.Path)
		if e.Kind == archive.Directory {
			want.WriteString("/")
		}
		want.WriteString("\n")
	}
	if diff := cmp.Diff(want.String(), string(list)); diff != "" {
		t.Errorf("tar -t lists something else (-index +tar):\n%s", diff)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `zstd -dc "$0" | tar -x -C "$1"`, file, dir).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Fatalf("zstd | tar -x: %v\n%s", err, out)
	}
	differences, err := archive.Verify(t.Context(), openRoot(t, dir), packed.Index)
	if err != nil || len(differences) > 0 {
		t.Errorf("after tar -x: %v, %v", differences, err)
	}
}
