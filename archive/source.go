package archive

import (
	"context"
	"io"

	"noxmesh/internal/fault"
)

// Source is where a blob's bytes come from. Nothing that it says is trusted.
type Source interface {
	// Size is the blob's size as it was declared.
	Size() int64
	// ReadRange opens n bytes of the blob from off. Ranges are asked for in
	// order, one at a time, each within the size. Reads end when ctx does.
	// A source that does not answer is fault.Unavailable.
	ReadRange(ctx context.Context, off, n int64) (io.ReadCloser, error)
}

// Local is a blob that lies here, as a source.
func Local(r io.ReaderAt, size int64) Source { return local{r, size} }

type local struct {
	r    io.ReaderAt
	size int64
}

func (l local) Size() int64 { return l.size }

func (l local) ReadRange(_ context.Context, off, n int64) (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(l.r, off, n)), nil
}

// readRange reads all of a range.
func readRange(ctx context.Context, src Source, off, n int64) ([]byte, error) {
	body, err := src.ReadRange(ctx, off, n)
	if err != nil {
		return nil, fault.Add(err, "open %d bytes of the archive at %d", n, off)
	}
	defer body.Close()
	b := make([]byte, n)
	if _, err := io.ReadFull(body, b); err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "read %d bytes of the archive at %d", n, off)
	}
	return b, nil
}

// readTable reads the table of frames. It asks for the bytes that Pack's table
// would have, and again only where another program cut the frames elsewhere.
func readTable(ctx context.Context, src Source, s *stream) ([]frame, error) {
	blob := src.Size()
	guess := min(tableSize(len(s.cuts())), blob)
	tail, err := readRange(ctx, src, blob-guess, guess)
	if err != nil {
		return nil, err
	}
	n, err := tableFrames(tail)
	if err != nil {
		return nil, err
	}
	size := tableSize(n)
	switch {
	case int64(n) > s.size() || size > blob:
		return nil, fault.New(fault.Invalid, "table of frames: %d frames for %d bytes", n, s.size())
	case size < guess:
		tail = tail[guess-size:]
	case size > guess:
		if tail, err = readRange(ctx, src, blob-size, size); err != nil {
			return nil, err
		}
	}
	return decodeTable(tail, s.size(), blob)
}
