package graph

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// names is every name that is owned or asked for, and every place, each once. A
// name is known by its number from then on. There are a great many: there is
// nothing in them that the collector would have to look at.
type names struct {
	kinds  map[string]int          // the languages, by name
	ways   []func(string) []string // by kind: whatever would own a name, the nearest first
	seed   maphash.Seed
	index  index             // by what is said of them and of which kind they are: where they begin
	all    []byte            // of each its number, its length and kind, and its text
	begin  []uint32          // by name: where that is
	moved  []bool            // by name: somebody owns it or another does, since the graph was settled
	answer []int32           // by name: the nearest one that anybody owns, or nobody, or that this was not asked
	owner  []int32           // by name: the module that owns it itself, or nobody, or several
	more   map[int32][]int32 // of a name that several own, all of them, by id
	given  []int             // by kind: how many modules own anything of it
}

const (
	nobody   int32 = -1
	notAsked int32 = -2
	several  int32 = -3
)

func newNames(languages []imports.Language, seed maphash.Seed) names {
	t := names{kinds: map[string]int{}, seed: seed, index: indexFor(0), more: map[int32][]int32{}}
	for _, l := range languages {
		t.kinds[l.Name()] = len(t.ways)
		t.ways = append(t.ways, l.Owners)
	}
	t.ways = append(t.ways, enclosing)
	t.given = make([]int, len(t.ways))
	return t
}

// places is the kind of the places at which modules are.
func (t *names) places() int { return len(t.ways) - 1 }

// place is a folder or a file in a repository.
func place(repository, path string) string { return repository + "\x00" + path }

// enclosing is a place and the folders around it.
func enclosing(at string) []string {
	repository, path, _ := strings.Cut(at, "\x00")
	all := append(imports.Prefixes(path, "/"), "")
	for i, folder := range all {
		all[i] = place(repository, folder)
	}
	return all
}

// What is before a name's text: its number, and its length and kind.
const (
	numberBytes = 4
	headBytes   = numberBytes + 4
	kindBits    = 8
)

// head is the number, the length and the kind of the name that begins there.
func (t *names) head(begin uint32) (id int32, length int, kind uint8) {
	head := t.all[begin:][:headBytes]
	rest := binary.LittleEndian.Uint32(head[numberBytes:])
	return int32(binary.LittleEndian.Uint32(head)), int(rest >> kindBits), uint8(rest)
}

// text is the text of a name, and its kind.
func (t *names) text(id int32) (text []byte, kind int) {
	begin := t.begin[id]
	_, length, of := t.head(begin)
	return t.all[begin+headBytes:][:length], int(of)
}

// kind is the kind of a name.
func (t *names) kind(id int32) int {
	_, _, kind := t.head(t.begin[id])
	return int(kind)
}

// look is the number of a name that has one.
func look[T string | []byte](t *names, kind uint8, text T, hash uint32) (id int32, there bool) {
	begin, there := t.index.find(hash, func(begin uint32) bool {
		_, length, of := t.head(begin)
		return of == kind && length == len(text) && string(t.all[begin+headBytes:][:length]) == string(text)
	})
	if !there {
		return 0, false
	}
	id, _, _ = t.head(begin)
	return id, true
}

// hash is by which a name is looked for.
func (t *names) hash(kind uint8, text []byte) uint32 {
	return uint32(maphash.Bytes(t.seed, text)) + uint32(kind)
}

func (t *names) hashOf(kind uint8, text string) uint32 {
	return uint32(maphash.String(t.seed, text)) + uint32(kind)
}

// id is the number of a name with this hash.
func (t *names) id(kind uint8, text []byte, hash uint32) int32 {
	id, there := look(t, kind, text, hash)
	if there {
		return id
	}
	id = int32(len(t.begin))
	begin := uint32(len(t.all))
	t.index.put(hash, begin)
	t.begin, t.moved = append(t.begin, begin), append(t.moved, false)
	t.answer, t.owner = append(t.answer, notAsked), append(t.owner, nobody)
	t.all = binary.LittleEndian.AppendUint32(t.all, uint32(id))
	t.all = binary.LittleEndian.AppendUint32(t.all, uint32(len(text))<<kindBits|uint32(kind))
	t.all = append(t.all, text...)
	return id
}

