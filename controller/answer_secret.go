package controller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"noxmesh/api"
	"noxmesh/declaration"
	"noxmesh/delivery/artifact"
	"noxmesh/document"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/manifest"
	"noxmesh/plan"
)

func (c *Controller) answerSecrets(ctx context.Context, _ api.Who, in api.SecretsIn) (api.SecretsOut, error) {
	out := api.SecretsOut{Secrets: []api.SecretOut{}}
	err := c.with(ctx, func(v *view) error {
		nodes, err := v.asked(in)
		needed := map[*artifact.Build][]string{}
		for _, n := range nodes {
			out.Secrets = append(out.Secrets, v.secretsOn(n, needed)...)
		}
		return err
	})
	if in.Module != "" {
		out.Secrets = slices.DeleteFunc(out.Secrets, func(s api.SecretOut) bool { return s.Module != in.Module })
	}
	slices.SortStableFunc(out.Secrets, func(a, b api.SecretOut) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Secret, b.Secret))
	})
	return out, err
}

// asked is the nodes that a question is about, in the order of their names.
func (v *view) asked(in api.SecretsIn) ([]*nodeView, error) {
	if in.Module != "" {
		if _, err := v.module(in.Module); err != nil {
			return nil, err
		}
	}
	if in.Node == "" {
		return v.inOrder(), nil
	}
	n, err := v.node(in.Node)
	return []*nodeView{n}, err
}

// secretsOn is, in no order, what is known of the secrets on one node: of those that it needs, and
// of those that have a value there. Needed is what builds were found to need before:
// one is declared on many nodes.
func (v *view) secretsOn(n *nodeView, needed map[*artifact.Build][]string) []api.SecretOut {
	type key struct{ module, secret string }
	all := map[key]*api.SecretOut{}
	at := func(module, secret string) *api.SecretOut {
		k := key{module, secret}
		if all[k] == nil {
			all[k] = &api.SecretOut{Module: module, Secret: secret, Node: n.ID, Name: n.Name}
		}
		return all[k]
	}
	for _, module := range n.belong {
		b := v.made[n.declared[module]]
		names, known := needed[b]
		if b == nil || !known {
			names = v.secretsOf(n, module).NeedsSecrets()
			needed[b] = names
		}
		for _, secret := range names {
			at(module, secret).Needed = true
		}
	}
	for _, s := range n.secrets {
		out := at(s.Module, s.Name)
		out.Version, out.SetAt, out.SetBy, out.Applied, out.AppliedAt = s.Version, s.At, s.By, s.Applied, s.AppliedAt
	}
	var known []api.SecretOut
	for _, out := range all {
		out.Says = v.secretsOf(n, out.Module).DeclaresSecrets()[out.Secret].Says
		known = append(known, *out)
	}
	return known
}

// secretsOf is a module as a node sees it.
func (v *view) secretsOf(n *nodeView, module string) plan.Module {
	m := plan.Module{Name: module, Declared: v.made[n.declared[module]]}
	if is := v.modules[module]; is != nil && is.source.Commit != "" {
		m.Source = &is.source.Manifest
	}
	return m
}

// mayHave refuses a secret that a module declares neither in its source nor on a node.
func (v *view) mayHave(module, secret string) error {
	if _, err := v.module(module); err != nil {
		return err
	}
	declared := map[string]manifest.Secret{}
	if is := v.modules[module]; is.source.Commit != "" {
		maps.Copy(declared, is.source.Manifest.Secrets)
	}
	for _, n := range v.nodes {
		if b := v.made[n.declared[module]]; b != nil {
			maps.Copy(declared, b.Manifest.Secrets)
		}
	}
	if _, is := declared[secret]; is {
		return nil
	}
	known := slices.Sorted(maps.Keys(declared))
	err := fault.New(fault.NotFound, "module %q declares no secret %q", module, document.Short(secret))
	switch {
	case v.modules[module].source.Commit == "":
		return err.With("its source has not been read yet")
	case len(known) == 0:
		return err.With(`it declares none; in its module.json: "secrets": {"db-url": {"says": "…"}}, and ${secret.db-url} in the content of a file`)
	}
	return err.With("%s", document.Nearest(secret, known, "it declares "+strings.Join(known, ", ")))
}

