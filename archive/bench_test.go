package archive_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noxmesh/archive"
)

// benchTree is the folder that MESH_BENCH_TREE names, or 50 MB made on the spot:
// text of many sizes, a few large files, some of it incompressible.
func benchTree(b *testing.B) (dir string, size int64) {
	b.Helper()
	dir = os.Getenv("MESH_BENCH_TREE")
	if dir == "" {
		dir = b.TempDir()
		makeTree(b, dir)
	}
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				size += info.Size()
			}
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return dir, size
}

func makeTree(b *testing.B, dir string) {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 5000)
	for i := range words {
		words[i] = noise(2+random.IntN(8), random.Uint64())
	}
	text := func(n int) string {
		var s strings.Builder
		for s.Len() < n {
			fmt.Fprintf(&s, "%x ", words[int(float64(len(words))*random.Float64()*random.Float64())])
		}
		return s.String()
	}
	files := map[string]string{}
	for i := range 1500 {
		files[fmt.Sprintf("src/%02d/%02d/file%d.go", i%40, i%7, i)] = text(1 << (8 + random.IntN(9)))
	}
	for i := range 4 {
		files[fmt.Sprintf("lib/%d.so", i)] = text(4<<20) + noise(2<<20, uint64(i+1))
	}
	plant(b, dir, files)
}

// peak reports the most memory that this process has had so far.
func peak(b *testing.B) {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return
	}
	var kb float64
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			b.ReportMetric(kb/1024, "peak-MB")
		}
	}
}

// BenchmarkLimit is what nobody can go below: every byte read and hashed, on one core.
func BenchmarkLimit(b *testing.B) {
	dir, size := benchTree(b)
	b.SetBytes(size)
	buffer := make([]byte, 1<<20)
	for b.Loop() {
		h := sha256.New()
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			f, err := os.Open(p)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buffer)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	peak(b)
}

func BenchmarkPack(b *testing.B) {
	dir, size := benchTree(b)
	root := openRoot(b, dir)
	b.SetBytes(size)
	for b.Loop() {
		packed, err := archive.Pack(b.Context(), root, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(packed.Size)/1e6, "packed-MB")
	}
	peak(b)
}

func BenchmarkVerify(b *testing.B) {
	dir, size := benchTree(b)
	root := openRoot(b, dir)
	packed, err := archive.Pack(b.Context(), root, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		if d, err := archive.Verify(b.Context(), root, packed.Index); err != nil || len(d) > 0 {
			b.Fatal(d, err)
		}
	}
	peak(b)
}

func BenchmarkUnpack(b *testing.B) {
	dir, size := benchTree(b)
	var blob bytes.Buffer
	packed, err := archive.Pack(b.Context(), openRoot(b, dir), &blob)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	into := b.TempDir()
	n := 0
	for b.Loop() {
		n++
		target := filepath.Join(into, fmt.Sprint(n))
		if err := os.Mkdir(target, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := archive.Unpack(b.Context(), packed.Index, source(blob.Bytes()), openRoot(b, target)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIndex(b *testing.B) {
	dir, _ := benchTree(b)
	packed, err := archive.Pack(b.Context(), openRoot(b, dir), io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	plain, err := packed.Index.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(plain)))
	for b.Loop() {
		if _, err := archive.DecodeIndex(plain); err != nil {
			b.Fatal(err)
		}
	}
}
