package registry

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"noxmesh/internal/fault"
	"noxmesh/internal/oci"
	"noxmesh/internal/oci/elsewhere"
)

// TestMain is also the registry that is killed: a process of its own.
func TestMain(m *testing.M) {
	if dir := os.Getenv("REGISTRY_TO_KILL"); dir != "" {
		if err := serveUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// keptElsewhere is the address and the login's file of what is behind it, if it is.
const keptElsewhere = "REGISTRY_ELSEWHERE"

func serveUntilKilled(dir string) error {
	c := Config{Dir: dir, Secret: bytes.Repeat([]byte{7}, 32), Authorize: rules}
	if at, login, ok := strings.Cut(os.Getenv(keptElsewhere), " "); ok {
		var err error
		if c.Elsewhere, err = elsewhere.New(elsewhere.Config{URL: at, Login: login}); err != nil {
			return err
		}
	}
	reg, err := New(c)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, l.Addr())
	return http.Serve(l, reg)
}

// startToKill is a registry in a process of its own, with something more in its
// environment, and how to kill it.
func startToKill(t *testing.T, dir string, environment ...string) (base string, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), "REGISTRY_TO_KILL="+dir), environment...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + strings.TrimSpace(address), kill
}

// TestKilledRegistryShowsNothingHalf kills it while a blob arrives, and again
// when the blobs are there and the manifest is not.
func TestKilledRegistryShowsNothingHalf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx := t.Context()
	start := func() (*oci.Client, func()) {
		base, kill := startToKill(t, dir)
		c, err := oci.New(oci.Config{Base: base, User: "builder", Secret: "b", RequestID: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c, kill
	}
	blob, data := random(t, 8<<20)
	m := oci.Manifest{Config: layer(blob)}
	_, digest, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}

	c, kill := start()
	half := &then{from: bytes.NewReader(data), left: 6 << 20, do: kill}
	if err := c.PushBlob(ctx, blob, half); fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("%v", err)
	}
	c, kill = start()
	if has, err := c.HasBlob(ctx, mine, blob.Digest, blob.Size); err != nil || has {
		t.Fatalf("half a blob shows: %v %v", has, err)
	}
	if err := c.PushBlob(ctx, blob, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	kill()
	c, _ = start()
	if has, err := c.HasManifest(ctx, mine, digest); err != nil || has {
		t.Fatalf("a publication shows that never was: %v %v", has, err)
	}
	if err := c.PullBlob(ctx, blob, io.Discard); err != nil {
		t.Fatalf("what was read back is gone: %v", err)
	}
	if got, err := c.PushManifest(ctx, mine, m); err != nil || got != digest {
		t.Fatalf("%s %v", got, err)
	}
}

// then does something once that many bytes have been read.
type then struct {
	from io.Reader
	left int
	do   func()
}

func (h *then) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	if h.left > 0 && h.left <= n {
		h.do()
	}
	h.left -= n
	return n, err
}

// What a killed process was writing is gone at the next start, and nothing of it was ever visible.
func TestWhatWasBeingWrittenIsGoneAtTheNextStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, dir)
	blob, data := random(t, 1000)
	if err := s.builder().PushBlob(t.Context(), blob, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Join(dir, staging))
	if err != nil || len(left) != 0 {
		t.Errorf("after a push that went well there is %v in staging (%v)", left, err)
	}
	if err := os.WriteFile(filepath.Join(dir, staging, "half"), data[:10], 0o600); err != nil {
		t.Fatal(err)
	}
	again := serve(t, dir)
	if left, err = os.ReadDir(filepath.Join(dir, staging)); err != nil || len(left) != 0 {
		t.Errorf("after the next start there is %v in staging (%v)", left, err)
	}
	if has, err := again.builder().HasBlob(t.Context(), mine, blob.Digest, blob.Size); err != nil || !has {
		t.Errorf("what was pushed is there: %v (%v)", has, err)
	}
}

// A write that cannot be made is told with where and why: whoever pushes learns no more than that it was not.
func TestAWriteThatCannotBeMadeIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	told := make(chan error, 100)
	reg, err := New(Config{Dir: dir, Authorize: rules, Kept: func(err error) {
		if err != nil {
			told <- err
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(reg)
	defer srv.Close()
	blob, data := random(t, 1000)
	c := (&served{t, dir, srv}).builder()
	if err := c.PushBlob(t.Context(), blob, bytes.NewReader(data)); err != nil || len(told) != 0 {
		t.Fatalf("%v, and told of %d", err, len(told))
	}
	if err := os.Remove(filepath.Join(dir, staging)); err != nil {
		t.Fatal(err)
	}
	blob, data = random(t, 1001)
	if err := c.PushBlob(t.Context(), blob, bytes.NewReader(data)); err == nil {
		t.Error("it was pushed")
	}
	if err := <-told; !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("told of %v", err)
	}
}

// What could not be kept is found to be keepable again without anybody pushing,
// and not before there is room for as much as it had come to.
func TestTryFindsWhatStandsAgainstAWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("only root may mount a file system: %v", err)
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	var told atomic.Pointer[error]
	reg, err := New(Config{Dir: dir, Authorize: rules, Kept: func(err error) { told.Store(&err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	srv := httptest.NewTLSServer(reg)
	defer srv.Close()
	if err := reg.Try(t.Context()); err != nil {
		t.Errorf("with all of the room: %v", err)
	}
	inTheWay := filepath.Join(dir, "in-the-way")
	if err := os.WriteFile(inTheWay, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	c := (&served{t, dir, srv}).builder()
	blob, data := random(t, 4<<20)
	if err := c.PushBlob(t.Context(), blob, bytes.NewReader(data)); err == nil {
		t.Fatal("4 MiB have gone where 3 were free")
	}
	if why := told.Load(); why == nil || *why == nil || !strings.Contains((*why).Error(), "no space left") {
		t.Fatalf("told of %v", why)
	}
	if err := reg.Try(t.Context()); err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "make room there") {
		t.Errorf("nothing has changed, and it says %v", err)
	}
	srv.Close()                                                        // the request has ended, and holds no file open
	if err := os.RemoveAll(filepath.Join(dir, "docker")); err != nil { // with what was under way
		t.Fatal(err)
	}
	if err := os.WriteFile(inTheWay, make([]byte, 6<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := reg.Try(t.Context()); err == nil {
		t.Error("2 MiB are free, and more was wanted: it says that this can be kept")
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := reg.Try(t.Context()); err != nil {
		t.Errorf("there is room: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, staging)); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v (%v)", left, err)
	}
}
