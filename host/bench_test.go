package host

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"noxmesh/declaration"
	"noxmesh/report"
)

const benchFiles = 1000

func benchPath(i int) string { return fmt.Sprintf("/etc/app/d%02d/f%d", i%20, i) }

func benchContent(i int) string { return strings.Repeat(fmt.Sprintf("%08d", i), 128) } // 1 KiB

func benchDeclaration(b *testing.B) declaration.Declaration {
	b.Helper()
	files := bundled(b, 1, func(p *packer) (all []declaration.Resource) {
		for i := range benchFiles {
			all = append(all, p.file(fmt.Sprint("f", i), benchPath(i), benchContent(i)))
		}
		return all
	})
	d, err := readDeclaration(files.file)
	must(b, err)
	return d
}

func benchNode(b *testing.B, root string) *node {
	b.Helper()
	n, err := open(configured(root))
	must(b, err)
	return n
}

func benchPass(b *testing.B, n *node, d declaration.Declaration) {
	b.Helper()
	r, err := n.pass(b.Context(), d, report.CauseDrift, where{d.Where, folder{}})
	must(b, err)
	if r.Outcome != report.OutcomeApplied {
		b.Fatal(r.Outcome)
	}
}

// BenchmarkNothingToDo is a look at 1,000 files that are as declared, beside the
// limit: read and hash them. The goal is three times the limit.
func BenchmarkNothingToDo(b *testing.B) {
	d, root := benchDeclaration(b), b.TempDir()
	n := benchNode(b, root)
	defer n.close()
	benchPass(b, n, d)
	b.Run("limit", func(b *testing.B) {
		buffer := make([]byte, 64<<10)
		for b.Loop() {
			for i := range benchFiles {
				f, err := os.Open(filepath.Join(root, benchPath(i)))
				must(b, err)
				_, err = f.Stat()
				must(b, err)
				h := sha256.New()
				_, err = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buffer)
				must(b, err)
				h.Sum(nil)
				must(b, f.Close())
			}
		}
	})
	b.Run("engine", func(b *testing.B) {
		for b.Loop() {
			r, err := n.engine.Apply(b.Context(), d.Body, where{d.Where, folder{}})
			must(b, err)
			if r.Wrote {
				b.Fatal("it wrote")
			}
		}
	})
	b.Run("pass", func(b *testing.B) {
		for b.Loop() {
			benchPass(b, n, d)
		}
	})
}

// BenchmarkFirst is a durable first apply of 1,000 files, beside the limit: write
// them and sync the file system once. The goal is 1.3 times the limit.
func BenchmarkFirst(b *testing.B) {
	d, dir := benchDeclaration(b), b.TempDir()
	runs := 0
	fresh := func(b *testing.B) string {
		b.Helper()
		runs++
		root := filepath.Join(dir, fmt.Sprint(runs))
		must(b, os.Mkdir(root, 0o755))
		syscall.Sync()
		return root
	}
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			root := fresh(b)
			b.StartTimer()
			for i := range 20 {
				must(b, os.MkdirAll(filepath.Join(root, filepath.Dir(benchPath(i))), 0o755))
			}
			for i := range benchFiles {
				must(b, os.WriteFile(filepath.Join(root, benchPath(i)), []byte(benchContent(i)), 0o644))
			}
			f, err := os.Open(root)
			must(b, err)
			must(b, unix.Syncfs(int(f.Fd())))
			must(b, f.Close())
		}
	})
	b.Run("durable", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			n := benchNode(b, fresh(b))
			syscall.Sync()
			b.StartTimer()
			benchPass(b, n, d)
			b.StopTimer()
			must(b, n.close())
			b.StartTimer()
		}
	})
}