func (c *Controller) answerSecretRecipients(ctx context.Context, _ api.Who, in api.SecretRecipientsIn) (api.SecretRecipientsOut, error) {
	out := api.SecretRecipientsOut{Mesh: c.mesh, Module: in.Module, Secret: in.Secret, Recipients: []api.Recipient{}}
	err := c.with(ctx, func(v *view) error {
		if err := v.mayHave(in.Module, in.Secret); err != nil {
			return err
		}
		nodes, err := v.named(in.Nodes, v.nodesOf(in.Module))
		if err != nil {
			return err
		}
		if len(nodes) == 0 {
			return fault.New(fault.Conflict, "module %q belongs on no node, so that there is nobody to seal it to", in.Module).
				With("mesh assign %s NODE first, or name nodes with --node", in.Module)
		}
		for _, n := range nodes {
			switch {
			case n.Seal == "":
				out.Without = append(out.Without, api.Keyless{Name: n.Name, Why: "it has not joined, and has no key yet"})
			case n.Twins != "":
				out.Without = append(out.Without, api.Keyless{Name: n.Name, Why: n.Twins})
			default:
				out.Recipients = append(out.Recipients, api.Recipient{Node: n.ID, Name: n.Name, Recipient: n.Seal})
			}
		}
		if len(out.Recipients) == 0 {
			return fault.New(fault.Conflict, "there is nobody to seal it to: node %q: %s", out.Without[0].Name, out.Without[0].Why).
				With("mesh node add %s prints the token that it joins with", out.Without[0].Name)
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	err = c.db.Read(ctx, func(tx *db.Tx) (err error) {
		out.Version, err = inventorystore.NextVersion(tx, in.Module, in.Secret)
		return err
	})
	return out, err
}

// named is the nodes with these names or ids, each once, or else those with these ids.
func (v *view) named(names, otherwise []string) ([]inventory.Node, error) {
	if len(names) == 0 {
		names = otherwise
	}
	nodes, seen := make([]inventory.Node, 0, len(names)), map[string]bool{}
	for _, name := range names {
		n, err := v.node(name)
		if err != nil {
			return nil, err
		}
		if !seen[n.ID] {
			nodes = append(nodes, n.Node)
		}
		seen[n.ID] = true
	}
	return nodes, nil
}

// answerSecretSet keeps one value, sealed to each of some nodes. All of it is in one
// transaction, so that every node gets this version or none.
func (c *Controller) answerSecretSet(ctx context.Context, who api.Who, in api.SecretSetIn) (api.SecretSetOut, error) {
	out := api.SecretSetOut{Module: in.Module, Secret: in.Secret, Version: in.Version, Nodes: []string{}}
	if err := sealedRightly(in.Values); err != nil {
		return out, err
	}
	ids := make([]string, len(in.Values))
	for i, value := range in.Values {
		ids[i] = value.Node
	}
	var nodes []inventory.Node
	err := c.write(ctx, func(tx *db.Tx) error {
		err := c.within(tx, func(v *view) (err error) {
			if err = v.mayHave(in.Module, in.Secret); err == nil {
				nodes, err = v.named(ids, nil)
			}
			return err
		})
		if err == nil {
			err = keepSealed(tx, in, nodes, who.Name)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	out.Nodes = c.nudged(nodes)
	return out, nil
}

// nudged is the names of nodes whose secrets have changed.
func (c *Controller) nudged(nodes []inventory.Node) []string {
	names := make([]string, 0, len(nodes))
	for _, n := range nodes {
		names = append(names, n.Name)
		c.declares.Nudge(n.ID)
	}
	return names
}

// sealedRightly refuses what has not the form of sealed values, or is for nobody.
func sealedRightly(values []api.Sealed) error {
	if len(values) == 0 {
		return fault.New(fault.Invalid, "the value is sealed to nobody")
	}
	for _, value := range values {
		if !declaration.ValidSealed(value.Sealed) {
			return fault.New(fault.Invalid, "what is to be kept for node %q is no sealed value", document.Short(value.Node))
		}
	}
	return nil
}

// keepSealed keeps the values where they are the next version, and no node is there twice.
func keepSealed(tx *db.Tx, in api.SecretSetIn, nodes []inventory.Node, by string) error {
	if len(nodes) != len(in.Values) {
		return fault.New(fault.Invalid, "a node is there twice")
	}
	next, err := inventorystore.NextVersion(tx, in.Module, in.Secret)
	if err != nil {
		return err
	}
	if in.Version != next {
		return fault.New(fault.Conflict, "somebody has set the secret %q of %q meanwhile: the next version is %d, and this is %d", in.Secret, in.Module, next, in.Version).
			With("set it again, if yours is the right one")
	}
	now := clock.Now()
	for i, value := range in.Values {
		s := inventory.Secret{Node: nodes[i].ID, Module: in.Module, Name: in.Secret, Version: in.Version, Sealed: value.Sealed, By: by, At: now}
		if err := inventorystore.SetSecret(tx, s, value.Recipient); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) answerSecretRemove(ctx context.Context, _ api.Who, in api.SecretRemoveIn) (api.SecretSetOut, error) {
	out := api.SecretSetOut{Module: in.Module, Secret: in.Secret, Nodes: []string{}}
	var gone []inventory.Node
	err := c.write(ctx, func(tx *db.Tx) error {
		var nodes []inventory.Node
		err := c.within(tx, func(v *view) (err error) {
			if _, err = v.module(in.Module); err == nil {
				nodes, err = v.named(in.Nodes, v.ids)
			}
			return err
		})
		if err == nil {
			gone, err = removeSealed(tx, in, nodes)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	out.Nodes = c.nudged(gone)
	return out, nil
}

// removeSealed forgets a secret on these nodes, and is those that had a value.
func removeSealed(tx *db.Tx, in api.SecretRemoveIn, nodes []inventory.Node) (gone []inventory.Node, err error) {
	for _, n := range nodes {
		had, err := inventorystore.RemoveSecret(tx, n.ID, in.Module, in.Secret)
		if err != nil {
			return nil, err
		}
		if had {
			gone = append(gone, n)
		}
	}
	if len(gone) == 0 {
		return nil, fault.New(fault.NotFound, "the secret %q of %q has no value there", document.Short(in.Secret), in.Module).With("mesh secret list %s says which have", in.Module)
	}
	return gone, nil
}
