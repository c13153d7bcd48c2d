package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// eye is what one reader of files needs. It is used by one goroutine.
type eye struct {
	sys    *system.Root
	buffer []byte
	hash   hash.Hash
	sum    []byte
	text   []byte // a digest as it is written
	mark   []byte // what files with secrets are known by; nil where nothing can be opened

	accounts *accounts // for the names of whom things belong to; nil where nothing is declared to belong to anybody
}

func newEye(sys *system.Root) eye {
	return eye{
		sys:    sys,
		buffer: make([]byte, bufferSize), hash: sha256.New(),
		sum: make([]byte, 0, sha256.Size), text: []byte(document.FromHash(make([]byte, sha256.Size))),
	}
}

// lookFile compares size, mode and bytes. A file of another size is not read.
func lookFile(f *found, pl place, want keep.Thing, e *eye) error {
	mode := given(f.info, want)
	if f.info.Size != want.Size {
		f.says = fmt.Sprintf("other content (%d bytes)", f.info.Size)
		if keep.Keyed(want.Digest) {
			f.says = otherContent
		}
		return nil
	}
	err := e.read(pl, f.info)
	if errors.Is(err, fs.ErrPermission) && !mode {
		f.says = e.unlike(f.info, want)
		return nil
	}
	if err != nil {
		return err
	}
	f.body = e.has(want.Digest)
	f.same = f.body && mode
	switch {
	case !f.body:
		f.says = otherContent
		if anybody(f.info.Mode) && !keep.Keyed(want.Digest) {
			f.says = fmt.Sprintf("other content (%s)", document.FromHash(e.sum).Short())
		}
	case !mode:
		f.says = e.unlike(f.info, want)
		f.tied = f.info.Tied()
	}
	return nil
}

// otherContent is all that is said of bytes in the place of a secret, and of those
// that not everybody may read: there may have been one in them, and values can be tried
// against a digest.
const otherContent = "other content"

// anybody reports whether everybody on the machine may read a file of this mode.
func anybody(mode fs.FileMode) bool { return mode&0o004 != 0 }

// read takes in the bytes of the file that info was seen of: as many as it had then.
func (e *eye) read(pl place, info system.Info) (err error) {
	file, err := pl.dir.Read(pl.name, info)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	e.hash.Reset()
	for left := info.Size; left > 0; {
		e.sys.Step()
		n, err := file.Read(e.buffer[:min(left, int64(len(e.buffer)))])
		if errors.Is(err, io.EOF) {
			return fault.New(fault.Conflict, "the file has become shorter while it was being read")
		}
		if err != nil {
			return err
		}
		e.hash.Write(e.buffer[:n])
		left -= int64(n)
	}
	e.sum = e.hash.Sum(e.sum[:0])
	return nil
}

// has reports whether what was read has this digest.
func (e *eye) has(d document.Digest) bool {
	if keep.Keyed(d) {
		return e.mark != nil && d == e.keyed()
	}
	hex.Encode(e.text[len(e.text)-2*sha256.Size:], e.sum)
	return string(d) == string(e.text)
}

// keyed is the digest of what was read, as the record has it of a file with secrets.
func (e *eye) keyed() document.Digest {
	return keep.KeyedDigest(e.mark, e.sum)
}

// stageFile writes a file beside its place, with the bytes that fill writes.
func stageFile(pl place, want keep.Thing, e *eye, fill func(io.Writer) error) error {
	return anew(pl, func() error {
		return effect.Do("resource.file.stage", func() error { return writeFile(pl.dir, pl.temp(), want, e, fill) })
	})
}

func writeFile(dir *system.Dir, name string, want keep.Thing, e *eye, fill func(io.Writer) error) (err error) {
	file, err := dir.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	e.hash.Reset()
	s := sink{to: file, left: want.Size, eye: e}
	if err := fill(&s); err != nil {
		return s.whose(err)
	}
	e.sum = e.hash.Sum(e.sum[:0])
	if same := s.left == 0 && e.has(want.Digest); !same && keep.Keyed(want.Digest) {
		return fault.New(fault.Conflict, "what was filled in is not what was about to be")
	} else if !same {
		return fault.New(fault.Invalid, "the bytes that came have the digest %s, declared is %s", document.FromHash(e.sum).Short(), want.Digest.Short())
	}
	return file.Give(giving(want))
}

// sink takes exactly the bytes of one file, and knows whether it was itself that
// failed. It copies through the buffer of the eye that it writes for.
type sink struct {
	to   io.Writer
	left int64
	eye  *eye
	err  error
}

func (s *sink) Write(b []byte) (int, error) {
	if int64(len(b)) > s.left {
		return 0, fault.New(fault.Invalid, "more bytes came than were declared")
	}
	s.eye.sys.Step()
	n, err := s.to.Write(b)
	s.eye.hash.Write(b[:n])
	s.left -= int64(n)
	s.err = err
	return n, err
}

// ReadFrom takes all of r, so that nobody makes a buffer for one file.
func (s *sink) ReadFrom(r io.Reader) (int64, error) {
	var all int64
	for {
		n, err := r.Read(s.eye.buffer)
		if n > 0 {
			wrote, failed := s.Write(s.eye.buffer[:n])
			all += int64(wrote)
			if failed != nil {
				return all, failed
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, err
		}
	}
}

// WriteString is Write.
func (s *sink) WriteString(text string) (int, error) {
	done := 0
	for done < len(text) {
		n, err := s.Write(s.eye.buffer[:copy(s.eye.buffer, text[done:])])
		if done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}

// whose says of a failure without a kind whether it was this machine's.
func (s *sink) whose(err error) error {
	switch {
	case s.err != nil:
		return fault.Wrap(fault.Conflict, system.Cause(s.err), "write")
	case fault.KindOf(err) == fault.Unknown:
		return fault.Wrap(fault.Unavailable, err, "read the bytes")
	}
	return err
}
