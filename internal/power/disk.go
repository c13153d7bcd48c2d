package power

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Image is the bytes of a disk that is not mounted.
type Image string

// Disk is a file system of its own, mounted for as long as the test runs.
type Disk struct {
	Dir string // where it is mounted

	t       testing.TB
	image   Image
	mounted bool
}

// patience is how long a killed process may take to let go of its files, on a machine
// that has much else to do.
const patience = time.Minute

// mounting is how disks are mounted: nothing is written by a timer, and no
// rename is made durable that nobody has asked to be.
const mounting = "loop,commit=600,noauto_da_alloc,nodev,errors=remount-ro"

// Able says why there can be no disks here, or nothing.
func Able() string {
	if os.Getuid() != 0 {
		return "only root may mount a file system"
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return "there are no loop devices: " + err.Error()
	}
	for _, program := range []string{"mkfs.ext4", "mount"} {
		if _, err := exec.LookPath(program); err != nil {
			return err.Error()
		}
	}
	// Whoever copies the mount namespace meanwhile, a sandbox say, would hold the
	// disk with its power cut, and it could not be mounted again.
	own, err := os.Readlink("/proc/self/ns/mnt")
	if first, e := os.Readlink("/proc/1/ns/mnt"); err == nil && e == nil && own == first {
		return "this is the machine's own mount namespace: make power makes another"
	}
	return ""
}

// need skips the test where there can be no disks.
func need(t testing.TB) {
	t.Helper()
	if why := Able(); why != "" {
		t.Skipf("%s needs a disk of its own: %s", t.Name(), why)
	}
}

// Blank is an empty file system of this size ("16M"), made with these further
// words for mkfs.ext4, -N for the number of inodes among them.
func Blank(t testing.TB, size string, words ...string) Image {
	t.Helper()
	need(t)
	image := newImage(t)
	command(t, "truncate", "-s", size, string(image))
	command(t, "mkfs.ext4", append([]string{"-q", "-F", "-m", "0", "-E", "nodiscard", string(image)}, words...)...)
	d := &Disk{Dir: t.TempDir(), t: t, image: image}
	d.mount()
	if err := os.Remove(filepath.Join(d.Dir, "lost+found")); err != nil {
		t.Fatal(err)
	}
	return d.Image()
}

// newImage is a file's name in memory, gone when the test ends.
func newImage(t testing.TB) Image {
	t.Helper()
	base := "/dev/shm"
	if info, err := os.Stat(base); err != nil || !info.IsDir() {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "mesh-disk-") //nolint:usetesting // in memory
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Image(filepath.Join(dir, "image"))
}

// Mount is a disk that begins as a copy of this image, mounted at a folder of its own.
func (i Image) Mount(t testing.TB) *Disk {
	t.Helper()
	return i.MountAt(t, t.TempDir())
}

// MountAt is a disk that begins as a copy of this image, mounted at dir.
func (i Image) MountAt(t testing.TB, dir string) *Disk {
	t.Helper()
	need(t)
	d := &Disk{Dir: dir, t: t, image: newImage(t)}
	if err := copySparse(string(i), string(d.image)); err != nil {
		t.Fatal(err)
	}
	d.mount()
	t.Cleanup(d.leave)
	return d
}

// New is an empty disk of this size.
func New(t testing.TB, size string, words ...string) *Disk {
	t.Helper()
	return Blank(t, size, words...).Mount(t)
}

func (d *Disk) mount() {
	d.t.Helper()
	command(d.t, "mount", "-o", mounting, string(d.image), d.Dir)
	d.mounted = true
}

// unmount takes the disk away, and waits until nothing holds its image any more.
func (d *Disk) unmount() error {
	device, err := d.device()
	if err != nil {
		return err
	}
	if err := Unmount(d.Dir); err != nil {
		return err
	}
	d.mounted = false
	for over := time.Now().Add(patience); time.Now().Before(over); {
		behind, err := os.ReadFile(filepath.Join("/sys/block", device, "loop/backing_file"))
		if err != nil || strings.TrimSpace(string(behind)) != string(d.image) {
			return nil //nolint:nilerr // a device that has nothing behind it any more is what is waited for
		}
		<-time.After(5 * time.Millisecond)
	}
	return fmt.Errorf("unmount %q: somebody holds it", d.Dir)
}

// device is the name of the loop device that is mounted.
func (d *Disk) device() (string, error) {
	var s unix.Stat_t
	if err := unix.Stat(d.Dir, &s); err != nil {
		return "", err
	}
	name, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(s.Dev), unix.Minor(s.Dev)))
	return filepath.Base(name), err
}

func (d *Disk) leave() {
	if !d.mounted {
		return
	}
	if err := d.unmount(); err != nil {
		d.t.Error(err, errors.Join(unix.Unmount(d.Dir, unix.MNT_DETACH)))
	}
}

