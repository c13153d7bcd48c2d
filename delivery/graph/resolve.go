package graph

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"noxmesh/delivery/imports"
)

// few is how many modules have their edges found one by one. Where more have
// moved, everybody's users are found anew.
const few = 64

// rooms is where what was found is put, while many modules have moved.
type rooms struct {
	many bool

	heard Heard
	owns  room[int32]
	asks  room[ask]
	to    room[int32]
	in    room[needs]

	compile, tests []int32 // while one module's are found
}

// room is slices that are given out in parts: a million small ones would cost
// more than what is in them. Of few modules each has its own.
type room[T any] struct {
	scratch []T
	left    []T
	size    int // of the last slice
}

// empty is for what is going to be found.
func (r *room[T]) empty() []T { return r.scratch[:0] }

// keep is a copy of what was found in empty, which is then used again.
func (r *room[T]) keep(found []T) []T {
	const most = 1 << 14
	r.scratch = found
	if len(found) == 0 {
		return nil
	}
	if len(found) > len(r.left) {
		r.size = max(len(found), min(most, 2*r.size))
		r.left = make([]T, r.size)
	}
	kept := r.left[:len(found):len(found)]
	copy(kept, found)
	r.left = r.left[len(found):]
	return kept
}

// resolve finds what those that have moved ask for, and who asks for them.
func (b *Builds) resolve() {
	room := b.room
	if room.many {
		b.names.askAll()
	}
	for _, id := range b.moved {
		in := b.needsOf(id, room)
		if is := &b.coded[id]; !slices.EqualFunc(is.in, in, needs.equal) {
			b.leave(id, room)
			for _, n := range is.in {
				b.used[n.in]--
			}
			is.in = room.in.keep(in)
			for _, n := range is.in {
				b.used[n.in]++
			}
			b.edges[id].compile, b.edges[id].tests = b.together(is.in, room)
			b.enter(id, room)
		}
	}
	if room.many {
		b.findUsers()
	}
}

// needsOf finds what one module asks for in each language.
func (b *Builds) needsOf(id int32, room *rooms) []needs {
	is := &b.coded[id]
	in, asks := room.in.empty(), is.asks
	is.torn = false
	for len(asks) > 0 {
		one, some := needs{in: int(asks[0].in)}, 0
		compile, tests := room.compile[:0], room.tests[:0]
		for ; some < len(asks) && int(asks[some].in) == one.in; some++ {
			switch owners := b.ownersOf(id, asks[some].name); {
			case len(owners) > 1:
				is.torn = true
			case len(owners) == 0:
			case asks[some].test:
				tests = append(tests, owners[0])
			default:
				compile = append(compile, owners[0])
			}
		}
		room.compile, room.tests, asks = compile, tests, asks[some:]
		if len(compile)+len(tests) > 0 {
			compile, tests = b.apart(compile, tests)
			one.compile, one.tests = room.to.keep(compile), room.to.keep(tests)
			in = append(in, one)
		}
	}
	return in
}

func (n needs) equal(o needs) bool {
	return n.in == o.in && slices.Equal(n.compile, o.compile) && slices.Equal(n.tests, o.tests)
}

// ownersOf is every module that owns what one asks for; none where that is its own.
func (b *Builds) ownersOf(id, name int32) []int32 {
	owner := b.names.ask(name)
	if owner == nobody {
		return nil
	}
	owners := b.names.owners(owner)
	if slices.Contains(owners, id) {
		return nil
	}
	return owners
}

// together is what is asked for in any of these languages.
func (b *Builds) together(in []needs, room *rooms) (compile, tests []int32) {
	if len(in) == 1 {
		return in[0].compile, in[0].tests
	}
	compile, tests = room.compile[:0], room.tests[:0]
	for _, one := range in {
		compile, tests = append(compile, one.compile...), append(tests, one.tests...)
	}
	room.compile, room.tests = compile, tests
	compile, tests = b.apart(compile, tests)
	return room.to.keep(compile), room.to.keep(tests)
}

// apart is what is asked for by name, each once, and what only tests ask for by
// itself.
func (b *Builds) apart(compile, tests []int32) (_, _ []int32) {
	compile, tests = b.set(compile), b.set(tests)
	return compile, slices.DeleteFunc(tests, func(to int32) bool { return b.holds(compile, to) })
}

// set is these modules by name, each once.
func (b *Builds) set(ids []int32) []int32 {
	slices.SortFunc(ids, b.byName)
	return slices.Compact(ids)
}

