package document

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A place is where a value stands in the text, and its key; in bytes, -1 for none.
type place struct{ key, value int64 }

// wanted is a tree of the paths that are looked for, so that one walk finds all
// of them and passes over everything else.
type wanted struct {
	under map[step]*wanted
	at    place
}

// Locate is the line and the column, in characters and from 1, of the value at
// this path; where there is none, of the innermost value around it.
func Locate(data []byte, path string) (line, column int) {
	p := locate(data, []string{path})[path]
	return lineColumn(data, max(p.value, 0))
}

// Lines is the line, from 1, of each of these paths that leads somewhere: of a key
// where it ends with one.
func Lines(data []byte, paths []string) map[string]int {
	lines := make(map[string]int, len(paths))
	for path, p := range locate(data, paths) {
		if p.key >= 0 {
			p.value = p.key
		}
		if p.value >= 0 {
			lines[path], _ = lineColumn(data, p.value)
		}
	}
	return lines
}

func locate(data []byte, paths []string) map[string]place {
	root := &wanted{at: place{-1, -1}}
	for _, path := range paths {
		root.add(stepsOf(path))
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	_ = root.walk(dec, data, -1) // what cannot be read has no place
	found := make(map[string]place, len(paths))
	for _, path := range paths {
		found[path] = root.place(stepsOf(path))
	}
	return found
}

func (w *wanted) add(steps []step) {
	for _, s := range steps {
		if w.under == nil {
			w.under = map[step]*wanted{}
		}
		if w.under[s] == nil {
			w.under[s] = &wanted{at: place{-1, -1}}
		}
		w = w.under[s]
	}
}

// place is where the steps end, or the last of them that is there.
func (w *wanted) place(steps []step) place {
	at := w.at
	for _, s := range steps {
		w = w.under[s]
		if w == nil || w.at.value < 0 {
			break
		}
		at = w.at
	}
	return at
}

func (w *wanted) walk(dec *jsontext.Decoder, data []byte, key int64) error {
	kind := dec.PeekKind()
	first := w.at.value < 0 // of a key that is there twice, the first
	if first {
		w.at = place{key, startOf(dec, data)}
	}
	if !first || len(w.under) == 0 || (kind != '{' && kind != '[') {
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; dec.PeekKind() != '}' && dec.PeekKind() != ']'; i++ {
		s, key, err := member(dec, data, i, kind == '{')
		if err != nil {
			return err
		}
		next, ok := w.under[s]
		if !ok {
			next = &wanted{at: place{-1, -1}}
		}
		if err := next.walk(dec, data, key); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// member is the step to the i-th thing in a list or, by its key, in an object,
// and where that key stands.
func member(dec *jsontext.Decoder, data []byte, i int, named bool) (step, int64, error) {
	if !named {
		return step{index: i}, -1, nil
	}
	at := startOf(dec, data)
	name, err := dec.ReadToken()
	return step{key: name.String(), index: -1}, at, err
}

// startOf is where the next token of dec begins.
func startOf(dec *jsontext.Decoder, data []byte) int64 {
	at := dec.InputOffset()
	for at < int64(len(data)) && bytes.IndexByte([]byte(" \t\r\n,:"), data[at]) >= 0 {
		at++
	}
	return at
}

func lineColumn(data []byte, at int64) (line, column int) {
	before := data[:min(max(at, 0), int64(len(data)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte{'\n'}), 1 + utf8.RuneCount(before[start:])
}
