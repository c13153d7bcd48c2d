package git

import (
	"bufio"
	"io"
)

// packet is one pkt-line: four hexadecimal digits that count themselves, and
// what follows; or one of the marks that have no text.
type packet struct {
	mark mark
	text []byte // valid until the next is read; without the line's end
}

type mark int

const (
	line mark = iota
	flush
	delim
)

// maxPacket is what git itself takes for one line, and maxAnswer what is read of
// one answer: where one ref stands is less than a kilobyte.
const (
	maxPacket = 65516
	maxAnswer = 1 << 20
)

// packets reads pkt-lines, strictly and up to a limit.
type packets struct {
	r   *bufio.Reader
	buf []byte
}

func readPackets(r io.Reader) *packets {
	return &packets{r: bufio.NewReader(io.LimitReader(r, maxAnswer))}
}

// next is the next packet. Whatever is not exactly one is an error, and so is
// the end: an answer ends with a flush.
func (p *packets) next() (packet, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return packet{}, odd("its answer ends in the middle")
	}
	n := 0
	for _, c := range head {
		d := hexDigit(c)
		if d < 0 {
			return packet{}, odd("its answer is not in git's protocol")
		}
		n = n<<4 | d
	}
	switch {
	case n == 0:
		return packet{mark: flush}, nil
	case n == 1:
		return packet{mark: delim}, nil
	case n <= 4, n > maxPacket+4:
		return packet{}, odd("its answer has a line of no possible length")
	}
	if n -= 4; cap(p.buf) < n {
		p.buf = make([]byte, n)
	}
	text := p.buf[:n]
	if _, err := io.ReadFull(p.r, text); err != nil {
		return packet{}, odd("its answer ends in the middle")
	}
	if text[n-1] == '\n' {
		text = text[:n-1]
	}
	return packet{text: text}, nil
}

// end refuses anything that follows.
func (p *packets) end() error {
	if _, err := p.r.ReadByte(); err != io.EOF {
		return odd("its answer goes on after its end")
	}
	return nil
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// appendPacket adds one line to what is asked.
func appendPacket(to []byte, text string) []byte {
	const digits = "0123456789abcdef"
	n := len(text) + 4
	to = append(to, digits[n>>12&15], digits[n>>8&15], digits[n>>4&15], digits[n&15])
	return append(to, text...)
}

// oddAnswer is an answer that this client does not understand: git is asked to.
type oddAnswer string

// Error says what is odd about it.
func (o oddAnswer) Error() string { return string(o) }

func odd(why string) error { return oddAnswer(why) }
