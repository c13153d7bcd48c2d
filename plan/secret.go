package plan

import (
	"fmt"
	"strings"

	"noxmesh/declaration"
	"noxmesh/manifest"
)

// NeedsSecrets is the names of the secrets that a module needs on a node, sorted:
// those in the files of what is declared there, or else of its source.
func (m Module) NeedsSecrets() []string {
	b, _ := m.counts()
	return b.NeedsSecrets()
}

// DeclaresSecrets is what the module says of its secrets, by name.
func (m Module) DeclaresSecrets() map[string]manifest.Secret {
	b, _ := m.counts()
	return b.Secrets
}

// lacksSecrets is the secrets that a module needs and that have no value on this
// node; empty where there are none.
func (c *compiler) lacksSecrets(name string) string {
	var whys []string
	for _, secret := range c.modules[name].NeedsSecrets() {
		if c.facts.Secrets[name][secret].Text == "" {
			whys = append(whys, fmt.Sprintf("needs the secret %q, which has no value for %s: mesh secret set %s %s --node %s", secret, c.facts.Node.Name, name, secret, c.facts.Node.Name))
		}
	}
	return strings.Join(whys, "; ")
}

// body is the body of a file; of one with secrets in it the template that the host
// fills, with what it fills in.
func (w *worked) body(r manifest.BuiltResource, out *declaration.Resource, values map[string]string) (string, error) {
	secrets := r.Secrets()
	if len(secrets) == 0 {
		return manifest.Fill(*r.Content, values)
	}
	pieces, err := manifest.FillAround(*r.Content, values)
	if err != nil {
		return "", err
	}
	out.Secrets = make(map[string]string, len(secrets))
	for _, name := range secrets {
		out.Secrets[name] = w.sealed[name].Text
	}
	return declaration.JoinTemplate(pieces), nil
}

// versions notes which version of each secret is in the files of a module.
func (c *compiler) versions(w *worked) {
	for i := range w.resources {
		r := &w.resources[i]
		if len(r.Secrets) == 0 {
			continue
		}
		if c.plan.Versions == nil {
			c.plan.Versions = map[string]map[string]int64{}
		}
		of := make(map[string]int64, len(r.Secrets))
		for name := range r.Secrets {
			of[name] = w.sealed[name].Version
		}
		c.plan.Versions[r.ID] = of
	}
}
