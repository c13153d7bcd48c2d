package manifest

import (
	"maps"
	"slices"
	"strings"

	"noxmesh/declaration"
	"noxmesh/document"
)

// Secret is one thing that a person gives for each node, and nobody else reads: it
// is sealed where it is given, and opened on the node.
type Secret struct {
	Says string `json:"says,omitempty"`
}

// secretPrefix begins the name of a secret in a template.
const secretPrefix = "secret."

// Secrets is the names of the secrets in the content of a file, in order, each once.
func (x BuiltResource) Secrets() []string {
	if x.Type != typeFile || x.Content == nil || !strings.Contains(*x.Content, "${"+secretPrefix) {
		return nil
	}
	names, err := Names(*x.Content)
	if err != nil {
		return nil // it was refused when it was read
	}
	var secrets []string
	for _, name := range names {
		if secret, is := strings.CutPrefix(name, secretPrefix); is {
			secrets = append(secrets, secret)
		}
	}
	return secrets
}

// NeedsSecrets is the names of the secrets that the module's files have in them,
// sorted. One that is declared and in none of them is not needed.
func (b Built) NeedsSecrets() []string {
	var all []string
	for _, x := range b.Resources {
		all = append(all, x.Secrets()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// FillAround is the template with the values in the places of their names, and the
// places of secrets left for the host.
func FillAround(template string, values map[string]string) ([]declaration.Piece, error) {
	pieces, err := cut(template)
	if err != nil {
		return nil, err
	}
	var out []declaration.Piece
	for _, p := range pieces {
		if secret, is := strings.CutPrefix(p.name, secretPrefix); is {
			out = append(out, declaration.Piece{Secret: secret})
			continue
		}
		text := p.text
		if p.name != "" {
			if text, err = valueOf(p.name, values); err != nil {
				return nil, err
			}
		}
		out = append(out, declaration.Piece{Text: text})
	}
	return out, nil
}

// secrets checks what the module declares of them.
func (c *checker) secrets(all map[string]Secret) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path := document.Join("secrets", name)
		if !declaration.ValidSecretName(name) {
			c.FaultKey(path, "want lower-case letters, digits, inner hyphens and underscores, a letter first, at most 63", "%q is not the name of a secret", document.Short(name))
		}
		c.line(document.Join(path, "says"), all[name].Says)
	}
}

// secret checks a name of one in a template.
func (c *checker) secret(path, name string) bool {
	switch {
	case !c.filled:
		c.Fault(path, "write it into the content of a file, which the host fills in memory, and have that read",
			"%q is a secret, and here others would read it", "${"+document.Short(name)+"}")
	case !c.declared[name]:
		known := slices.Sorted(maps.Keys(c.declared))
		want := `declare it, as "secrets": {"db-url": {"says": "…"}}; write $${ for a plain ${`
		if len(known) > 0 {
			want = document.Nearest(name, known[:min(len(known), nearLimit)], "the secrets here are "+list(known))
		}
		c.Fault(path, want, "no secret is called %q", "${"+document.Short(name)+"}")
	default:
		return true
	}
	return false
}

// secretMode checks that a file with secrets is not everybody's to read.
func (c *checker) secretMode(at string, t thing) {
	x := BuiltResource{Type: t.kind, Content: t.content}
	if len(x.Secrets()) == 0 {
		return
	}
	if _, bad := declaration.ModeFlaw(declaration.File, t.mode); bad {
		return
	}
	if flaw, ok := declaration.SecretModeFlaw(t.mode); ok {
		c.Fault(at+".mode", flaw.Want, "%s", flaw.What)
	}
}
