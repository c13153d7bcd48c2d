package manifest

import (
	"maps"
	"slices"
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// A piece of a template: text that stays, or the name of what is put there.
type piece struct {
	text string
	name string // empty for text
}

// cut takes a template apart. "${" begins a name, "$${" is a plain "${", and any
// other dollar is itself.
func cut(template string) ([]piece, error) {
	var out []piece
	var text strings.Builder
	for rest := template; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "$${"):
			text.WriteString("${")
			rest = rest[len("$${"):]
		case strings.HasPrefix(rest, "${"):
			name, after, closed := strings.Cut(rest[len("${"):], "}")
			if !closed || strings.ContainsAny(name, "\n{$") { // a name holds none of them: the } belongs to another
				open, _, _ := strings.Cut(rest[len("${"):], "\n")
				return nil, fault.New(fault.Invalid, "%q is not closed", "${"+document.Short(open)).With("close it with }, or write $${ for a plain ${")
			}
			out = append(out, piece{text: text.String()}, piece{name: name})
			text.Reset()
			if name == "" {
				return nil, fault.New(fault.Invalid, "a ${} has no name").With("put one in, as ${node.name}, or write $${ for a plain ${")
			}
			rest = after
		default:
			text.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return append(out, piece{text: text.String()}), nil
}

// Names is what the template names, in order, each once: "settings.port",
// "node.name".
func Names(template string) ([]string, error) {
	pieces, err := cut(template)
	if err != nil {
		return nil, err
	}
	var names []string
	seen := map[string]bool{"": true}
	for _, p := range pieces {
		if !seen[p.name] {
			names = append(names, p.name)
		}
		seen[p.name] = true
	}
	return names, nil
}

// Fill is the template with the values in the places of their names. It is done
// once: a value that looks like a template stays as it is.
func Fill(template string, values map[string]string) (string, error) {
	pieces, err := cut(template)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		value, err := valueOf(p.name, values)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
	}
	return b.String(), nil
}

func valueOf(name string, values map[string]string) (string, error) {
	value, ok := values[name]
	if !ok {
		return "", fault.New(fault.Invalid, "nothing is called %q", "${"+document.Short(name)+"}").
			With("the names here are %s", list(slices.Sorted(maps.Keys(values))))
	}
	return value, nil
}