// holds reports whether a module is in a set.
func (b *Builds) holds(set []int32, id int32) bool {
	_, there := slices.BinarySearchFunc(set, id, b.byName)
	return there
}

// leave takes a module out of the users of what it asks for.
func (b *Builds) leave(id int32, room *rooms) {
	if room.many {
		return
	}
	for _, to := range slices.Concat(b.edges[id].compile, b.edges[id].tests) {
		is := &b.edges[to]
		is.users = slices.DeleteFunc(is.users, func(u user) bool { return u.by == id })
	}
}

// enter puts it among the users of what it asks for.
func (b *Builds) enter(id int32, room *rooms) {
	if room.many {
		return
	}
	for to, u := range b.coded[id].uses(id) {
		is := &b.edges[to]
		at, _ := slices.BinarySearchFunc(is.users, u, user.compare)
		is.users = slices.Insert(is.users, at, u)
	}
}

func (u user) compare(o user) int { return cmp.Or(cmp.Compare(u.by, o.by), cmp.Compare(u.in, o.in)) }

// uses is each module that is asked for, and what its user is.
func (c *coded) uses(id int32) iter.Seq2[int32, user] {
	return func(yield func(int32, user) bool) {
		for _, one := range c.in {
			code, tests := user{by: id, in: uint8(one.in)}, user{by: id, in: uint8(one.in), test: true}
			if !code.of(one.compile, yield) || !tests.of(one.tests, yield) {
				return
			}
		}
	}
}

func (u user) of(all []int32, yield func(int32, user) bool) bool {
	for _, to := range all {
		if !yield(to, u) {
			return false
		}
	}
	return true
}

// findUsers finds everybody's users, in one slice.
func (b *Builds) findUsers() {
	next := make([]int32, len(b.coded)+1) // by id: where its next user is put
	for id := range b.coded {
		for to := range b.coded[id].uses(int32(id)) {
			next[to+1]++
		}
	}
	for id := range b.coded {
		next[id+1] += next[id]
	}
	all := make([]user, next[len(b.coded)])
	for id := range b.coded {
		b.edges[id].users = all[next[id]:next[id+1]:next[id+1]]
	}
	for id := range b.coded {
		for to, u := range b.coded[id].uses(int32(id)) {
			all[next[to]] = u
			next[to]++
		}
	}
}

// edgesOf is what one module asks of others, in the order of the languages and
// the names, and in words what more than one other owns.
func (b *Builds) edgesOf(id int32) (all []Edge, torn []string) {
	for asked, e := range b.asked(id) {
		switch owners := b.ownersOf(id, asked.name); len(owners) {
		case 0:
		case 1:
			e.To = b.coded[owners[0]].code.Module
			all = append(all, e)
		default:
			torn = append(torn, fmt.Sprintf("%s asks for %q, and %s own it", e.At, e.Name, strings.Join(b.namesOf(owners), " and ")))
		}
	}
	return all, torn
}

// asked is each name that a module asks for, with what it would be as an edge.
func (b *Builds) asked(id int32) iter.Seq2[ask, Edge] {
	return func(yield func(ask, Edge) bool) {
		is := &b.coded[id]
		asks, found := is.asks, is.code.Says.Found()
		for _, l := range b.languages {
			for _, one := range is.code.importsIn(l.Name(), found) {
				e := Edge{From: is.code.Module, Language: l.Name(), Name: cmp.Or(one.Name, one.Path), Test: one.Test, At: one.At}
				if !yield(asks[0], e) {
					return
				}
				asks = asks[1:]
			}
		}
	}
}

// importsIn is what a module asks for in one language: in its code, then elsewhere.
func (c Code) importsIn(language string, found map[string]imports.Found) []imports.Import {
	all := found[language].Imports
	if c.Beside == nil {
		return all
	}
	for _, asked := range c.Beside.Asks {
		if asked.Language == language {
			all = append(all, imports.Import{Name: asked.Name, At: asked.At})
		}
	}
	return all
}

// nobodys is what a module asks for and nobody owns, of the names that count.
func (b *Builds) nobodys(id int32, counts func(ask) bool) (all []Edge) {
	is := func(a ask) bool { return counts(a) && b.names.ask(a.name) == nobody }
	if !slices.ContainsFunc(b.coded[id].asks, is) {
		return nil
	}
	for asked, e := range b.asked(id) {
		if is(asked) {
			all = append(all, e)
		}
	}
	return all
}
