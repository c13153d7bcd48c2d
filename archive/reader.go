package archive

import (
	"hash"
	"io"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// cursor is a place in the stream that moves forward, frame by frame.
type cursor struct {
	pull func() (*opening, error)
	open *opening
}

// at is the bytes of the stream from a place to the end of the frame that it lies in.
func (c *cursor) at(place int64) ([]byte, error) {
	for c.open == nil || place >= c.open.end {
		open, err := c.pull()
		if err != nil {
			return nil, err
		}
		if open == nil || place < open.begin {
			return nil, fault.New(fault.Broken, "the frame with byte %d of the stream was not fetched", place)
		}
		c.open = open
	}
	return c.open.plain[place-c.open.begin:], nil
}

// drain waits for the frames that are left, so that they too have been held against the index.
func (c *cursor) drain() error {
	for {
		open, err := c.pull()
		if open == nil || err != nil {
			return err
		}
	}
}

// reader is the content of a file that lies in several frames. Where the bytes
// are not the index's, it fails instead of giving the last of them.
type reader struct {
	cursor  *cursor
	at, end int64
	entry   *Entry
	hash    hash.Hash
	err     error
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.at == r.end {
		return 0, io.EOF
	}
	b, err := r.cursor.at(r.at)
	if err != nil {
		r.err = err
		return 0, err
	}
	n := copy(p, b[:min(int64(len(b)), r.end-r.at)])
	r.hash.Write(p[:n])
	r.at += int64(n)
	if r.at == r.end && document.FromHash(r.hash.Sum(nil)) != r.entry.Digest {
		r.err = wrongBytes(r.entry)
		return 0, r.err
	}
	return n, nil
}
