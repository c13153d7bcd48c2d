package system

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// Reader is a file that is being read.
type Reader struct{ fd int }

// Read opens the regular file that info was seen of. Anything else that has
// taken its place in the meantime is refused, and so is the file with another size.
func (d *Dir) Read(name string, info Info) (Reader, error) {
	fd, now, err := d.seen(name, info, "read")
	if err == nil && (!now.Mode.IsRegular() || now.Size != info.Size) {
		_ = unix.Close(fd) // only read
		err = fault.New(fault.Conflict, "%q changed while it was being read", path.Join(d.path, name))
	}
	return Reader{fd}, err
}

// seen opens the very thing that info was seen of.
func (d *Dir) seen(name string, info Info, doing string) (int, Info, error) {
	if err := d.single("open", name); err != nil {
		return closed, Info{}, err
	}
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err == unix.ELOOP { //nolint:errorlint // of this very call: a link has come in between
		return closed, Info{}, fault.New(fault.Conflict, "%q changed while it was being %s", path.Join(d.path, name), doing)
	}
	if err != nil {
		return closed, Info{}, d.failed("open", name, err)
	}
	now, err := statOf(fd)
	if err == nil && (!now.Same(info) || now.Mode.Type() != info.Mode.Type()) {
		err = fault.New(fault.Conflict, "%q changed while it was being %s", path.Join(d.path, name), doing)
	}
	if err != nil {
		_ = unix.Close(fd) // only read
		return closed, Info{}, err
	}
	return fd, now, nil
}

// Read reads the next bytes.
func (r Reader) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(r.fd, b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, &fs.PathError{Op: "read", Err: err}
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Close ends the reading.
func (r Reader) Close() error { return unix.Close(r.fd) }

// Take opens the regular file at this name, whichever it is.
func (d *Dir) Take(name string) (Reader, error) {
	if err := d.single("open", name); err != nil {
		return Reader{closed}, err
	}
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return Reader{closed}, d.failed("open", name, err)
	}
	info, err := statOf(fd)
	if err == nil && !info.Mode.IsRegular() {
		err = unix.EINVAL
	}
	if err != nil {
		_ = unix.Close(fd) // only read
		return Reader{closed}, d.failed("read", name, err)
	}
	return Reader{fd}, nil
}

// Writer is a new file that is being written.
type Writer struct{ fd int }

// Create makes a new file that only its owner may use; there must be nothing at this name.
func (d *Dir) Create(name string) (Writer, error) {
	if err := d.single("open", name); err != nil {
		return Writer{closed}, err
	}
	fd, err := openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	return Writer{fd}, d.failed("open", name, err)
}

// Write writes all of b.
func (w Writer) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.Write(w.fd, b[done:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return done, &fs.PathError{Op: "write", Err: err}
		case n == 0:
			return done, io.ErrShortWrite
		default:
			done += n
		}
	}
	return done, nil
}

// Close ends the writing.
func (w Writer) Close() error { return unix.Close(w.fd) }

// Text is the whole of a regular file, which has at most so many bytes.
func (r *Root) Text(p string, most int) (string, error) {
	b, err := r.Bytes(p, most)
	return string(b), err
}

// Bytes is the whole of a regular file likewise.
func (r *Root) Bytes(p string, most int) (_ []byte, err error) {
	dir, err := r.Dir(path.Dir(p))
	if err != nil {
		return nil, err
	}
	f, err := dir.Take(path.Base(p))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := statOf(f.fd)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(int(min(info.Size, int64(most))) + bytes.MinRead) // as it is now; it may grow
	_, err = b.ReadFrom(io.LimitReader(f, int64(most)+1))
	if err == nil && b.Len() > most {
		err = fault.New(fault.Conflict, "%q has more than %d bytes", p, most)
	}
	return b.Bytes(), err
}
