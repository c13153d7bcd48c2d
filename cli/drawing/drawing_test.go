package drawing

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"noxmesh/api"
)

// graphOf is a graph of edges that are written "a>b", "a~b" for presence, "a:b"
// for an instance and "a?b" for tests; and of modules.
func graphOf(text string) api.GraphOut {
	var g api.GraphOut
	seen := map[string]bool{}
	module := func(name string) {
		if !seen[name] {
			seen[name] = true
			g.Modules = append(g.Modules, api.GraphModule{Module: name})
		}
	}
	for _, word := range strings.Fields(text) {
		at := strings.IndexAny(word, ">~:?")
		if at < 0 {
			module(word)
			continue
		}
		e := api.Edge{From: word[:at], To: word[at+1:], Kind: "build", For: []api.For{{Name: "x.org/" + word[at+1:], Language: "go", File: word[:at] + ".go", Line: 3}}}
		switch word[at] {
		case '~':
			e.Kind, e.For[0] = "presence", api.For{Name: word[at+1:], File: "module.json"}
		case ':':
			e.Kind, e.For[0] = "instance", api.For{Name: word[at+1:], File: "module.json"}
		case '?':
			e.Test = true
		}
		module(e.To)
		module(e.From)
		g.Edges = append(g.Edges, e)
	}
	return g
}

