package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Laid is what is laid out for the build of one module.
type Laid struct {
	Layers  []Layer  // that it is built against, direct and through others, providers first
	LeftOut []Edge   // of its tests: each would close a circle
	Open    []string // the languages in which others own something: there, what cannot be read may ask for it
	Nobodys []Edge   // to nobody: what it asks for in a language that is whole and nobody owns
	Problem string   // why it cannot be built; empty where it can
}

// Layer is what one module gives to others in one language. Where that is whole,
// there is one for each name that is asked for.
type Layer struct{ Module, Language, Name string }

// Laid is what is laid out for the build of this module. A module that the graph
// does not know is built against nothing.
func (b *Builds) Laid(module string) Laid {
	b.Settle()
	id, there := b.id(module)
	if !there || !b.coded[id].known {
		return Laid{}
	}
	is := &b.coded[id]
	var laid Laid
	w := &walk{builds: b, next: func(m int32) []int32 { return slices.Concat(b.edges[m].compile, b.edges[m].tests) }}
	w.from([]int32{id})
	laid.Open = b.open(id)
	laid.Nobodys = b.nobodys(id, func(a ask) bool { return b.whole[a.in] })
	circular := func(to int32) bool { return w.part[to] == w.part[id] }
	var torn []string
	if is.torn || slices.ContainsFunc(is.in, func(n needs) bool { return slices.ContainsFunc(n.tests, circular) }) {
		laid.LeftOut, torn = b.leftOut(id, circular)
	}
	compiled := &walk{builds: b, next: func(m int32) []int32 { return b.edges[m].compile }}
	compiled.from(needs{compile: b.edges[id].compile, tests: b.edges[id].tests}.without(circular))
	reached := make([]map[int32]bool, len(is.in))
	for i, n := range is.in {
		reached[i] = b.compiledIn(n, circular)
	}
	for _, m := range compiled.order {
		for i, n := range is.in {
			if reached[i][m] {
				laid.Layers = append(laid.Layers, b.layers(id, m, n.in)...)
			}
		}
	}
	if laid.Problem = strings.Join(torn, "; "); laid.Problem == "" {
		laid.Problem = b.problemOf(id, compiled.parts)
	}
	return laid
}

// layers is what a module has laid out of another in one language.
func (b *Builds) layers(of, to int32, in int) []Layer {
	layer := Layer{Module: b.coded[to].code.Module, Language: b.languages[in].Name()}
	if !b.whole[in] {
		return []Layer{layer}
	}
	var all []Layer
	edges, _ := b.edgesOf(of)
	for _, e := range edges {
		if layer.Name = e.Name; e.Language == layer.Language && e.To == layer.Module && !slices.Contains(all, layer) {
			all = append(all, layer)
		}
	}
	return all
}

// leftOut is the edges of a module's tests that would close a circle, and what
// it asks for that more than one other owns.
func (b *Builds) leftOut(id int32, circular func(int32) bool) (out []Edge, torn []string) {
	edges, torn := b.edgesOf(id)
	for _, e := range edges {
		to, in := b.idOf(e.To), b.coded[id].needsIn(b.names.kinds[e.Language])
		if e.Test && circular(to) && !b.holds(in.compile, to) {
			out = append(out, e)
		}
	}
	return out, torn
}

// needsIn is what a module asks for in one language.
func (c *coded) needsIn(language int) needs {
	for _, n := range c.in {
		if n.in == language {
			return n
		}
	}
	return needs{in: language}
}

// open is the languages in which others than this module own something.
func (b *Builds) open(id int32) (languages []string) {
	for kind, l := range b.languages {
		others := b.names.given[kind]
		if others > 0 && b.names.holds(b.coded[id].owns, kind) {
			others--
		}
		if others > 0 {
			languages = append(languages, l.Name())
		}
	}
	return languages
}

// without is all that is asked for, but for those of tests that are left out.
func (n needs) without(out func(int32) bool) []int32 {
	return append(slices.Clone(n.compile), slices.DeleteFunc(slices.Clone(n.tests), out)...)
}

// compiledIn is everything that is laid out for these needs.
func (b *Builds) compiledIn(needs needs, circular func(int32) bool) map[int32]bool {
	reached := map[int32]bool{}
	for todo := needs.without(circular); len(todo) > 0; {
		m := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !reached[m] && !b.whole[needs.in] {
			todo = append(todo, b.coded[m].needsIn(needs.in).compile...)
		}
		reached[m] = true
	}
	return reached
}

// problemOf is the circle that stands against the build of a module that these
// parts are laid out for. A circle that it is in leads back to it through them.
func (b *Builds) problemOf(id int32, laid [][]int32) string {
	for _, part := range laid {
		if len(part) < 2 {
			continue
		}
		circle := b.circle(part)
		if slices.Contains(part, id) {
			return "is in a circle of imports: " + circle
		}
		return fmt.Sprintf("is built against %q, which is in a circle of imports: %s", b.coded[part[0]].code.Module, circle)
	}
	return ""
}

// circle is the shortest circle through the first of a part, each edge with
// where it is said.
func (b *Builds) circle(part []int32) string {
	first := part[0]
	from := map[int32]int32{}
	for queue := []int32{first}; len(queue) > 0; queue = queue[1:] {
		for _, to := range b.edges[queue[0]].compile {
			if _, known := from[to]; !known && slices.Contains(part, to) {
				from[to] = queue[0]
				queue = append(queue, to)
			}
		}
	}
	path := []int32{first}
	for m := from[first]; m != first; m = from[m] {
		path = append(path, m)
	}
	slices.Reverse(path[1:])
	var says strings.Builder
	for i, m := range path {
		to := path[(i+1)%len(path)]
		fmt.Fprintf(&says, "%s → (%s) ", b.coded[m].code.Module, b.placeOf(m, to))
	}
	return says.String() + b.coded[first].code.Module
}

// placeOf is where the code of one module first asks for another.
func (b *Builds) placeOf(from, to int32) string {
	edges, _ := b.edgesOf(from)
	for _, e := range edges {
		if e.To == b.coded[to].code.Module && !e.Test {
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
	next   func(int32) []int32
	part   map[int32]int // by module: the number of its part
	parts  [][]int32     // each by the names of its modules
	order  []int32       // providers first

	seen, low map[int32]int
	on        map[int32]bool
	stack     []int32
}

// stage is a module under way, with the edges that are not gone yet.
type stage struct {
	module int32
	left   []int32
}

func (w *walk) from(roots []int32) {
	w.part, w.seen, w.low, w.on = map[int32]int{}, map[int32]int{}, map[int32]int{}, map[int32]bool{}
	slices.SortFunc(roots, w.builds.byName)
	for _, root := range roots {
		if w.seen[root] == 0 {
			w.visit(root)
		}
	}
}

func (w *walk) enter(m int32) stage {
	w.seen[m] = len(w.seen) + 1
	w.low[m] = w.seen[m]
	w.stack, w.on[m] = append(w.stack, m), true
	return stage{m, w.next(m)}
}

func (w *walk) visit(root int32) {
	way := []stage{w.enter(root)}
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
func (w *walk) leave(m int32) {
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
