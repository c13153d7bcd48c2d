package archive

import (
	"strconv"
	"unicode/utf8"
)

// block is tar's unit: headers are blocks, and contents are padded to them.
const block = 512

// ustar is what a plain header can hold; whatever is longer goes into a pax record.
const (
	ustarName = 100
	ustarSize = 1<<33 - 1 // eleven octal digits
)

// appendHeader appends e's header: one ustar block, with a pax header (POSIX
// 1003.1-2001) before it where the path or the target is not short and ASCII,
// or the size is large. It depends on e alone, and on e's digest not at all.
func appendHeader(dst []byte, e *Entry) []byte {
	name, mode, kind := e.Path, int64(0o644), byte('0')
	switch e.Kind {
	case File:
		if e.Executable {
			mode = 0o755
		}
	case Directory:
		name, mode, kind = name+"/", 0o755, '5'
	case Link:
		mode, kind = 0o777, '2'
	}
	var records []byte
	if !plain(name) {
		records = appendRecord(records, "path", name)
	}
	if !plain(e.Target) {
		records = appendRecord(records, "linkpath", e.Target)
	}
	if e.Size > ustarSize {
		records = appendRecord(records, "size", strconv.FormatInt(e.Size, 10))
	}
	if len(records) > 0 {
		dst = appendBlock(dst, ustar{name: "././@PaxHeader", mode: 0o644, size: int64(len(records)), kind: 'x'})
		dst = append(dst, records...)
		dst = append(dst, make([]byte, padding(int64(len(records))))...)
	}
	size := e.Size
	if size > ustarSize {
		size = 0
	}
	return appendBlock(dst, ustar{name: name, mode: mode, size: size, kind: kind, target: e.Target})
}

// padding is the zeros after n bytes of content.
func padding(n int64) int64 { return -n & (block - 1) }

// plain reports whether s stands in a ustar header as it is.
func plain(s string) bool {
	if len(s) > ustarName {
		return false
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendRecord appends a pax record, whose length counts its own digits.
func appendRecord(dst []byte, key, value string) []byte {
	n := len(key) + len(value) + 3 // space, equals sign, newline
	size := n + len(strconv.Itoa(n))
	if n+len(strconv.Itoa(size)) != size {
		size = n + len(strconv.Itoa(size))
	}
	dst = strconv.AppendInt(dst, int64(size), 10)
	dst = append(dst, ' ')
	dst = append(dst, key...)
	dst = append(dst, '=')
	dst = append(dst, value...)
	return append(dst, '\n')
}

// ustar is the fields of a header block that are not the same in all of them.
type ustar struct {
	name, target string
	mode, size   int64
	kind         byte
}

// appendBlock appends a header block. Names that do not fit are cut: the pax
// record before it holds them whole, and a program that knows no pax still sees one.
func appendBlock(dst []byte, h ustar) []byte {
	var b [block]byte
	copy(b[0:100], ascii(h.name))
	octal(b[100:108], h.mode)
	octal(b[108:116], 0) // owner
	octal(b[116:124], 0) // group
	octal(b[124:136], h.size)
	octal(b[136:148], 0) // time
	copy(b[148:156], "        ")
	b[156] = h.kind
	copy(b[157:257], ascii(h.target))
	copy(b[257:265], "ustar\x0000")
	octal(b[329:337], 0) // device
	octal(b[337:345], 0)
	var sum int64
	for _, c := range b {
		sum += int64(c)
	}
	octal(b[148:155], sum)
	return append(dst, b[:]...)
}

// ascii is s with a question mark for each byte that is not ASCII.
func ascii(s string) string {
	if plain(s) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if c >= utf8.RuneSelf {
			b[i] = '?'
		}
	}
	return string(b)
}

// octal fills field with n in octal digits and a final NUL.
func octal(field []byte, n int64) {
	field[len(field)-1] = 0
	for i := len(field) - 2; i >= 0; i-- {
		field[i] = byte('0' + n&7)
		n >>= 3
	}
}
