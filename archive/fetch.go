package archive

import (
	"context"
	"io"

	"noxmesh/internal/fault"
)

// fetcher reads frames from a source. Frames beside each other come as one range.
type fetcher struct {
	src    Source
	frames []frame
	needed []int
	body   io.ReadCloser
	until  int64 // where the open range ends
}

// next fills an opening with the next frame.
func (f *fetcher) next(ctx context.Context) func(*opening) (bool, error) {
	return func(o *opening) (bool, error) {
		if len(f.needed) == 0 {
			return false, nil
		}
		o.number = f.needed[0]
		o.frame = f.frames[o.number]
		if f.body == nil {
			if err := f.open(ctx); err != nil {
				return false, err
			}
		}
		f.needed = f.needed[1:]
		if _, err := io.ReadFull(f.body, o.packed[:o.length]); err != nil {
			return false, fault.Wrap(fault.Unavailable, err, "read frame %d of the archive", o.number)
		}
		if o.offset+int64(o.length) == f.until {
			f.close()
		}
		return true, nil
	}
}

// open opens the range of the frames that are needed next without a gap.
func (f *fetcher) open(ctx context.Context) error {
	first := f.needed[0]
	last := first
	for _, n := range f.needed[1:] {
		if n != last+1 {
			break
		}
		last = n
	}
	off := f.frames[first].offset
	f.until = f.frames[last].offset + int64(f.frames[last].length)
	body, err := f.src.ReadRange(ctx, off, f.until-off)
	if err != nil {
		return fault.Add(err, "open %d bytes of the archive at %d", f.until-off, off)
	}
	f.body = body
	return nil
}

// close ends the range that is open.
func (f *fetcher) close() {
	if f.body != nil {
		_ = f.body.Close() // read to its end, or given up
		f.body = nil
	}
}
