package graph

import (
	"maps"
	"slices"
)

// Edges is what a module's code asks of others, in the order of the languages
// and the names.
func (b *Builds) Edges(module string) []Edge {
	b.Settle()
	id, there := b.ids[module]
	if !there {
		return nil
	}
	edges, _ := b.edges(id)
	return edges
}

// Against is each name that the module's code asks for and that more than one
// module owns, in words.
func (b *Builds) Against(module string) []string {
	b.Settle()
	id, there := b.ids[module]
	if !there || !b.coded[id].torn {
		return nil
	}
	_, torn := b.edges(id)
	return torn
}

// Users is the modules whose code asks for this one, sorted.
func (b *Builds) Users(module string) []string {
	b.Settle()
	id, there := b.ids[module]
	if !there {
		return nil
	}
	return b.namesOf(b.coded[id].users)
}

// Rebuilt is every module for whose build one of these is laid out, and these,
// in the order in which they are built: providers first.
func (b *Builds) Rebuilt(changed []string) []string {
	b.Settle()
	reached := make([]bool, len(b.coded))
	var roots []int
	for _, name := range changed {
		if id, there := b.ids[name]; there && b.coded[id].known && !reached[id] {
			reached[id] = true
			roots = append(roots, id)
		}
	}
	all := slices.Clone(roots)
	for language := range b.owners {
		all = b.usedIn(language, roots, reached, all)
	}
	return b.inOrder(all, reached)
}

// usedIn adds everything for which one of the roots is laid out in one language.
func (b *Builds) usedIn(language string, roots []int, reached []bool, all []int) []int {
	here := make(map[int]bool, len(roots)) // reached in this language
	for _, m := range roots {
		here[m] = true
	}
	for todo := slices.Clone(roots); len(todo) > 0; {
		m := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, user := range b.coded[m].users {
			in := b.coded[user].in[language]
			compiled := b.holds(in.compile, m)
			if (compiled || b.holds(in.tests, m)) && !reached[user] { // what only tests ask for goes no further
				reached[user] = true
				all = append(all, user)
			}
			if compiled && !here[user] {
				here[user] = true
				todo = append(todo, user)
			}
		}
	}
	return all
}

// inOrder is these modules, providers first, whatever order they come in. What
// only tests ask for and closes a circle waits for nobody.
func (b *Builds) inOrder(all []int, among []bool) []string {
	slices.SortFunc(all, b.byName)
	names := make([]string, 0, len(all))
	begun, ended := make([]bool, len(b.coded)), make([]bool, len(b.coded))
	var way []step
	enter := func(m int) {
		begun[m] = true
		way = append(way, step{m, slices.Concat(b.coded[m].compile, b.coded[m].tests)})
	}
	for _, root := range all {
		if !begun[root] {
			enter(root)
		}
		for len(way) > 0 {
			top := &way[len(way)-1]
			if len(top.left) == 0 {
				names = append(names, b.coded[top.module].name)
				ended[top.module] = true
				way = way[:len(way)-1]
				continue
			}
			to := top.left[0]
			top.left = top.left[1:]
			switch {
			case !among[to]:
			case !begun[to]:
				enter(to)
			case !ended[to]:
				return b.aroundCircles(all, among)
			}
		}
	}
	return names
}

// aroundCircles is inOrder where there are circles: inside of one the order is
// that of what is compiled. In a circle without tests somebody is before what it
// needs.
func (b *Builds) aroundCircles(all []int, among []bool) []string {
	within := func(all []int) []int {
		return slices.DeleteFunc(slices.Clone(all), func(to int) bool { return !among[to] })
	}
	w := &walk{builds: b, next: func(m int) []int { return slices.Concat(within(b.coded[m].compile), within(b.coded[m].tests)) }}
	w.from(all)
	names := make([]string, 0, len(all))
	for _, part := range w.parts {
		if len(part) > 1 {
			inside := &walk{builds: b, next: func(m int) []int {
				return slices.DeleteFunc(within(b.coded[m].compile), func(to int) bool { return w.part[to] != w.part[m] })
			}}
			inside.from(part)
			part = inside.order
		}
		for _, m := range part {
			names = append(names, b.coded[m].name)
		}
	}
	return names
}

// Above is every module whose code leads to one of these, by whatever edges, and these.
func (b *Builds) Above(changed []string) []string {
	b.Settle()
	reached := map[int]bool{}
	var todo []int
	for _, name := range changed {
		if id, there := b.ids[name]; there {
			todo = append(todo, id)
		}
	}
	for len(todo) > 0 {
		m := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !reached[m] {
			reached[m] = true
			todo = append(todo, b.coded[m].users...)
		}
	}
	return b.namesOf(slices.Collect(maps.Keys(reached)))
}