// expect makes room for what so many modules mostly own and ask for.
func (t *names) expect(modules int) {
	const each, letters = 3, 40
	t.index = indexFor(each * modules)
	t.begin, t.moved = make([]uint32, 0, each*modules), make([]bool, 0, each*modules)
	t.answer, t.owner = make([]int32, 0, each*modules), make([]int32, 0, each*modules)
	t.all = make([]byte, 0, each*(headBytes+letters)*modules)
}

// ask is the owned name that is nearest to a name.
func (t *names) ask(id int32) int32 {
	if t.answer[id] == notAsked {
		t.answer[id] = t.find(id)
	}
	return t.answer[id]
}

func (t *names) find(id int32) int32 {
	text, kind := t.text(id)
	name := string(text)
	ways := t.ways[kind](name)
	if len(ways) > 0 && ways[0] == name { // as mostly: it need not be looked for
		if t.owner[id] != nobody {
			return id
		}
		ways = ways[1:]
	}
	return t.first(kind, ways)
}

// nearest is the nearest name that anybody owns. It changes nothing.
func (t *names) nearest(kind int, name string) int32 { return t.first(kind, t.ways[kind](name)) }

// first is the first of these names that anybody owns.
func (t *names) first(kind int, names []string) int32 {
	for _, name := range names {
		if owner, there := look(t, uint8(kind), name, t.hashOf(uint8(kind), name)); there && t.owner[owner] != nobody {
			return owner
		}
	}
	return nobody
}

// askAgain finds again what was asked, and reports of each name whether the
// answer is another, or others own it.
func (t *names) askAgain() []bool {
	moved := make([]bool, len(t.begin))
	for id, was := range t.answer {
		if was != notAsked {
			is := t.find(int32(id))
			moved[id] = is != was || was >= 0 && t.moved[was]
			t.answer[id] = is
		}
	}
	clear(t.moved)
	return moved
}

// owners is the modules that own a name itself, by id.
func (t *names) owners(id int32) []int32 {
	switch t.owner[id] {
	case nobody:
		return nil
	case several:
		return t.more[id]
	}
	return t.owner[id : id+1 : id+1]
}

// own is that a module owns these.
func (t *names) own(owns []int32, by int32) {
	for _, id := range owns {
		t.moved[id] = true
		if t.owner[id] == nobody {
			t.owner[id] = by
			continue
		}
		owners := t.owners(id)
		if at, there := slices.BinarySearch(owners, by); !there {
			t.ownedBy(id, slices.Insert(slices.Clone(owners), at, by))
		}
	}
	for kind := range t.given {
		if t.holds(owns, kind) {
			t.given[kind]++
		}
	}
}

// disown is that it owns them no more.
func (t *names) disown(owns []int32, by int32) {
	for _, id := range owns {
		t.moved[id] = true
		t.ownedBy(id, slices.DeleteFunc(slices.Clone(t.owners(id)), func(other int32) bool { return other == by }))
	}
	for kind := range t.given {
		if t.holds(owns, kind) {
			t.given[kind]--
		}
	}
}

// ownedBy is that these own a name.
func (t *names) ownedBy(id int32, owners []int32) {
	delete(t.more, id)
	switch len(owners) {
	case 0:
		t.owner[id] = nobody
	case 1:
		t.owner[id] = owners[0]
	default:
		t.owner[id], t.more[id] = several, owners
	}
}

// holds reports whether any of these names is of this kind.
func (t *names) holds(owns []int32, kind int) bool {
	return slices.ContainsFunc(owns, func(id int32) bool { return t.kind(id) == kind })
}
