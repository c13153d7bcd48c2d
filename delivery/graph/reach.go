package graph

import "slices"

// Edges is what a module's code asks of others, in the order of the languages
// and the names.
func (b *Builds) Edges(module string) []Edge {
	b.Settle()
	id, there := b.id(module)
	if !there {
		return nil
	}
	edges, _ := b.edgesOf(id)
	return edges
}

// Against is each name that the module's code asks for and that more than one
// module owns, in words.
func (b *Builds) Against(module string) []string {
	b.Settle()
	id, there := b.id(module)
	if !there || !b.coded[id].torn {
		return nil
	}
	_, torn := b.edgesOf(id)
	return torn
}

// Nobodys is the first name that a module's code is compiled against and that nobody
// owns, as an edge to nobody. Mostly that is somebody else's in the world; it may
// also be that of a module which was not read yet.
func (b *Builds) Nobodys(module string) (e Edge, is bool) {
	b.Settle()
	id, there := b.id(module)
	if !there {
		return e, false
	}
	all := b.nobodys(id, func(a ask) bool {
		return !a.test && !b.whole[a.in] && b.names.kind(a.name) != b.names.places()
	})
	if len(all) == 0 {
		return e, false
	}
	return all[0], true
}

// Users is the modules whose code asks for this one, sorted.
func (b *Builds) Users(module string) []string {
	b.Settle()
	id, there := b.id(module)
	if !there {
		return nil
	}
	var by []int32
	for _, u := range b.edges[id].users {
		by = append(by, u.by)
	}
	return b.namesOf(slices.Compact(by))
}

// Rebuilt is every module for whose build one of these is laid out, and these,
// in the order in which they are built: providers first. Who asks for something
// whole is built anew with whatever that is made of, and is one of these then.
func (b *Builds) Rebuilt(changed []string) []string {
	b.Settle()
	r := reaching{b, b.marks(), b.marks(), make([]marks, len(b.languages)), nil}
	var roots []int32
	for _, name := range changed {
		if id, there := b.id(name); there && b.coded[id].known && r.reached.put(id) {
			r.root.put(id)
			roots = append(roots, id)
		}
	}
	r.all = slices.Clone(roots)
	for done := 0; len(roots) > 0; done = len(r.all) {
		for in := range b.languages {
			if !b.whole[in] && b.used[in] > 0 {
				r.usedIn(in, roots)
			}
		}
		roots = r.usedWhole(done)
	}
	return b.inOrder(r.all, r.reached)
}

// reaching is one question for everything that is built anew.
type reaching struct {
	*Builds
	reached marks
	root    marks   // what it gives may be another in any language
	here    []marks // by language: what it gives there may be another, and its users are reached
	all     []int32 // that are reached
}

func (r *reaching) add(id int32) {
	if r.reached.put(id) {
		r.all = append(r.all, id)
	}
}

// usedIn adds everything for which one of the roots is laid out in one language.
func (r *reaching) usedIn(in int, roots []int32) {
	if r.here[in] == nil {
		r.here[in] = r.marks()
	}
	here, todo := r.here[in], make([]int32, 0, len(roots))
	for _, m := range roots {
		if here.put(m) {
			todo = append(todo, m)
		}
	}
	for len(todo) > 0 {
		m := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, u := range r.edges[m].users {
			if int(u.in) != in {
				continue
			}
			if u.test { // what only tests ask for goes no further
				r.add(u.by)
			} else if here.put(u.by) {
				r.add(u.by)
				todo = append(todo, u.by)
			}
		}
	}
}

// usedWhole adds who asks for what was reached as something whole, from the one with
// this number on, and is those that nobody has gone on from.
func (r *reaching) usedWhole(from int) (roots []int32) {
	if !r.wholeUsed() {
		return nil
	}
	for at := from; at < len(r.all); at++ {
		for _, u := range r.edges[r.all[at]].users {
			if !r.whole[u.in] {
				continue
			}
			r.add(u.by)
			if !u.test && r.root.put(u.by) {
				roots = append(roots, u.by)
			}
		}
	}
	return roots
}

// wholeUsed reports whether anybody asks for anything whole.
func (b *Builds) wholeUsed() bool {
	for in, is := range b.whole {
		if is && b.used[in] > 0 {
			return true
		}
	}
	return false
}

// sorted is these modules by name.
func (b *Builds) sorted(all []int32, among marks) []int32 {
	const most = 8 // times as many as these can be looked at sooner than these are sorted
	if len(all) < len(b.order)/most {
		slices.SortFunc(all, b.byName)
		return all
	}
	all = all[:0]
	for _, id := range b.order {
		if among.has(id) {
			all = append(all, id)
		}
	}
	return all
}

// inOrder is these modules, providers first, whatever order they come in. What
// only tests ask for and closes a circle waits for nobody.
func (b *Builds) inOrder(all []int32, among marks) []string {
	all = b.sorted(all, among)
	names := make([]string, 0, len(all))
	begun, ended := b.marks(), b.marks()
	var way []step
	for _, root := range all {
		if begun.put(root) {
			way = append(way, b.step(root))
		}
		for len(way) > 0 {
			top := &way[len(way)-1]
			to, more := top.next()
			switch {
			case !more:
				names = append(names, b.coded[top.module].code.Module)
				ended.put(top.module)
				way = way[:len(way)-1]
			case !among.has(to):
			case begun.put(to):
				way = append(way, b.step(to))
			case !ended.has(to):
				return b.aroundCircles(all, among)
			}
		}
	}
	return names
}

// step is a module under way, with the edges that are not gone yet.
type step struct {
	module         int32
	compile, tests []int32
}

func (b *Builds) step(m int32) step { return step{m, b.edges[m].compile, b.edges[m].tests} }

func (s *step) next() (to int32, more bool) {
	left := &s.compile
	if len(*left) == 0 {
		left = &s.tests
	}
	if len(*left) == 0 {
		return 0, false
	}
	to = (*left)[0]
	*left = (*left)[1:]
	return to, true
}

// aroundCircles is inOrder where there are circles: inside of one the order is
// that of what is compiled. In a circle without tests somebody is before what it
// needs.
func (b *Builds) aroundCircles(all []int32, among marks) []string {
	within := func(all []int32) []int32 {
		return slices.DeleteFunc(slices.Clone(all), func(to int32) bool { return !among.has(to) })
	}
	w := &walk{builds: b, next: func(m int32) []int32 { return slices.Concat(within(b.edges[m].compile), within(b.edges[m].tests)) }}
	w.from(all)
	names := make([]string, 0, len(all))
	for _, part := range w.parts {
		if len(part) > 1 {
			inside := &walk{builds: b, next: func(m int32) []int32 {
				return slices.DeleteFunc(within(b.edges[m].compile), func(to int32) bool { return w.part[to] != w.part[m] })
			}}
			inside.from(part)
			part = inside.order
		}
		for _, m := range part {
			names = append(names, b.coded[m].code.Module)
		}
	}
	return names
}

// Above is every module whose code leads to one of these, by whatever edges, and these.
func (b *Builds) Above(changed []string) []string {
	b.Settle()
	reached := b.marks()
	var all []int32
	add := func(id int32) {
		if reached.put(id) {
			all = append(all, id)
		}
	}
	for _, name := range changed {
		if id, there := b.id(name); there {
			add(id)
		}
	}
	for at := 0; at < len(all); at++ {
		for _, u := range b.edges[all[at]].users {
			add(u.by)
		}
	}
	return b.namesOf(all)
}
