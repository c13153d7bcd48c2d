package term

import (
	"fmt"
	"io"
)

// eraseLine takes the cursor to the first column and empties the line.
const eraseLine = "\r\x1b[2K"

// Progress shows what is going on, on the last line of a terminal, in place of
// what it showed before; anywhere else it shows nothing. Words and Done take the
// line away.
func (t *Term) Progress(format string, args ...any) {
	if !t.Live || t.JSON {
		return
	}
	line := Clean(fmt.Sprintf(format, args...))
	if t.Edge > 0 {
		line = cut(line, t.Edge-1) // a line that wraps can't be erased
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
	t.draw(line)
}

// Done takes the progress line away. Call it before writing results.
func (t *Term) Done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
}

// erase takes the progress line away and is what stood on it. Call with mu held.
func (t *Term) erase() string {
	shown := t.progress
	if shown != "" {
		_, _ = io.WriteString(t.Err, eraseLine) // progress that can't be shown is no failure
	}
	t.progress = ""
	return shown
}

// draw shows a progress line, or nothing for "". Call with mu held.
func (t *Term) draw(line string) {
	if line != "" {
		_, _ = io.WriteString(t.Err, line) // as above
	}
	t.progress = line
}
