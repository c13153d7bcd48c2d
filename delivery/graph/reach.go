package graph

import (
	"maps"
	"slices"
)

// Edges is what a module's code asks of others, in the order of the languages
// and the names.
func (b *Builds) Edges(module string) []Edge {
	b.Settle()
	if id, there := b.ids[module]; there {
		return slices.Clone(b.coded[id].edges)
	}
	return nil
}

// Against is each name that the module's code asks for and that more than one
// module owns, in words.
func (b *Builds) Against(module string) []string {
	b.Settle()
	if id, there := b.ids[module]; there {
		return slices.Clone(b.coded[id].why)
	}
	return nil
}

// Users is the modules whose code asks for this one, sorted.
func (b *Builds) Users(module string) []string {
	b.Settle()
	id, there := b.ids[module]
	if !there {
		return nil
	}
	return b.namesOf(slices.Collect(maps.Keys(b.coded[id].users)))
}

// Rebuilt is every module for whose build one of these is laid out, and these,
// in the order in which they are built: providers first.
func (b *Builds) Rebuilt(changed []string) []string {
	b.Settle()
	reached := map[int]bool{}
	for _, name := range changed {
		if id, there := b.ids[name]; there && b.coded[id].known {
			reached[id] = true
		}
	}
	roots := slices.Collect(maps.Keys(reached))
	for language := range b.owners {
		maps.Copy(reached, b.usedIn(language, roots))
	}
	w := &walk{builds: b, next: func(m int) []int {
		var to []int
		for _, all := range [][]int{b.coded[m].compile, b.coded[m].tests} {
			for _, p := range all {
				if reached[p] {
					to = append(to, p)
				}
			}
		}
		return to
	}}
	w.from(slices.Collect(maps.Keys(reached)))
	names := make([]string, len(w.order))
	for i, m := range w.order {
		names[i] = b.coded[m].name
	}
	return names
}

// usedIn is everything for which one of these is laid out in one language.
func (b *Builds) usedIn(language string, roots []int) map[int]bool {
	reached, tested := map[int]bool{}, map[int]bool{} // what only tests ask for goes no further
	for todo := slices.Clone(roots); len(todo) > 0; {
		m := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for user := range b.coded[m].users {
			switch in := b.coded[user].in[language]; {
			case b.holds(in.compile, m) && !reached[user]:
				reached[user] = true
				todo = append(todo, user)
			case b.holds(in.tests, m):
				tested[user] = true
			}
		}
	}
	maps.Copy(reached, tested)
	return reached
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
			todo = slices.AppendSeq(todo, maps.Keys(b.coded[m].users))
		}
	}
	return b.namesOf(slices.Collect(maps.Keys(reached)))
}
