package rootfs

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	securejoin "github.com/cyphar/filepath-securejoin"
	"github.com/opencontainers/umoci/oci/layer"
	"golang.org/x/sys/unix"

	"noxmesh/archive"
	"noxmesh/document"
	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci/remote"
)

const (
	maxEntries = 2_000_000 // of all layers of one image
	maxPath    = 4096
)

// date is the time of every folder, and of what has none: 1980, the earliest that
// every archive format can hold.
const date = 315532800

// unpacking is one image on its way to the disk.
type unpacking struct {
	root    string
	most    int64 // bytes of all files together
	free    int64 // bytes that the disk keeps free
	entries int
	bytes   int64
	checked int64 // bytes when the disk was last looked at
}

// layer unpacks one layer over what is there, and checks that it is the one that
// the image's configuration names.
func (u *unpacking) layer(ctx context.Context, l remote.Layer, file *os.File) error {
	plain, err := decompressed(l.Compression, file)
	if err != nil {
		return broken(err, l)
	}
	defer plain.Close()
	sum := sha256.New()
	whole := io.TeeReader(Bounded(plain, u.most+(1<<30)), sum)
	if err := u.entriesOf(ctx, tar.NewReader(whole)); err != nil {
		return broken(err, l)
	}
	if _, err := io.Copy(io.Discard, whole); err != nil { // what stands behind the end has a part in the digest
		return broken(err, l)
	}
	if is := document.FromHash(sum.Sum(nil)); is != l.Plain {
		return broken(fault.New(fault.Invalid, "it unpacks to %s, and the image says %s", is, l.Plain), l)
	}
	return nil
}

// broken is why a layer cannot be unpacked. Where it is the disk, it says so.
func broken(err error, l remote.Layer) error {
	return fault.Add(err, "unpack layer %s", l.Digest)
}

func decompressed(how remote.Compression, r io.Reader) (io.ReadCloser, error) {
	switch how {
	case remote.Gzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "read gzip")
		}
		return z, nil
	case remote.Zstd:
		return archive.Decompressed(r)
	case remote.Plain:
	}
	return io.NopCloser(r), nil
}

// Bounded reads on, and ends with an error where more comes than may.
func Bounded(from io.Reader, most int64) io.Reader { return &bounded{from, most} }

type bounded struct {
	from io.Reader
	left int64
}

// Read reads on.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, fault.New(fault.Invalid, "it goes on and on")
	}
	return n, err
}

// entriesOf unpacks what a layer holds. The library finds where each entry
// belongs below the root, through every link, and knows what takes something of a
// lower layer away.
func (u *unpacking) entriesOf(ctx context.Context, r *tar.Reader) error {
	to := layer.NewTarExtractor(&layer.UnpackOptions{OnDiskFormat: layer.DirRootfs{MapOptions: layer.MapOptions{Rootless: true}}})
	for {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fault.Wrap(fault.Invalid, err, "read its entries")
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if err := u.room(h); err != nil {
			return err
		}
		wanted, err := tamed(h)
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		name := h.Name
		if err := to.UnpackEntry(u.root, h, r); err != nil {
			return u.blame(err, name)
		}
	}
}

// room counts an entry, and looks at the disk now and then.
func (u *unpacking) room(h *tar.Header) error {
	u.entries++
	u.bytes += h.Size
	switch {
	case u.entries > maxEntries:
		return fault.New(fault.Invalid, "it has more than %d entries", maxEntries)
	case u.bytes > u.most:
		return fault.New(fault.Unavailable, "the image has more than %d MiB, and this builder keeps no more", u.most>>20)
	case u.bytes-u.checked+h.Size < 16<<20 && u.entries%1000 != 1:
		return nil
	}
	u.checked = u.bytes
	err := disk.Room(u.root, h.Size, u.free)
	if err != nil && !disk.Refused(err) {
		return fault.Wrap(fault.Unavailable, err, "look at the disk")
	}
	return err
}

