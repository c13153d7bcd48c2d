package drawing

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"noxmesh/api"
)

// The measures of a drawing, in pixels.
const (
	letter    = 7.3 // of the monospaced font, in width
	boxHeight = 20.0
	rowHeight = 28.0
	padding   = 8.0
	gap       = 90.0 // between two layers, for the lines
	margin    = 24.0
	top       = 72.0 // for the title and what the lines mean
	aloneWide = 900.0
)

// style is what the classes look like. Kinds of lines differ in their dashes,
// and not only in their colour.
const style = `text{font:12px ui-monospace,monospace;fill:#222}
.box rect{fill:#f4f6f8;stroke:#8a94a0;rx:4}
.box:hover rect{stroke:#111;stroke-width:2}
.against rect{fill:#fdecea;stroke:#b3261e}
path{fill:none;stroke-width:1.2;stroke-opacity:.65}
path:hover{stroke-width:3;stroke-opacity:1}
.build{stroke:#1f5fa8}
.presence{stroke:#2b7a3d;stroke-dasharray:6 4}
.instance{stroke:#b35c00;stroke-dasharray:1.5 3.5;stroke-linecap:round;stroke-width:2}
.test{stroke:#777;stroke-dasharray:9 3 2 3}
.circle{stroke:#b3261e;stroke-opacity:1}
`

// SVG is the graph in layers: what is needed stands to the left of what needs it.
func SVG(g api.GraphOut) string {
	l := layOut(g)
	d := drawing{}
	d.columns(l)
	for _, way := range l.lines {
		d.line(way)
	}
	for _, column := range l.columns {
		for _, p := range column {
			if p.name != "" {
				d.box(p, d.left[p.layer], top+p.y)
			}
		}
	}
	d.alone(l.alone)
	return d.whole(g)
}

type drawing struct {
	body          strings.Builder
	left, wide    []float64 // of each layer
	width, height float64
}

// columns is where the layers stand.
func (d *drawing) columns(l layers) {
	x := margin
	d.height = top
	for _, column := range l.columns {
		wide := 0.0
		for _, p := range column {
			if p.name != "" {
				wide = max(wide, boxWidth(p.name))
			}
			d.height = max(d.height, top+p.y+rowHeight)
		}
		d.left, d.wide = append(d.left, x), append(d.wide, wide)
		x += wide + gap
	}
	d.width = max(x-gap+margin, 640)
}

func boxWidth(name string) float64 {
	return float64(utf8.RuneCountInString(name))*letter + 2*padding
}

// line draws one edge from what needs to what is needed.
func (d *drawing) line(way line) {
	var path strings.Builder
	x, y := 0.0, 0.0
	for i, p := range way.points {
		py, px := top+p.y+boxHeight/2, d.left[p.layer]
		if i == 0 {
			x, y = px+boxWidth(p.name), py
			fmt.Fprintf(&path, "M%.1f %.1f", x, y)
			if over := d.left[p.layer] + d.wide[p.layer]; over > x {
				x = over
				fmt.Fprintf(&path, "H%.1f", x)
			}
			continue
		}
		half := (px - x) / 2
		fmt.Fprintf(&path, "C%.1f %.1f %.1f %.1f %.1f %.1f", x+half, y, px-half, py, px, py)
		x, y = px, py
		if p.name == "" {
			x += d.wide[p.layer]
			fmt.Fprintf(&path, "H%.1f", x)
		}
	}
	class, arrow := Kind(way.edge), `marker-start="url(#to)"`
	if way.turned {
		class, arrow = class+" circle", `marker-end="url(#to)"`
	}
	fmt.Fprintf(&d.body, "<path class=\"%s\" d=\"%s\" %s><title>%s</title></path>\n", class, path.String(), arrow, escaped(title(way.edge)))
}

func (d *drawing) box(p *point, x, y float64) {
	class := "box"
	if p.against {
		class += " against"
	}
	fmt.Fprintf(&d.body, "<g class=\"%s\"><title>%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\"/><text x=\"%.1f\" y=\"%.1f\">%s</text></g>\n",
		class, escaped(p.name), x, y, boxWidth(p.name), boxHeight, x+padding, y+boxHeight-6, escaped(p.name))
}

// alone draws the modules without an edge in rows below the others.
func (d *drawing) alone(points []*point) {
	if len(points) == 0 {
		return
	}
	y := d.height + rowHeight
	fmt.Fprintf(&d.body, "<text x=\"%.0f\" y=\"%.1f\">without an edge</text>\n", margin, y)
	x, most := margin, max(d.width, aloneWide)-margin
	y += rowHeight / 2
	for _, p := range points {
		if wide := boxWidth(p.name); x > margin && x+wide > most {
			x, y = margin, y+rowHeight
		}
		d.box(p, x, y)
		x += boxWidth(p.name) + padding
		d.width = max(d.width, x+margin)
	}
	d.height = y + rowHeight
}

// whole is the drawing with its title and with what its lines mean.
func (d *drawing) whole(g api.GraphOut) string {
	var b strings.Builder
	says := fmt.Sprintf("%s and %s: what is needed stands to the left of what needs it", counted(len(g.Modules), "module"), counted(len(g.Edges), "edge"))
	if g.Module != "" {
		says = g.Module + ", " + says
	}
	d.height += margin
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n", d.width, d.height, d.width, d.height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n", escaped(says), style)
	b.WriteString("<defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:#555;stroke:none\"/></marker></defs>\n")
	fmt.Fprintf(&b, "<rect width=\"%.0f\" height=\"%.0f\" style=\"fill:#fff\"/>\n<text x=\"%.0f\" y=\"24\">%s</text>\n", d.width, d.height, margin, escaped(says))
	x := margin
	for _, kind := range [][2]string{{"build", "build"}, {"test", "build, only tests"}, {"presence", "presence"}, {"instance", "instance"}} {
		fmt.Fprintf(&b, "<path class=\"%s\" d=\"M%.0f 44H%.0f\"/><text x=\"%.0f\" y=\"48\">%s</text>\n", kind[0], x, x+40, x+48, kind[1])
		x += 48 + float64(len(kind[1]))*letter + margin
	}
	b.WriteString(d.body.String())
	b.WriteString("</svg>\n")
	return b.String()
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// escaped is text that stands in an element or an attribute; what XML has no
// letter for is shown as one that it has.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r == '\n':
			b.WriteString("\n")
		case r < ' ' || r == 0xfffe || r == 0xffff:
			b.WriteRune('\ufffd')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
