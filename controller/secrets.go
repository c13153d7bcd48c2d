package controller

import (
	"slices"

	"noxmesh/inventory"
	"noxmesh/plan"
)

// sealedTo is the values of secrets as a plan wants them.
func sealedTo(all []inventory.Secret) plan.Secrets {
	if len(all) == 0 {
		return nil
	}
	out := plan.Secrets{}
	for _, s := range all {
		if out[s.Module] == nil {
			out[s.Module] = map[string]plan.Sealed{}
		}
		out[s.Module][s.Name] = plan.Sealed{Version: s.Version, Text: s.Sealed}
	}
	return out
}

func (v *view) setSecrets(node string, all []inventory.Secret) {
	n := v.nodes[node]
	if n == nil {
		return
	}
	same := slices.EqualFunc(n.secrets, all, func(a, b inventory.Secret) bool {
		return a.Module == b.Module && a.Name == b.Name && a.Sealed == b.Sealed
	})
	if n.secrets = all; !same {
		n.worked.Store(nil)
	}
}

// secretFiles is what the ledger has of the secrets in a plan.
func secretFiles(p plan.Plan) (map[string]inventory.SecretFile, error) {
	files := make(map[string]inventory.SecretFile, len(p.Versions))
	for i := range p.Body.Resources {
		r := &p.Body.Resources[i]
		versions := p.Versions[r.ID]
		if versions == nil {
			continue
		}
		digest, err := r.ContentDigest()
		if err != nil {
			return nil, err
		}
		files[r.ID] = inventory.SecretFile{Digest: digest, Versions: versions}
	}
	return files, nil
}
