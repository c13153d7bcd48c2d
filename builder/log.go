package builder

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"noxmesh/delivery/build"
	"noxmesh/identity"
)

// The log's bounds. Head and tail together are the most that is kept of a log;
// a piece is the most that waits for its line to end.
const (
	logHead  = 768 << 10
	logTail  = 256 << 10
	logPiece = 8 << 10
)

// logbook is a build's log as people read it: valid UTF-8, and bounded. The
// head is final as it is written, so it can travel while the build goes on; of
// what comes after, the end is kept and joined when the log is closed. A secret
// that is said in one line never gets into it.
type logbook struct {
	hides []identity.Secret

	mu      sync.Mutex // guards all below
	pending []byte     // what has no line end yet
	text    []byte     // final
	tail    []byte     // the end of what did not fit
	cut     int64      // bytes between the two
	closed  bool

	steps []build.Took // that have ended
	step  string       // that is being made
	began time.Time    // since when
}

// Write takes output as it comes.
func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := p
	for len(rest) > 0 {
		n := min(len(rest), logPiece)
		l.pending = append(l.pending, rest[:n]...)
		rest = rest[n:]
		l.settle()
	}
	return len(p), nil
}

// settle moves what is whole out of pending.
func (l *logbook) settle() {
	whole := bytes.LastIndexByte(l.pending, '\n') + 1
	if whole == 0 && len(l.pending) >= logPiece {
		whole = runeEnd(l.pending)
	}
	if whole > 0 {
		l.add(l.pending[:whole])
		l.pending = append(l.pending[:0], l.pending[whole:]...)
	}
}

// hidden is text without these secrets.
func hidden(secrets []identity.Secret, text []byte) []byte {
	for _, s := range secrets {
		text = s.Hide(text)
	}
	return text
}

func (l *logbook) add(p []byte) {
	p = hidden(l.hides, bytes.ToValidUTF8(p, []byte("\uFFFD")))
	if l.cut == 0 && len(l.tail) == 0 && len(l.text)+len(p) <= logHead {
		l.text = append(l.text, p...)
		return
	}
	l.tail = append(l.tail, p...)
	if over := len(l.tail) - logTail; over > logTail { // cut seldom, so that cutting stays cheap
		over = lineStart(l.tail, over)
		l.cut += int64(over)
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
}

// Step writes a step's heading.
func (l *logbook) Step(name, what string) {
	l.begin(name)
	if what != "" {
		what = ": " + what
	}
	l.line("== " + name + what)
}

// Done ends a step and writes how long it took.
func (l *logbook) Done(name string) {
	l.line(fmt.Sprintf("== %s took %s", name, shortly(l.begin(""))))
}

// begin ends the step that is being made, and is how long that one took. No
// name begins none.
func (l *logbook) begin(name string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	took := now.Sub(l.began)
	if l.step != "" {
		l.steps = append(l.steps, build.Took{Step: l.step, Took: took.Milliseconds()})
	}
	l.step, l.began = name, now
	return took
}

// Steps is how long each step took, in their order; the last may have failed.
func (l *logbook) Steps() []build.Took {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.steps)
}

// Now is the step that is being made, and for how long it has been.
func (l *logbook) Now() (step string, elapsed time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.step == "" {
		return "", 0
	}
	return l.step, time.Since(l.began)
}

// Command echoes what is about to be run, as it could be typed.
func (l *logbook) Command(argv []string) {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = quote(a)
	}
	l.line("$ " + strings.Join(words, " "))
}

// Note writes one line of the builder's own.
func (l *logbook) Note(format string, args ...any) { l.line(fmt.Sprintf(format, args...)) }

// line ends whatever line is open, so that a heading always begins one.
func (l *logbook) line(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finishLine()
	l.add([]byte(s + "\n"))
}

func (l *logbook) finishLine() {
	if len(l.pending) > 0 {
		l.add(append(l.pending, '\n'))
		l.pending = l.pending[:0]
	}
}

// Close makes the whole log final.
func (l *logbook) Close() {
	l.begin("")
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	l.finishLine()
	if over := len(l.tail) - logTail; over > 0 {
		over = lineStart(l.tail, over)
		l.cut += int64(over)
		l.tail = l.tail[over:]
	}
	if l.cut > 0 {
		l.text = append(l.text, fmt.Sprintf("[%d bytes of the log are left out here]\n", l.cut)...)
	}
	l.text = append(l.text, l.tail...)
	l.tail = nil
}

// From is at most size bytes of the final text from offset, whole characters only.
func (l *logbook) From(offset int64, size int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if offset < 0 || offset >= int64(len(l.text)) {
		return ""
	}
	part := l.text[offset:]
	if len(part) > size {
		part = part[:size]
		part = part[:runeEnd(part)]
	}
	return string(part)
}

// Text is the final text so far.
func (l *logbook) Text() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text)
}

// lastBytes passes output on and remembers its last lines.
type lastBytes struct {
	w    io.Writer
	last []byte
}

const lastSize = 2 << 10

func (l *lastBytes) Write(p []byte) (int, error) {
	l.last = append(l.last, p...)
	if over := len(l.last) - lastSize; over > lastSize {
		l.last = append(l.last[:0], l.last[over:]...)
	}
	return l.w.Write(p)
}

// lines is the last lines, valid UTF-8.
func (l *lastBytes) lines() string {
	last := bytes.ToValidUTF8(l.last, []byte("\uFFFD"))
	if over := len(last) - lastSize; over > 0 {
		last = last[lineStart(last, over):]
	}
	return strings.TrimSpace(string(last))
}

// runeEnd is where the last whole character of p ends.
func runeEnd(p []byte) int {
	for i := 1; i <= utf8.UTFMax && i <= len(p); i++ {
		if at := len(p) - i; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) && at > 0 {
				return at
			}
			break
		}
	}
	return len(p)
}

// lineStart is the first beginning of a line at or after from, or else of a character.
func lineStart(p []byte, from int) int {
	if i := bytes.IndexByte(p[from:], '\n'); i >= 0 && from+i+1 < len(p) {
		return from + i + 1
	}
	for from < len(p) && !utf8.RuneStart(p[from]) {
		from++
	}
	return from
}

// quote is a word as a shell would need it.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@+%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func shortly(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
