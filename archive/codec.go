package archive

import (
	"runtime"

	"github.com/klauspost/compress/zstd"

	"noxmesh/internal/fault"
)

// newEncoder compresses frames, several at once. Its output depends on its
// input alone, and carries no checksum: the table's digests are stronger.
func newEncoder() (*zstd.Encoder, error) {
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithWindowSize(FrameSize),
		zstd.WithEncoderCRC(false),
		zstd.WithEncoderConcurrency(cores()))
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "start the compressor")
	}
	return enc, nil
}

// newDecoder decompresses to at most limit bytes at once.
func newDecoder(limit uint64) (*zstd.Decoder, error) {
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderMaxMemory(limit),
		zstd.WithDecoderMaxWindow(max(limit, zstd.MinWindowSize)),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderConcurrency(cores()))
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "start the decompressor")
	}
	return dec, nil
}

func cores() int { return runtime.GOMAXPROCS(0) }

// CompressIndex is the index as it travels. Its bytes are no identity: a newer
// compressor may choose others.
func CompressIndex(idx Index) ([]byte, error) {
	plain, err := idx.Encode()
	if err != nil {
		return nil, err
	}
	level := zstd.SpeedBetterCompression
	if len(plain) < 32<<10 {
		level = zstd.SpeedFastest // of so little the better one makes no less, and clears megabytes first
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level))
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "start the compressor")
	}
	return enc.EncodeAll(plain, nil), enc.Close()
}

// DecompressIndex reads an index as it travels, at most MaxIndex bytes of it.
func DecompressIndex(data []byte) (Index, error) {
	dec, err := newDecoder(MaxIndex)
	if err != nil {
		return Index{}, err
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(data, nil)
	if err != nil {
		return Index{}, fault.Wrap(fault.Invalid, err, "decompress the index")
	}
	return DecodeIndex(plain)
}

// newFrameDecoder decompresses frames into buffers that it never lets grow.
func newFrameDecoder() (*zstd.Decoder, error) {
	dec, err := zstd.NewReader(nil,
		zstd.WithDecoderMaxMemory(FrameSize),
		zstd.WithDecoderMaxWindow(8<<20),
		zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderConcurrency(cores()))
	if err != nil {
		return nil, fault.Wrap(fault.Broken, err, "start the decompressor")
	}
	return dec, nil
}

// oneFrame reports whether these bytes are one frame from the first to the last:
// what could hide behind it, or in a frame that readers skip, is no part of an archive.
func oneFrame(b []byte) bool {
	var h zstd.Header
	if err := h.Decode(b); err != nil || h.Skippable {
		return false
	}
	const header, rle = 3, 1 // of a block: its bytes, and the kind that is one byte over and over
	for at := h.HeaderSize; at+header <= len(b); {
		block := int(b[at]) | int(b[at+1])<<8 | int(b[at+2])<<16
		size := block >> 3
		if block>>1&3 == rle {
			size = 1
		}
		at += header + size
		if block&1 == 1 { // the last
			if h.HasCheckSum {
				at += 4
			}
			return at == len(b)
		}
	}
	return false
}
