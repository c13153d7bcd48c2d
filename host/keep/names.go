package keep

import (
	"hash/maphash"
	"iter"
	"slices"
	"strings"
)

// Names finds which of many numbered things has a name. It holds eight bytes for
// each slot and no name: whoever has the things says what each is called. A machine
// may have ten thousands of them, and a map takes twice the room of what is in it.
type Names struct {
	called func(n int) string
	seed   maphash.Seed
	slots  []slot // a power of two of them; what has no room in its own is in the next that is free
	held   int
}

// slot is one place for a name; one of no thing is free.
type slot struct {
	hash  uint32
	thing uint32 // its number and one; 0 for none
}

// NewNames is room for the names of so many things, each called what called says.
func NewNames(things int, called func(n int) string) Names {
	x := Names{called: called, seed: maphash.MakeSeed()}
	x.resize(things)
	return x
}

// Find is the number of the thing with this name; false where none has it.
func (x *Names) Find(name string) (int, bool) {
	at, found := x.seek(name, x.hash(name))
	if !found {
		return 0, false
	}
	return int(x.slots[at].thing) - 1, true
}

// Add gives the n-th thing its name. Where another one has that name, that is found by
// it no longer.
func (x *Names) Add(n int) {
	name := x.called(n)
	hash := x.hash(name)
	at, found := x.seek(name, hash)
	x.slots[at] = slot{hash, uint32(n) + 1}
	if found {
		return
	}
	if x.held++; crowded(x.held, len(x.slots)) {
		x.resize(2 * x.held)
	}
}

// Drop forgets a name, before its thing is called something else.
func (x *Names) Drop(name string) {
	at, found := x.seek(name, x.hash(name))
	if !found {
		return
	}
	x.held--
	for next := x.after(at); ; next = x.after(next) { // what is only here since its own slot was taken moves up
		s := x.slots[next]
		if s.thing == 0 {
			break
		}
		if home := int(s.hash) & (len(x.slots) - 1); (next-home)&(len(x.slots)-1) >= (next-at)&(len(x.slots)-1) {
			x.slots[at], at = s, next
		}
	}
	x.slots[at] = slot{}
}

// seek is the slot that a name with this hash has, or would have.
func (x *Names) seek(name string, hash uint32) (at int, found bool) {
	for at = int(hash) & (len(x.slots) - 1); ; at = x.after(at) {
		s := x.slots[at]
		if s.thing == 0 {
			return at, false
		}
		if s.hash == hash && x.called(int(s.thing)-1) == name {
			return at, true
		}
	}
}

func (x *Names) hash(name string) uint32 { return uint32(maphash.String(x.seed, name)) }

func (x *Names) after(at int) int { return (at + 1) & (len(x.slots) - 1) }

func crowded(held, slots int) bool { return held > slots/4*3 }

func (x *Names) resize(things int) {
	size := 8
	for crowded(things, size) {
		size *= 2
	}
	old := x.slots
	x.slots = make([]slot, size)
	for _, s := range old {
		if s.thing == 0 {
			continue
		}
		at := int(s.hash) & (size - 1)
		for x.slots[at].thing != 0 {
			at = x.after(at)
		}
		x.slots[at] = s
	}
}

// Table is the lines of a record by their paths. It is used by one goroutine.
type Table struct {
	names   Names
	entries []Entry // one without a path is none
	free    []int   // of these
}

// NewTable is a table with room for so many lines.
func NewTable(lines int) *Table {
	t := &Table{entries: make([]Entry, 0, lines)}
	t.names = NewNames(lines, func(n int) string { return t.entries[n].Thing.Path })
	return t
}

// Len is how many lines there are.
func (t *Table) Len() int { return t.names.held }

// Get is the line of this path; false where there is none.
func (t *Table) Get(path string) (Entry, bool) {
	n, found := t.names.Find(path)
	if !found {
		return Entry{}, false
	}
	return t.entries[n], true
}

// Put makes e the line of its path.
func (t *Table) Put(e Entry) {
	n, found := t.names.Find(e.Thing.Path)
	switch free := len(t.free) - 1; {
	case found:
		t.entries[n] = e
		return
	case free >= 0:
		n, t.free = t.free[free], t.free[:free]
		t.entries[n] = e
	default:
		n, t.entries = len(t.entries), append(t.entries, e)
	}
	t.names.Add(n)
}

// Drop takes the line of this path out.
func (t *Table) Drop(path string) {
	n, found := t.names.Find(path)
	if !found {
		return
	}
	t.names.Drop(path)
	t.entries[n] = Entry{}
	t.free = append(t.free, n)
}

// All is every line, in no order. Lines may be put and dropped meanwhile: what is
// new may be met or not.
func (t *Table) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for n := 0; n < len(t.entries); n++ {
			if t.entries[n].Thing.Path != "" && !yield(t.entries[n]) {
				return
			}
		}
	}
}

// Sorted is every line, by their paths.
func (t *Table) Sorted() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		order := make([]int32, 0, t.Len())
		for n := range t.entries {
			if t.entries[n].Thing.Path != "" {
				order = append(order, int32(n))
			}
		}
		slices.SortFunc(order, func(a, b int32) int { return strings.Compare(t.entries[a].Thing.Path, t.entries[b].Thing.Path) })
		for _, n := range order {
			if !yield(t.entries[n]) {
				return
			}
		}
	}
}