// Image is the disk as it stands, in order and no longer mounted.
func (d *Disk) Image() Image {
	d.t.Helper()
	if err := d.unmount(); err != nil {
		d.t.Fatal(err)
	}
	return d.image
}

// Fail shuts the disk down at once: from here on each write, and each read of
// what is not in memory, is an EIO. What was not synced is lost, but for names
// where the log is written before.
func (d *Disk) Fail(l Log) {
	d.t.Helper()
	const shutdown, withLog, withoutLog = 0x8004587d, 1, 2 // EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_…
	how := withoutLog
	if l == Written {
		how = withLog
	}
	dir, err := os.Open(d.Dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.IoctlSetPointerInt(int(dir.Fd()), shutdown, how); err != nil {
		d.t.Fatalf("cut the power of %q: %v", d.Dir, err)
	}
}

// Back mounts a disk again whose power was cut; its log is replayed.
func (d *Disk) Back() {
	d.t.Helper()
	if err := d.unmount(); err != nil {
		d.t.Fatal(err)
	}
	d.mount()
}

// Take is a disk that is this image itself, which is gone when it is dropped.
func (i Image) Take(t testing.TB, dir string) *Disk {
	t.Helper()
	d := &Disk{Dir: dir, t: t, image: i}
	d.mount()
	t.Cleanup(d.leave)
	return d
}

// Drop unmounts a disk, and takes its image away.
func (d *Disk) Drop() {
	d.t.Helper()
	d.Off()
	if err := os.RemoveAll(filepath.Dir(string(d.image))); err != nil {
		d.t.Fatal(err)
	}
}

// Off unmounts a disk, which On mounts again.
func (d *Disk) Off() {
	d.t.Helper()
	if err := d.unmount(); err != nil {
		d.t.Fatal(err)
	}
}

// On mounts a disk that is off, as a copy of this image.
func (d *Disk) On(i Image) {
	d.t.Helper()
	if err := copySparse(string(i), string(d.image)); err != nil {
		d.t.Fatal(err)
	}
	d.mount()
}

// ReadOnly makes the kernel find an error on the disk, whereupon it shuts it
// against writing, also for those that have files open. Back opens it again.
func (d *Disk) ReadOnly() {
	d.t.Helper()
	name, err := d.device()
	if err != nil {
		d.t.Fatal(err)
	}
	at := filepath.Join("/sys/fs/ext4", name, "trigger_fs_error")
	if err := os.WriteFile(at, []byte("internal/power"), 0o200); err != nil {
		d.t.Fatal(err)
	}
}

// Fill leaves at most this many bytes free, and gives them back when it is called.
func (d *Disk) Fill(left int64) (free func()) {
	d.t.Helper()
	ballast := filepath.Join(d.Dir, ".ballast")
	f, err := os.Create(ballast)
	if err != nil {
		d.t.Fatal(err)
	}
	for step := int64(1 << 20); step >= 512; {
		if room(d.t, d.Dir)-step < left {
			step /= 2
			continue
		}
		if _, err := f.Write(make([]byte, step)); err != nil {
			step /= 2
		}
		if err := f.Sync(); err != nil && !errors.Is(err, syscall.ENOSPC) {
			d.t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		d.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(ballast); err != nil {
			d.t.Fatal(err)
		}
		d.settle()
	}
}

// FillInodes takes every inode that is left, and gives them back when it is called.
func (d *Disk) FillInodes() (free func()) {
	d.t.Helper()
	dir := filepath.Join(d.Dir, ".inodes")
	if err := os.Mkdir(dir, 0o700); err != nil {
		d.t.Fatal(err)
	}
	for n := 0; ; n++ {
		err := os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), nil, 0o600)
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
	return func() {
		if err := os.RemoveAll(dir); err != nil {
			d.t.Fatal(err)
		}
		d.settle()
	}
}

// settle has the disk write down what was removed: ext4 gives room to others once its
// journal has that, and on a busy machine that is later than the removal.
func (d *Disk) settle() {
	d.t.Helper()
	if err := Sync(d.Dir); err != nil {
		d.t.Fatal(err)
	}
}

// room is how many bytes may still be written.
func room(t testing.TB, dir string) int64 {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}

func command(t testing.TB, name string, words ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, words...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(words, " "), err, out)
	}
}

// copySparse copies what a file holds and leaves its holes.
func copySparse(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Truncate(info.Size()); err != nil {
		return err
	}
	for at := int64(0); ; {
		if at, err = unix.Seek(int(in.Fd()), at, unix.SEEK_DATA); errors.Is(err, syscall.ENXIO) {
			return nil
		} else if err != nil {
			return err
		}
		end, err := unix.Seek(int(in.Fd()), at, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.NewOffsetWriter(out, at), io.NewSectionReader(in, at, end-at)); err != nil {
			return err
		}
		at = end
	}
}
