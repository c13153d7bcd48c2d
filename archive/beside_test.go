package archive_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"noxmesh/archive"
)

// turns is how often each of those that are compared runs; its best counts.
const turns = 11

// manyFiles is 6,000 files of 4 KiB on average, as an unpacked site has them.
func manyFiles(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	files := map[string]string{}
	for i := range 6000 {
		files[fmt.Sprintf("d%02d/e%02d/f%d", i%40, i%7, i)] = strings.Repeat(fmt.Sprintf("%07d\n", i), 64<<(i%5))
	}
	plant(b, dir, files)
	return dir
}

// readAll reads and hashes every file of a folder.
func readAll(dir string, buffer []byte) error {
	h := sha256.New()
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		h.Reset()
		_, err = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buffer)
		h.Sum(nil)
		return err
	})
}

// beside lets all of them take turns, and reports each beside the first.
func beside(b *testing.B, unit string, names []string, all ...func() error) {
	b.Helper()
	best, cpu := make([]time.Duration, len(all)), make([]time.Duration, len(all))
	for range turns {
		for i, f := range all {
			spent, began := used(), time.Now()
			if err := f(); err != nil {
				b.Fatalf("%s: %s", names[i], err)
			}
			took, busy := time.Since(began), used()-spent
			if best[i] == 0 {
				best[i], cpu[i] = took, busy
			}
			best[i], cpu[i] = min(best[i], took), min(cpu[i], busy)
		}
	}
	for i, name := range names {
		b.Run(name, func(b *testing.B) {
			b.ReportMetric(float64(best[i].Nanoseconds()), "ns/op")
			b.ReportMetric(float64(best[i])/float64(best[0]), unit)
			b.ReportMetric(float64(cpu[i])/float64(cpu[0]), "cpu-"+unit)
		})
	}
}

// used is the CPU time of this process and its children.
func used() (all time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) == nil {
			all += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return all
}

// BenchmarkVerifyBesideLimit is a look at an unpacked archive on which all is
// right, beside reading and hashing every file of it.
func BenchmarkVerifyBesideLimit(b *testing.B) {
	dir := manyFiles(b)
	root := openRoot(b, dir)
	packed, err := archive.Pack(b.Context(), root, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, 64<<10)
	beside(b, "x-limit", []string{"limit", "verify"},
		func() error { return readAll(dir, buffer) },
		func() error {
			found, err := archive.Verify(b.Context(), root, packed.Index)
			if err == nil && len(found) > 0 {
				err = fmt.Errorf("%d differ", len(found))
			}
			return err
		})
}

// BenchmarkPackBesideTools is a folder packed and hashed, beside tar, zstd and
// sha256sum in a pipe, and beside reading and hashing it.
func BenchmarkPackBesideTools(b *testing.B) {
	for _, tool := range []string{"tar", "zstd", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Skipf("%s is not installed", tool)
		}
	}
	dir, _ := benchTree(b)
	root := openRoot(b, dir)
	buffer := make([]byte, 64<<10)
	beside(b, "x-tools", []string{"tools", "pack", "limit"},
		func() error {
			return exec.CommandContext(b.Context(), "sh", "-c", `tar -C "$0" -cf - . | zstd -q -3 -T2 | sha256sum`, dir).Run()
		},
		func() error {
			h := sha256.New()
			_, err := archive.Pack(b.Context(), root, h)
			return err
		},
		func() error { return readAll(dir, buffer) })
}
