package term

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"noxmesh/internal/fault"
)

// Term is one program's two ways out. Its methods may be called from several
// goroutines at once.
type Term struct {
	Name   string // of the program, before each word: "mesh"
	Out    io.Writer
	Err    io.Writer
	Colour bool // on Out
	Live   bool // Err is a terminal: lines may rewrite themselves
	JSON   bool // "-o json"
	Width  int  // of Out in columns; zero means that nothing is cut
	Edge   int  // of Err in columns; zero means not known

	mu       sync.Mutex // guards Err and what follows
	progress string     // what stands on the last line of Err
}

// Open is the Term of a program whose output goes to these files. It asks the
// files whether they are terminals, and env for NO_COLOR and TERM.
func Open(name string, out, errs *os.File, env func(string) string) *Term {
	outWidth, outTerminal := size(out)
	errWidth, errTerminal := size(errs)
	dumb := env("TERM") == "dumb"
	t := &Term{Name: name, Out: out, Err: errs, Edge: errWidth, Live: errTerminal && !dumb}
	if outTerminal {
		t.Width = outWidth
		t.Colour = env("NO_COLOR") == "" && !dumb
	}
	return t
}

// size is how wide the terminal behind f is, and whether there is one.
func size(f *os.File) (int, bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	var w *unix.Winsize
	var asked error
	if err := raw.Control(func(fd uintptr) { w, asked = unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ) }); err != nil || asked != nil {
		return 0, false
	}
	return int(w.Col), true
}

// Printf writes to stdout. The caller cleans what came from elsewhere.
func (t *Term) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(t.Out, format, args...)
	return written(err)
}

// Result writes v to stdout as one JSON value.
func (t *Term) Result(v any) error {
	text, err := encode(v, "  ")
	if err != nil {
		return fault.Wrap(fault.Broken, err, "write the result as JSON")
	}
	_, err = t.Out.Write(text)
	return written(err)
}

func written(err error) error {
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "write to stdout")
	}
	return nil
}

// Note says something to the person that is no result. With "-o json" it is
// left out.
func (t *Term) Note(format string, args ...any) {
	if !t.JSON {
		t.word("", fmt.Sprintf(format, args...))
	}
}

// Hint says what to do next.
func (t *Term) Hint(format string, args ...any) {
	if !t.JSON {
		t.word("hint: ", fmt.Sprintf(format, args...))
	}
}

// Fail says what could not be done and what to do about it, and is the exit
// status for that. It says nothing of nil.
func (t *Term) Fail(err error) int {
	switch {
	case err == nil:
	case t.JSON:
		t.failJSON(err)
	default:
		t.word("", err.Error())
		if hint := fault.HintOf(err); hint != "" {
			t.word("hint: ", hint)
		}
	}
	return Exit(err)
}

func (t *Term) failJSON(err error) {
	type failure struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
		Hint string `json:"hint,omitempty"`
	}
	text, _ := encode(map[string]failure{"error": { // three strings always encode
		Kind: fault.KindOf(err).String(), Text: err.Error(), Hint: fault.HintOf(err),
	}}, "")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
	_, _ = t.Err.Write(text) // there is nowhere left to say that stderr is gone
}

// word writes one word to stderr, each of its lines with the program's name.
func (t *Term) word(kind, text string) {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintf(&b, "%s: %s%s\n", t.Name, kind, Clean(line))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	shown := t.erase()
	_, _ = io.WriteString(t.Err, b.String()) // there is nowhere left to say that stderr is gone
	t.draw(shown)
}

// encode is v in JSON with a line end, with nothing in it that a terminal obeys.
func encode(v any, indent string) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	// The encoder has escaped what lies below 0x20. What else is unsafe can only
	// stand inside a string, where this is the same character.
	var safe strings.Builder
	for _, r := range b.String() {
		if r >= 0x20 && unsafe(r) {
			fmt.Fprintf(&safe, `\u%04x`, r)
			continue
		}
		safe.WriteRune(r)
	}
	return []byte(safe.String()), nil
}
