package observe

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// sought is many texts that are looked for in one go. A window as long as the
// shortest of them moves over what is searched: its last bytes tell how far it may
// go on before any of them could end there, which is mostly its whole length
// (Wu and Manber, "A fast algorithm for multi-pattern searching", 1994).
type sought struct {
	forms [][]byte
	of    []int // by form: whose it is
	least int   // the window's length
	most  int   // of the longest
	skips [1 << skipBits]uint8
	ends  map[uint32][]int // by the window's last bytes: the forms that begin with such a window
}

const (
	block    = 4 // so many last bytes are looked at
	skipBits = 14
	farthest = 255 // what a skip can be
)

// seek makes ready to look for the forms of each of these.
func seek(all [][][]byte) *sought {
	s := &sought{least: farthest, ends: map[uint32][]int{}}
	for i, forms := range all {
		for _, form := range forms {
			s.forms, s.of = append(s.forms, form), append(s.of, i)
			s.least, s.most = min(s.least, len(form)), max(s.most, len(form))
		}
	}
	if s.least < block {
		return s // too short to be looked for together
	}
	for i := range s.skips {
		s.skips[i] = uint8(s.least - block + 1)
	}
	for n, form := range s.forms {
		for end := block; end <= s.least; end++ {
			at := slot(binary.LittleEndian.Uint32(form[end-block:]))
			s.skips[at] = min(s.skips[at], uint8(s.least-end))
		}
		last := binary.LittleEndian.Uint32(form[s.least-block:])
		s.ends[last] = append(s.ends[last], n)
	}
	return s
}

func slot(last uint32) uint32 { return last * 0x9e3779b1 >> (32 - skipBits) }

// in is whose forms stand in a text, in order.
func (s *sought) in(text []byte) (found []int) {
	if s.least < block {
		for n, form := range s.forms {
			if bytes.Contains(text, form) {
				found = append(found, s.of[n])
			}
		}
		return slices.Compact(found)
	}
	for end := s.least; end <= len(text); {
		last := binary.LittleEndian.Uint32(text[end-block:])
		if skip := s.skips[slot(last)]; skip > 0 {
			end += int(skip)
			continue
		}
		for _, n := range s.ends[last] {
			if bytes.HasPrefix(text[end-s.least:], s.forms[n]) {
				found = append(found, s.of[n])
			}
		}
		end++
	}
	slices.Sort(found)
	return slices.Compact(found)
}
