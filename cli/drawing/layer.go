package drawing

import (
	"cmp"
	"fmt"
	"slices"

	"noxmesh/api"
)

// point is a module in its layer, or the place where lines to one module cross a
// layer: all lines of one kind to one module cross it together.
type point struct {
	name    string // empty for a crossing
	key     string // of the order where nothing else decides
	layer   int
	y       float64
	near    [2][]*point // in the layer to the left, and to the right
	against bool
}

// line is one edge on its way from the left to the right.
type line struct {
	edge   api.Edge
	points []*point // the module on the left first
	turned bool     // it closes a circle: what is needed stands to the right
}

// layers is a graph laid out: what is needed to the left of what needs it.
type layers struct {
	columns [][]*point // in their order from the top
	lines   []line
	alone   []*point // modules without an edge
}

// layOut puts each module into the layer after the last of what it needs, and as
// near to what needs it as that allows.
func layOut(g api.GraphOut) layers {
	l := ranked{edges: map[string][]string{}, users: map[string][]string{}, layer: map[string]int{}, state: map[string]int{}, back: map[[2]string]bool{}}
	points := map[string]*point{}
	for _, m := range g.Modules {
		points[m.Module] = &point{name: m.Module, key: m.Module, against: len(m.Against) > 0}
	}
	for _, e := range g.Edges {
		for _, name := range []string{e.From, e.To} {
			if points[name] == nil {
				points[name] = &point{name: name, key: name}
			}
		}
		l.edges[e.From] = append(l.edges[e.From], e.To)
		l.users[e.To] = append(l.users[e.To], e.From)
	}
	names := make([]string, 0, len(points))
	for name := range points {
		names = append(names, name)
	}
	slices.Sort(names)
	l.rank(names)
	var out layers
	for _, name := range names {
		p := points[name]
		p.layer = l.layer[name]
		if len(l.edges[name])+len(l.users[name]) == 0 {
			out.alone = append(out.alone, p)
		} else {
			out.put(p)
		}
	}
	out.connect(g.Edges, points, l.back)
	out.order()
	out.place()
	return out
}

// ranked is the modules on their way into layers.
type ranked struct {
	edges, users map[string][]string
	layer        map[string]int
	state        map[string]int // 1 under way, 2 done
	order        []string       // what is needed first
	back         map[[2]string]bool
}

func (r *ranked) rank(names []string) {
	for _, name := range names {
		slices.Sort(r.edges[name])
		slices.Sort(r.users[name])
	}
	for _, name := range names {
		if r.state[name] == 0 {
			r.visit(name)
		}
	}
	for _, name := range slices.Backward(r.order) {
		if to := r.before(name); len(to) > 0 {
			r.layer[name] = max(r.layer[name], slices.Min(to))
		}
	}
}

// before is the layers before those of what stands to the right of a module.
func (r *ranked) before(name string) (layers []int) {
	for _, user := range r.users[name] {
		if !r.back[[2]string{user, name}] {
			layers = append(layers, r.layer[user]-1)
		}
	}
	for _, to := range r.edges[name] {
		if r.back[[2]string{name, to}] { // it is turned
			layers = append(layers, r.layer[to]-1)
		}
	}
	return layers
}

func (r *ranked) visit(name string) {
	r.state[name] = 1
	for _, to := range r.edges[name] {
		switch r.state[to] {
		case 0:
			r.visit(to)
		case 1:
			r.back[[2]string{name, to}] = true
			continue
		}
		r.layer[name] = max(r.layer[name], r.layer[to]+1)
	}
	r.state[name] = 2
	r.order = append(r.order, name)
}

func (l *layers) put(p *point) {
	for len(l.columns) <= p.layer {
		l.columns = append(l.columns, nil)
	}
	l.columns[p.layer] = append(l.columns[p.layer], p)
}