// blame tells a disk that refuses from an entry that cannot be.
func (u *unpacking) blame(err error, name string) error {
	if disk.Refused(err) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EIO) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.EDQUOT) {
		return disk.Say(err, u.root)
	}
	return fault.Wrap(fault.Invalid, err, "its entry %q", document.Short(name))
}

// tamed takes from an entry what a build has no use for: owners, rights beyond
// those that everybody has, devices. What is no entry at all is not wanted.
func tamed(h *tar.Header) (wanted bool, err error) {
	if len(h.Name) > maxPath || len(h.Linkname) > maxPath || strings.ContainsRune(h.Name+h.Linkname, 0) {
		return false, fault.New(fault.Invalid, "it has an entry with a name that no file system takes")
	}
	switch gone, is := whiteout(h.Name); {
	case is && (gone == "" || gone == "." || gone == ".."):
		// The library would take the folder itself away, or the one above it.
		return false, fault.New(fault.Invalid, "its entry %q takes away what is not in its folder", document.Short(h.Name))
	case is:
		h.Typeflag, h.Size = tar.TypeReg, 0
	}
	h.Uid, h.Gid, h.Uname, h.Gname, h.PAXRecords = 0, 0, "", "", nil
	h.Xattrs = nil //nolint:staticcheck // the library reads these
	h.AccessTime, h.ChangeTime = time.Time{}, time.Time{}
	if h.ModTime.Unix() < date {
		h.ModTime = time.Unix(date, 0)
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeLink, tar.TypeSymlink:
		h.Mode = 0o644 | h.Mode&0o111
		if h.Mode&0o111 != 0 {
			h.Mode = 0o755
		}
	case tar.TypeDir:
		h.Mode = 0o755
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo, tar.TypeXGlobalHeader:
		return false, nil
	default:
		return false, fault.New(fault.Invalid, "its entry %q is of a kind that is not read", document.Short(h.Name))
	}
	return true, nil
}

// whiteout is the name in its folder that an entry takes away of lower layers.
func whiteout(name string) (gone string, is bool) {
	return strings.CutPrefix(filepath.Base(layer.CleanPath(name)), ".wh.")
}

// finish makes the root file system one that a build can stand on: folders that
// everybody may look into, and places for what is put over them.
func (u *unpacking) finish() error {
	err := filepath.WalkDir(u.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755) //nolint:gosec // everybody may look into it
	})
	if err != nil {
		return disk.Say(err, u.root)
	}
	for _, dir := range []string{"etc", "home/build"} {
		if err := u.place(dir, true); err != nil {
			return err
		}
	}
	for _, name := range Files() {
		if err := u.place("etc/"+name, false); err != nil {
			return err
		}
	}
	return u.date()
}

// Files is what of /etc is put over the image's own.
func Files() []string { return []string{"passwd", "group", "hosts", "nsswitch.conf"} }

// place makes sure of a folder or a file below the root that is no link: whatever
// else is there makes room.
func (u *unpacking) place(name string, folder bool) error {
	path := u.root
	parts := strings.Split(name, "/")
	for i, part := range parts {
		path = filepath.Join(path, part)
		dir := folder || i+1 < len(parts)
		info, err := os.Lstat(path)
		if err == nil && (dir && info.IsDir() || !dir && info.Mode().IsRegular()) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return disk.Say(err, u.root)
		}
		if dir {
			err = os.Mkdir(path, 0o755)
		} else {
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			return disk.Say(err, u.root)
		}
	}
	return nil
}

// date gives every folder one time: that of what was put into it last says nothing.
func (u *unpacking) date() error {
	at := unix.NsecToTimespec(date * int64(time.Second))
	return filepath.WalkDir(u.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// hasShell reports whether there is the shell that commands are started with,
// wherever a link says that it is.
func (u *unpacking) hasShell() bool {
	path, err := securejoin.SecureJoin(u.root, "/bin/sh")
	if err != nil {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Within is where a path of a root file system is, through every link and never out of it.
func Within(root, path string) (string, error) {
	at, err := securejoin.SecureJoin(root, path)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, "find %q", document.Short(path))
	}
	return at, nil
}
