package archive

import (
	"io"

	"github.com/klauspost/compress/zstd"

	"noxmesh/internal/fault"
)

// maxWindow bounds the memory that a stream of somebody else's making can ask for.
const maxWindow = 128 << 20

// Decompressed reads a zstd stream of somebody else's making, as the layers of
// images are. Nothing of it is known before it is read.
func Decompressed(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "read zstd")
	}
	return d.IOReadCloser(), nil
}
