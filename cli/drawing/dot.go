package drawing

import (
	"fmt"
	"strings"

	"noxmesh/api"
)

// Dot is the graph in the language of Graphviz: what is needed stands to the left.
func Dot(g api.GraphOut) string {
	var b strings.Builder
	b.WriteString("digraph mesh {\n\trankdir=RL;\n\tnode [shape=box, style=rounded, fontname=\"sans-serif\"];\n\tedge [fontname=\"sans-serif\"];\n")
	for _, m := range g.Modules {
		more := ""
		if len(m.Against) > 0 {
			more = fmt.Sprintf(" [color=red, tooltip=%s]", quoted(m.Module+" "+strings.Join(m.Against, "\n")))
		}
		fmt.Fprintf(&b, "\t%s%s;\n", quoted(m.Module), more)
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "\t%s -> %s [class=%s, style=%s, tooltip=%s];\n", quoted(e.From), quoted(e.To), quoted(Kind(e)), dotStyle(e), quoted(title(e)))
	}
	b.WriteString("}\n")
	return b.String()
}

func dotStyle(e api.Edge) string {
	switch Kind(e) {
	case "presence":
		return "dashed"
	case "instance":
		return "dotted"
	case "test":
		return "\"dashed\", color=gray"
	}
	return "solid"
}

// quoted is a string as dot has it, in which no backslash means anything.
func quoted(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\ufffd")
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// title is everything about an edge.
func title(e api.Edge) string {
	lines := []string{fmt.Sprintf("%s → %s, %s", e.From, e.To, Kind(e))}
	const most = 12
	for i, f := range e.For {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.For)-most))
			break
		}
		lines = append(lines, "for "+One(f))
	}
	return strings.Join(lines, "\n")
}
