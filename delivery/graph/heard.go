package graph

import "hash/maphash"

// heard is the names that one module's code says, before they have numbers. They
// get them together: what each is compared with lies far apart in memory, and to
// wait for one after the other took longer than all else.
type heard struct {
	name    []byte // while it is put together
	letters []byte // of all of them
	words   []word
}

// word is one of them.
type word struct {
	begin, end int
	hash       uint32
	id         int32 // at first of the name that may be it
	near       int   // where the text of that one begins
	kind       uint8 // of the name
	in         uint8 // the language
	owned      bool
	test       bool
}

// hear puts down one more, of up to three parts.
func (t *names) hear(h *heard, w word, repository, between string, text []byte) {
	w.begin = len(h.letters)
	h.letters = append(append(append(h.letters, repository...), between...), text...)
	w.end = len(h.letters)
	w.hash = uint32(maphash.Bytes(t.seed, h.letters[w.begin:])) + uint32(w.kind)
	h.words = append(h.words, w)
}

// number finds the number of each. What it reads ahead is all that the last of
// the loops waits for; none of the reads needs the one before it.
func (t *names) number(h *heard) {
	last := uint32(len(t.slots) - 1)
	for i := range h.words {
		h.words[i].id = t.slots[h.words[i].hash&last].next - 1
	}
	for i := range h.words {
		if w := &h.words[i]; w.id >= 0 {
			w.near = t.all[w.id].begin
		}
	}
	for _, w := range h.words {
		if w.id >= 0 && w.near < len(t.texts) {
			t.near ^= t.texts[w.near]
		}
	}
	for i := range h.words {
		w := &h.words[i]
		w.id = t.id(int(w.kind), h.letters[w.begin:w.end], w.hash)
	}
}
