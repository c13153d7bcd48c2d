// Package archive is a folder as an index and frames: pack, verify, unpack; the same bytes everywhere.
//
// An archive's identity is the digest of its index: what is in the folder, and
// nothing about when, where, by whom or by which compressor it was packed. The
// bytes travel beside it as one ordinary .tar.zst:
//
//	tar:    header, content, padding | header, content, padding | … | end
//	frames: |---- zstd ----|---- zstd ----|---- zstd ----|- table (skippable) -|
//
// The tar stream is a function of the index and the contents, so whoever reads
// it never parses tar: the one stream that is right is known beforehand, and
// any other byte is refused. Each frame stands alone, holds at most FrameSize
// of the stream and has its digest in the table, so that packing and unpacking
// use every core and a node fetches only the frames it lacks.
//
// The table is trusted with nothing: it must add up to the stream and to the
// blob, and every byte that comes out of a frame is held against the index.
package archive