// connect makes the lines, and the places where they cross layers.
func (l *layers) connect(edges []api.Edge, points map[string]*point, back map[[2]string]bool) {
	crossings := map[string]*point{}
	joined := map[[2]*point]bool{}
	for _, e := range edges {
		left, right, key := points[e.To], points[e.From], e.To+" "+Kind(e)
		if back[[2]string{e.From, e.To}] {
			left, right, key = right, left, e.From+" "+e.To+" "+Kind(e)
		}
		if left == right {
			continue
		}
		way := line{edge: e, points: []*point{left}, turned: left == points[e.From]}
		for layer := left.layer + 1; layer < right.layer; layer++ {
			at := fmt.Sprint(key, " ", layer)
			if crossings[at] == nil {
				crossings[at] = &point{key: key, layer: layer}
				l.put(crossings[at])
			}
			way.points = append(way.points, crossings[at])
		}
		way.points = append(way.points, right)
		for i, p := range way.points[1:] {
			if before := way.points[i]; !joined[[2]*point{before, p}] {
				joined[[2]*point{before, p}] = true
				before.near[1], p.near[0] = append(before.near[1], p), append(p.near[0], before)
			}
		}
		l.lines = append(l.lines, way)
	}
}

// sweeps is how often the layers are gone through; more changes little.
const sweeps = 12

// order puts the points of each layer into the order of what they are joined to.
func (l *layers) order() {
	for _, column := range l.columns {
		slices.SortFunc(column, func(a, b *point) int { return cmp.Compare(a.key, b.key) })
		number(column)
	}
	l.sweep(func(column []*point, side int) {
		wants := make(map[*point]float64, len(column))
		for _, p := range column {
			wants[p] = mean(p.near[side], p.y)
		}
		slices.SortStableFunc(column, func(a, b *point) int { return cmp.Compare(wants[a], wants[b]) })
		number(column)
	})
}

func (l *layers) sweep(each func(column []*point, side int)) {
	for range sweeps {
		for _, column := range l.columns {
			each(column, 0)
		}
		for _, column := range slices.Backward(l.columns) {
			each(column, 1)
		}
	}
}

func number(column []*point) {
	for i, p := range column {
		p.y = float64(i)
	}
}

func mean(points []*point, otherwise float64) float64 {
	if len(points) == 0 {
		return otherwise
	}
	sum := 0.0
	for _, p := range points {
		sum += p.y
	}
	return sum / float64(len(points))
}

// place gives each point its height: as near to what it is joined to as its
// order and its room allow.
func (l *layers) place() {
	for _, column := range l.columns {
		settle(column, func(p *point) float64 { return p.y * rowHeight })
	}
	l.sweep(func(column []*point, side int) {
		settle(column, func(p *point) float64 { return mean(p.near[side], p.y) })
	})
	least := 0.0
	for _, column := range l.columns {
		if len(column) > 0 {
			least = min(least, column[0].y)
		}
	}
	for _, column := range l.columns {
		for _, p := range column {
			p.y -= least
		}
	}
}

// settle puts a layer's points where they want to be, in their order and with
// room between them, so that the sum of the squares of what they miss it by is
// the least: points that would overlap move together.
func settle(column []*point, wants func(*point) float64) {
	type block struct {
		sum   float64
		count int
	}
	var blocks []block
	room := make([]float64, len(column))
	for i, p := range column {
		if i > 0 {
			room[i] = room[i-1] + apart(column[i-1], p)
		}
		b := block{wants(p) - room[i], 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].sum/float64(blocks[len(blocks)-1].count) > b.sum/float64(b.count) {
			last := blocks[len(blocks)-1]
			b = block{b.sum + last.sum, b.count + last.count}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for range b.count {
			column[i].y = b.sum/float64(b.count) + room[i]
			i++
		}
	}
}

// apart is how far one point stands below another at least.
func apart(a, b *point) float64 {
	switch {
	case a.name != "" && b.name != "":
		return rowHeight
	case a.name == "" && b.name == "":
		return rowHeight / 4
	}
	return rowHeight * 5 / 8
}
