package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Laid is what is laid out for the build of one module.
type Laid struct {
	Layers  []Layer  // that it is built against, direct and through others, providers first
	LeftOut []Edge   // of its tests: each would close a circle
	Open    []string // the languages in which others own something: there, what cannot be read may ask for it
	Problem string   // why it cannot be built; empty where it can
}

// Layer is what one module gives to others in one language.
type Layer struct{ Module, Language string }

// Laid is what is laid out for the build of this module. A module that the graph
// does not know is built against nothing.
func (b *Builds) Laid(module string) Laid {
	b.Settle()
	id, there := b.ids[module]
	if !there || !b.coded[id].known {
		return Laid{}
	}
	is := &b.coded[id]
	var laid Laid
	w := &walk{builds: b, next: func(m int) []int { return slices.Concat(b.coded[m].compile, b.coded[m].tests) }}
	w.from([]int{id})
	laid.Open = b.open(id)
	circular := func(to int) bool { return w.part[to] == w.part[id] }
	edges, torn := b.edges(id)
	for _, e := range edges {
		if to := b.ids[e.To]; e.Test && circular(to) && !b.holds(is.in[e.Language].compile, to) {
			laid.LeftOut = append(laid.LeftOut, e)
		}
	}
	compiled := &walk{builds: b, next: func(m int) []int { return b.coded[m].compile }}
	compiled.from(needs{is.compile, is.tests}.without(circular))
	languages := slices.Sorted(maps.Keys(is.in))
	reached := make([]map[int]bool, len(languages))
	for i, language := range languages {
		reached[i] = b.compiledIn(language, id, circular)
	}
	for _, m := range compiled.order {
		for i, language := range languages {
			if reached[i][m] {
				laid.Layers = append(laid.Layers, Layer{b.coded[m].name, language})
			}
		}
	}
	if laid.Problem = strings.Join(torn, "; "); laid.Problem == "" {
		laid.Problem = b.problemOf(id, compiled.parts)
	}
	return laid
}

// open is the languages in which others than this module own something.
func (b *Builds) open(id int) (languages []string) {
	for language, givers := range b.givers {
		if len(givers) > 1 || len(givers) == 1 && !givers[id] {
			languages = append(languages, language)
		}
	}
	slices.Sort(languages)
	return languages
}

// without is all that is asked for, but for those of tests that are left out.
func (n needs) without(out func(int) bool) []int {
	return append(slices.Clone(n.compile), slices.DeleteFunc(slices.Clone(n.tests), out)...)
}

// compiledIn is everything that is laid out for a module in one language.
func (b *Builds) compiledIn(language string, id int, circular func(int) bool) map[int]bool {
	reached := map[int]bool{}
	for todo := b.coded[id].in[language].without(circular); len(todo) > 0; {
		m := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !reached[m] {
			reached[m] = true
			todo = append(todo, b.coded[m].in[language].compile...)
		}
	}
	return reached
}

// problemOf is the circle that stands against the build of a module that these
// parts are laid out for. A circle that it is in leads back to it through them.
func (b *Builds) problemOf(id int, laid [][]int) string {
	for _, part := range laid {
		if len(part) < 2 {
			continue
		}
		circle := b.circle(part)
		if slices.Contains(part, id) {
			return "is in a circle of imports: " + circle
		}
		return fmt.Sprintf("is built against %q, which is in a circle of imports: %s", b.coded[part[0]].name, circle)
	}
	return ""
}

// circle is the shortest circle through the first of a part, each edge with
// where it is said.
func (b *Builds) circle(part []int) string {
	first := part[0]
	from := map[int]int{}
	for queue := []int{first}; len(queue) > 0; queue = queue[1:] {
		for _, to := range b.coded[queue[0]].compile {
			if _, known := from[to]; !known && slices.Contains(part, to) {
				from[to] = queue[0]
				queue = append(queue, to)
			}
		}
	}
	path := []int{first}
	for m := from[first]; m != first; m = from[m] {
		path = append(path, m)
	}
	slices.Reverse(path[1:])
	var says strings.Builder
	for i, m := range path {
		to := path[(i+1)%len(path)]
		fmt.Fprintf(&says, "%s → (%s) ", b.coded[m].name, b.placeOf(m, to))
	}
	return says.String() + b.coded[first].name
}

// placeOf is where the code of one module first asks for another.
func (b *Builds) placeOf(from, to int) string {
	edges, _ := b.edges(from)
	for _, e := range edges {
		if e.To == b.coded[to].name && !e.Test {
			return e.At.String()
		}
	}
	return ""
}

// walk goes through what is reached, by Tarjan's algorithm and with a stack of
// its own: each part, a circle or one module, is left after everything that it
// leads to.
type walk struct {
	builds *Builds
	next   func(int) []int
	part   map[int]int // by module: the number of its part
	parts  [][]int     // each by the names of its modules
	order  []int       // providers first

	seen, low map[int]int
	on        map[int]bool
	stack     []int
}

// step is a module under way, with the edges that are not gone yet.
type step struct {
	module int
	left   []int
}

func (w *walk) from(roots []int) {
	w.part, w.seen, w.low, w.on = map[int]int{}, map[int]int{}, map[int]int{}, map[int]bool{}
	slices.SortFunc(roots, w.builds.byName)
	for _, root := range roots {
		if w.seen[root] == 0 {
			w.visit(root)
		}
	}
}

func (w *walk) enter(m int) step {
	w.seen[m] = len(w.seen) + 1
	w.low[m] = w.seen[m]
	w.stack, w.on[m] = append(w.stack, m), true
	return step{m, w.next(m)}
}

func (w *walk) visit(root int) {
	way := []step{w.enter(root)}
	for len(way) > 0 {
		top := &way[len(way)-1]
		m := top.module
		if len(top.left) > 0 {
			to := top.left[0]
			top.left = top.left[1:]
			switch {
			case w.seen[to] == 0:
				way = append(way, w.enter(to))
			case w.on[to]:
				w.low[m] = min(w.low[m], w.seen[to])
			}
			continue
		}
		way = way[:len(way)-1]
		if len(way) > 0 {
			above := way[len(way)-1].module
			w.low[above] = min(w.low[above], w.low[m])
		}
		if w.low[m] == w.seen[m] {
			w.leave(m)
		}
	}
}

// leave takes the part that began with m off the stack.
func (w *walk) leave(m int) {
	first := len(w.stack) - 1
	for w.stack[first] != m {
		first--
	}
	part := slices.Clone(w.stack[first:])
	w.stack = w.stack[:first]
	slices.SortFunc(part, w.builds.byName)
	for _, p := range part {
		w.on[p] = false
		w.part[p] = len(w.parts)
	}
	w.parts = append(w.parts, part)
	w.order = append(w.order, part...)
}