func TestTree(t *testing.T) {
	t.Parallel()
	g := graphOf("lib>core app>lib app?core app~dns shop~app shop>lib")
	g.Module = "lib"
	g.Edges[0].For = append(g.Edges[0].For, api.For{Name: "more", File: "x"})
	g.Edges = slices.DeleteFunc(g.Edges, func(e api.Edge) bool { return e.To == "dns" || e.Test })
	const want = `lib needs
└─ build     core  for go x.org/core (lib.go:3), and 1 more
lib is needed by
├─ build     app   for go x.org/lib (app.go:3)
│  └─ presence  shop  for app (module.json)
└─ build     shop  for go x.org/lib (shop.go:3)`
	if got := strings.Join(Tree(g, 0), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, line := range Tree(g, 40) {
		if utf8.RuneCountInString(line) > 40 {
			t.Errorf("%q does not fit", line)
		}
	}
	g.Of = "dependencies"
	if got := Tree(g, 0); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// A circle ends, and what is in several places is drawn out once.
func TestTreeOfACircle(t *testing.T) {
	t.Parallel()
	g := graphOf("a>b b>c c>a a>c")
	g.Module, g.Of = "a", "dependencies"
	got := strings.Join(Tree(g, 0), "\n")
	if strings.Count(got, "\n") != 4 || strings.Count(got, "(above)") != 2 {
		t.Error(got)
	}
}

var statement = regexp.MustCompile(`^\t("(?:[^"\\\n]|\\[\\"n])*")( -> "(?:[^"\\\n]|\\[\\"n])*")?( \[(?:[a-z]+=(?:[a-z]+|"(?:[^"\\\n]|\\[\\"n])*")(?:, )?)+\])?;$`)

// Every statement is one that dot reads, whatever is in a name.
func FuzzDrawings(f *testing.F) {
	for _, seed := range []string{"a", `a"b\`, "a\nb", "\x1b[2J", "<&>", "\xff\x00", "ü\u2028"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, name, asked string) {
		g := api.GraphOut{
			Modules: []api.GraphModule{{Module: name, Against: []string{asked}}, {Module: "z"}},
			Edges:   []api.Edge{{From: name, To: "z", Kind: "build", For: []api.For{{Name: asked, File: asked, Line: 1}}}},
		}
		lines := strings.Split(strings.TrimSuffix(Dot(g), "\n"), "\n")
		for _, line := range lines[4 : len(lines)-1] {
			if !statement.MatchString(line) {
				t.Errorf("no statement: %q", line)
			}
		}
		wellFormed(t, SVG(g))
		g.Module = "z"
		for _, line := range Tree(g, 80) {
			if strings.ContainsAny(line, "\x1b\n\r\x00") {
				t.Errorf("a terminal would obey %q", line)
			}
		}
	})
}

func wellFormed(t interface{ Fatalf(string, ...any) }, text string) {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}

// In every drawing no box stands on another or on a line that only passes, each
// line leads from the left to the right, and each edge has one.
func TestLayOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "modules")
		var words []string
		for i := range n {
			words = append(words, fmt.Sprint("m", i))
		}
		for range rapid.IntRange(0, 3*n).Draw(t, "edges") {
			a, b := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")
			if a != b {
				words = append(words, fmt.Sprintf("m%d%cm%d", a, rapid.SampledFrom([]rune(">~:?")).Draw(t, "kind"), b))
			}
		}
		g := graphOf(strings.Join(words, " "))
		l := layOut(g)
		boxes := len(l.alone)
		for _, column := range l.columns {
			for i, p := range column {
				if p.name != "" {
					boxes++
				}
				if i > 0 && p.y < column[i-1].y+apart(column[i-1], p)-1e-6 || p.y < -1e-6 {
					t.Fatalf("%q at %f stands on %q at %f", p.name, p.y, column[i-1].name, column[i-1].y)
				}
			}
		}
		if boxes != n || len(l.lines) != len(g.Edges) {
			t.Fatalf("%d boxes of %d, %d lines of %d", boxes, n, len(l.lines), len(g.Edges))
		}
		for _, way := range l.lines {
			ends := []string{way.points[0].name, way.points[len(way.points)-1].name}
			if way.turned {
				slices.Reverse(ends)
			}
			if ends[0] != way.edge.To || ends[1] != way.edge.From {
				t.Fatalf("the line of %+v leads from %s to %s", way.edge, ends[1], ends[0])
			}
			for i, p := range way.points[1:] {
				if p.layer != way.points[i].layer+1 {
					t.Fatalf("the line of %+v jumps from layer %d to %d", way.edge, way.points[i].layer, p.layer)
				}
			}
		}
		again := g
		again.Modules = rapid.Permutation(g.Modules).Draw(t, "again")
		if SVG(again) != SVG(g) {
			t.Fatalf("the drawing depends on the order of the modules")
		}
	})
}

// A line is only turned where there is a circle.
func TestWhatIsNeededStandsToTheLeft(t *testing.T) {
	t.Parallel()
	l := layOut(graphOf("lib>core app>lib app>core web>app"))
	at := map[string]int{}
	for _, column := range l.columns {
		for _, p := range column {
			if p.name != "" {
				at[p.name] = p.layer
			}
		}
	}
	if at["core"] != 0 || at["lib"] != 1 || at["app"] != 2 || at["web"] != 3 {
		t.Error(at)
	}
	for _, way := range append(l.lines, layOut(graphOf("a>b b>c c>a")).lines[:1]...) {
		if way.turned {
			t.Errorf("%+v is turned", way.edge)
		}
	}
}

// large is a graph like those of real repositories: a few modules that most
// others need, and the rest in groups.
func large(n int) api.GraphOut {
	var words []string
	for i := range n {
		name := fmt.Sprintf("module-number-%03d", i)
		words = append(words, name)
		for k := range 5 {
			if to := (i*7 + k*k*31 + i/3) % max(i, 1); to < i && (to < 8 || to/20 == i/20 || k == 4) {
				words = append(words, fmt.Sprintf("%s%cmodule-number-%03d", name, ">>>~"[k%4], to))
			}
		}
	}
	return graphOf(strings.Join(words, " "))
}

// A drawing of 200 modules can be read: every name is whole in its box, boxes do
// not meet, and it is no larger than a few screens.
func TestLargeDrawing(t *testing.T) {
	t.Parallel()
	text := SVG(large(200))
	wellFormed(t, text)
	size := regexp.MustCompile(`width="(\d+)" height="(\d+)"`).FindStringSubmatch(text)
	var wide, high int
	if _, err := fmt.Sscan(size[1]+" "+size[2], &wide, &high); err != nil || wide > 8000 || high > 6000 {
		t.Errorf("it is %s × %s", size[1], size[2])
	}
	type rect struct{ x, y, w float64 }
	var all []rect
	for _, m := range regexp.MustCompile(`<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"`).FindAllStringSubmatch(text, -1) {
		var r rect
		if _, err := fmt.Sscan(m[1]+" "+m[2]+" "+m[3], &r.x, &r.y, &r.w); err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			if r.x < o.x+o.w && o.x < r.x+r.w && r.y < o.y+boxHeight && o.y < r.y+boxHeight {
				t.Fatalf("%+v meets %+v", r, o)
			}
		}
		all = append(all, r)
	}
	if len(all) != 200 {
		t.Errorf("%d boxes", len(all))
	}
}
