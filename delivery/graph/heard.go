package graph

// Heard is modules and the names that their code says, before these have numbers.
// They get them together: what each is compared with lies far apart in memory, and
// to wait for one after the other took longer than all else.
type Heard struct {
	codes   []Code
	name    []byte // while it is put together
	letters []byte // of all names
	words   []word
	ends    []int // of the words of each module
	near    byte  // what was read ahead
}

// word is one name that a module says.
type word struct {
	begin, end int32
	hash       uint32
	id         int32
	begins     uint32 // what may be the name
	there      bool   // it may
	kind       uint8  // of the name
	in         uint8  // the language
	owned      bool
	test       bool
}

func (h *Heard) clear() {
	h.codes, h.letters, h.words, h.ends = h.codes[:0], h.letters[:0], h.words[:0], h.ends[:0]
}

// Listen puts what one more module says to what was heard. It needs nothing of the
// graph that changes: one may listen while another takes.
func (b *Builds) Listen(h *Heard, code Code) {
	h.codes = append(h.codes, code)
	b.hear(h, code, true)
}

// Take puts what was heard into the graph, and leaves room for more. It is Set, and
// half of what Settle does: so a graph is put together while the record is still
// read.
func (b *Builds) Take(h *Heard) {
	ids := make([]int32, len(h.codes))
	for i, c := range h.codes {
		ids[i] = b.put(c)
	}
	b.take(ids, h)
	h.clear()
}

// hear puts down every name that a module's code says, and its place where it is known.
func (b *Builds) hear(h *Heard, code Code, known bool) {
	if h.name == nil {
		h.name = make([]byte, 0, 512)
	}
	language, kind, spoken := "", 0, false
	for w := range code.Says.Words(h.name[:0]) {
		if w.Language != language || !spoken {
			language = w.Language
			kind, spoken = b.names.kinds[language]
		}
		if !spoken {
			continue
		}
		name := word{in: uint8(kind), kind: uint8(kind), owned: w.Owned, test: w.Test}
		if w.Path {
			name.kind = uint8(b.names.places())
			b.names.hear(h, name, code.Repository, "\x00", w.Text)
		} else {
			b.names.hear(h, name, "", "", w.Text)
		}
	}
	if code.Beside != nil {
		b.hearBeside(h, *code.Beside)
	}
	if known {
		b.names.hear(h, word{kind: uint8(b.names.places()), owned: true}, code.Repository, "\x00", []byte(code.Folder))
	}
	h.ends = append(h.ends, len(h.words))
}

// hearBeside puts down the names that are said elsewhere than in a module's code.
func (b *Builds) hearBeside(h *Heard, says Beside) {
	for _, asked := range says.Asks {
		if kind, spoken := b.names.kinds[asked.Language]; spoken {
			b.names.hear(h, word{in: uint8(kind), kind: uint8(kind)}, "", "", []byte(asked.Name))
		}
	}
	for _, owned := range says.Owns {
		if kind, spoken := b.names.kinds[owned.Language]; spoken {
			b.names.hear(h, word{in: uint8(kind), kind: uint8(kind), owned: true}, "", "", []byte(owned.Name))
		}
	}
}

// hear puts down one more, of up to three parts.
func (t *names) hear(h *Heard, w word, repository, between string, text []byte) {
	w.begin = int32(len(h.letters))
	h.letters = append(append(append(h.letters, repository...), between...), text...)
	w.end = int32(len(h.letters))
	w.hash = t.hash(w.kind, h.letters[w.begin:])
	h.words = append(h.words, w)
}

// number finds the number of each.
func (t *names) number(h *Heard) {
	t.ahead(h)
	for i := range h.words {
		w := &h.words[i]
		w.id = t.id(w.kind, h.letters[w.begin:w.end], w.hash)
	}
}

// ahead reads all that looking for these names waits for. None of the reads needs
// the one before it.
func (t *names) ahead(h *Heard) {
	for i := range h.words {
		w := &h.words[i]
		w.begins, w.there = t.index.first(w.hash)
	}
	for _, w := range h.words {
		if w.there {
			h.near ^= t.all[w.begins]
		}
	}
}

// askAll finds the owned name that is nearest to each of those that nobody owns
// and that were not asked: again some together.
func (t *names) askAll() {
	var h Heard
	type asked struct {
		id   int32
		ways []string
	}
	some := make([]asked, 0, 8*few)
	find := func() {
		t.ahead(&h)
		for _, one := range some {
			t.answer[one.id] = t.first(t.kind(one.id), one.ways)
		}
		h.clear()
		some = some[:0]
	}
	for id := range t.answer {
		if t.answer[id] != notAsked || t.owner[id] != nobody {
			continue
		}
		text, kind := t.text(int32(id))
		name := string(text)
		ways := t.ways[kind](name)
		if len(ways) > 0 && ways[0] == name {
			ways = ways[1:]
		}
		some = append(some, asked{int32(id), ways})
		if len(ways) > 0 {
			h.words = append(h.words, word{hash: t.hashOf(uint8(kind), ways[0])})
		}
		if len(some) == cap(some) {
			find()
		}
	}
	find()
}
