package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"noxmesh/internal/fault"
)

// The table of frames is a skippable zstd frame at the blob's end: its header,
// then a row for each frame, then a footer from which it is found.
//
//	magic 184D2A5D · length │ packed, plain, SHA-256 │ … │ frames · version · "meshtabl"
//
// All numbers are four bytes, little-endian.
const (
	skippable    = 0x184D2A5D
	tableVersion = 1
	tableMagic   = "meshtabl"
	tableHeader  = 8
	tableRow     = 8 + sha256.Size
	tableFooter  = 8 + len(tableMagic)
)

// frameSlack is what a frame of incompressible bytes may have more than them.
const frameSlack = 1 << 10

// frame is where one frame lies in the blob, what it holds of the stream, and
// the digest of its compressed bytes.
type frame struct {
	span
	offset int64
	length int
	digest [sha256.Size]byte
}

// tableSize is the bytes of a table with this many frames.
func tableSize(frames int) int64 {
	return int64(tableHeader + frames*tableRow + tableFooter)
}

func encodeTable(frames []frame) []byte {
	size := tableSize(len(frames))
	b := make([]byte, 0, size)
	b = binary.LittleEndian.AppendUint32(b, skippable)
	b = binary.LittleEndian.AppendUint32(b, uint32(size)-tableHeader)
	for i := range frames {
		b = binary.LittleEndian.AppendUint32(b, uint32(frames[i].length))
		b = binary.LittleEndian.AppendUint32(b, uint32(frames[i].end-frames[i].begin))
		b = append(b, frames[i].digest[:]...)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frames)))
	b = binary.LittleEndian.AppendUint32(b, tableVersion)
	return append(b, tableMagic...)
}

// tableFrames is how many frames the table has whose last bytes these are.
func tableFrames(tail []byte) (int, error) {
	if len(tail) < tableFooter {
		return 0, fault.New(fault.Invalid, "no table of frames: the blob ends after %d bytes", len(tail))
	}
	footer := tail[len(tail)-tableFooter:]
	if !bytes.Equal(footer[8:], []byte(tableMagic)) {
		return 0, fault.New(fault.Invalid, "no table of frames at the end of the blob")
	}
	if v := binary.LittleEndian.Uint32(footer[4:]); v != tableVersion {
		return 0, fault.New(fault.Invalid, "table of frames of version %d: this program reads version %d", v, tableVersion)
	}
	return int(binary.LittleEndian.Uint32(footer)), nil
}

// decodeTable reads a table that must cover the whole stream and fill the whole blob.
func decodeTable(data []byte, stream, blob int64) ([]frame, error) {
	n, err := tableFrames(data)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != tableSize(n) ||
		binary.LittleEndian.Uint32(data) != skippable ||
		binary.LittleEndian.Uint32(data[4:]) != uint32(len(data)-tableHeader) {
		return nil, fault.New(fault.Invalid, "table of frames: %d bytes are no table of %d frames", len(data), n)
	}
	frames := make([]frame, n)
	var offset, begin int64
	for i := range frames {
		row := data[tableHeader+i*tableRow:]
		packed, size := binary.LittleEndian.Uint32(row), binary.LittleEndian.Uint32(row[4:])
		if size == 0 || size > FrameSize || packed == 0 || packed > size+frameSlack {
			return nil, fault.New(fault.Invalid, "table of frames: frame %d holds %d bytes in %d", i, size, packed)
		}
		f := frame{span: span{begin, begin + int64(size)}, offset: offset, length: int(packed)}
		copy(f.digest[:], row[8:])
		frames[i] = f
		offset, begin = offset+int64(packed), f.end
	}
	if begin != stream {
		return nil, fault.New(fault.Invalid, "table of frames: the frames hold %d bytes, the index's files make %d", begin, stream)
	}
	if offset+int64(len(data)) != blob {
		return nil, fault.New(fault.Invalid, "table of frames: frames and table have %d bytes, the blob has %d", offset+int64(len(data)), blob)
	}
	return frames, nil
}
