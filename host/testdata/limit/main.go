// Command limit is what nobody can go below: it does to a machine what has to be
// done, and nothing else. The benchmarks measure the host beside it.
//
//	limit LIST           read and hash every file, look at every directory and link; write what differs
//	limit -syncfs LIST   the same, and one syncfs where something was written
//	limit -time CMD ...  run a command; its time, CPU time and peak memory, on the last line
//
// LIST has a line for each thing: d PATH, f PATH SHA256 SOURCE or l PATH TARGET,
// with tabs.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	args := os.Args[1:]
	switch {
	case len(args) > 1 && args[0] == "-time":
		timed(args[1:])
	case len(args) == 2 && args[0] == "-syncfs":
		if root, wrote := converge(args[1]); wrote {
			f, err := os.Open(root)
			must(err)
			must(unix.Syncfs(int(f.Fd())))
		}
	default:
		converge(args[0])
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "limit:", err)
		os.Exit(1)
	}
}

// timed runs from this small process, since a child's peak memory begins at its
// parent's.
func timed(args []string) {
	var out bytes.Buffer
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n%s", args[0], err, out.Bytes())
		os.Exit(1)
	}
	s := cmd.ProcessState
	usage, _ := s.SysUsage().(*syscall.Rusage)
	fmt.Printf("%d %d %d\n", wall.Nanoseconds(), (s.UserTime() + s.SystemTime()).Nanoseconds(), usage.Maxrss<<10)
}

func converge(list string) (first string, wrote bool) {
	b, err := os.ReadFile(list)
	must(err)
	buffer := make([]byte, 64<<10)
	for line := range strings.Lines(string(b)) {
		w := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		right := false
		switch w[0] {
		case "d":
			if first == "" {
				first = w[1]
			}
			var s syscall.Stat_t
			if right = syscall.Lstat(w[1], &s) == nil && s.Mode == syscall.S_IFDIR|0o755; !right {
				must(os.MkdirAll(w[1], 0o755))
			}
		case "f":
			if right = same(w[1], w[2], buffer); !right {
				must(write(w[1], w[3]))
			}
		case "l":
			target, err := os.Readlink(w[1])
			if right = err == nil && target == w[2]; !right {
				must(os.Symlink(w[2], w[1]))
			}
		}
		wrote = wrote || !right
	}
	return first, wrote
}

func same(path, digest string, buffer []byte) bool {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	var s syscall.Stat_t
	if syscall.Fstat(fd, &s) != nil || s.Mode != syscall.S_IFREG|0o644 {
		return false
	}
	h := sha256.New()
	for left := s.Size; left > 0; {
		n, err := syscall.Read(fd, buffer)
		if err != nil || n == 0 {
			return false
		}
		h.Write(buffer[:n])
		left -= int64(n)
	}
	var sum [sha256.Size]byte
	return hex.EncodeToString(h.Sum(sum[:0])) == digest
}

func write(path, source string) error {
	b, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	if err := os.WriteFile(temp, b, 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
