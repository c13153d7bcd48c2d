package host

import (
	"context"
	"errors"
	"os"
	"strings"

	"noxmesh/host/keep"
	mesh "noxmesh/identity"
)

// Join lets this machine into the mesh that the token names. Its keys are made
// here and never leave. A join that was cut off can be tried again with the
// same token while it lasts, or with a new one.
func Join(ctx context.Context, cfg Config, text string) (_ keep.Joined, err error) {
	token, err := mesh.ParseToken(text)
	if err != nil {
		return keep.Joined{}, err
	}
	n, err := open(cfg)
	if err != nil {
		return keep.Joined{}, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.alone(); err != nil {
		return keep.Joined{}, err
	}
	k, err := keysFor(n.folder, token.ID)
	if err != nil {
		return keep.Joined{}, err
	}
	nats, err := k.nats.Public()
	if err != nil {
		return keep.Joined{}, err
	}
	a, err := mesh.Join(ctx, token, mesh.JoinRequest{
		Kind: mesh.KindNode, Name: machineName(), Sign: k.sign.Public(), Nats: nats,
		Seal: k.seal.Recipient(), Version: cfg.Version, Speaks: speaks(),
	})
	if err != nil {
		return keep.Joined{}, err
	}
	// What was accepted from another mesh is in another order; the record stays.
	if err := n.folder.DropAccepted(); err != nil {
		return keep.Joined{}, err
	}
	n.state.Applied, n.state.Facts = none, ""
	if err := n.saveState(); err != nil {
		return keep.Joined{}, err
	}
	j := keep.Joined{
		Mesh: a.Mesh, Node: a.ID, Name: a.Name, Root: token.Root, CA: a.CA, Broker: a.Broker,
		Registry: a.Registry, JWT: a.JWT, Secret: a.RegistrySecret, Keys: a.Keys,
	}
	return j, n.folder.SaveJoined(j)
}

// machineName is the machine's own name, in the form that the mesh takes.
func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return "node"
	}
	name = strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(name)), "-.")
	name = strings.TrimRight(name[:min(len(name), 63)], "-.")
	if name == "" {
		return "node"
	}
	return name
}
