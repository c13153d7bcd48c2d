package controller

import (
	"context"
	"slices"
	"time"

	mesh "noxmesh"
	"noxmesh/api"
	"noxmesh/declaration"
	"noxmesh/identity"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
	"noxmesh/plan"
)

// tokenLives is how long a token is good for where nobody says otherwise: long
// enough to walk to a machine, short enough to be worthless tomorrow.
const tokenLives = time.Hour

func (c *Controller) answerNodeAdd(ctx context.Context, who api.Who, in api.NodeAddIn) (api.TokenOut, error) {
	if !mesh.ValidNodeName(in.Node) {
		return api.TokenOut{}, fault.New(fault.Invalid, "%q is not a node's name", in.Node).With("a host name in lower case, at most 63 characters")
	}
	lives := tokenLives
	if in.Lives > 0 {
		lives = time.Duration(in.Lives) * time.Second
	}
	id := identity.NewID()
	return c.makeToken(ctx, identitystore.TokenRow{Kind: identity.KindNode, Target: id, Name: in.Node, MadeBy: who.Name}, lives,
		func(tx *db.Tx, row *identitystore.TokenRow, now time.Time) error {
			n, err := inventorystore.Node(tx, in.Node)
			switch {
			case fault.KindOf(err) == fault.NotFound:
				return inventorystore.AddNode(tx, inventorystore.NewNode{ID: id, Name: in.Node, By: who.Name, At: now})
			case err != nil:
				return err
			case !n.JoinedAt.IsZero() && n.Twins == "":
				return fault.New(fault.Conflict, "node %q has joined", in.Node).With("mesh node remove %s first, if another machine is to have the name", in.Node)
			}
			row.Target = n.ID // it has never joined, or has to join anew: one more token for it
			return nil
		})
}

// makeToken makes a token, with whatever else belongs into its transaction.
func (c *Controller) makeToken(ctx context.Context, row identitystore.TokenRow, lives time.Duration, also func(*db.Tx, *identitystore.TokenRow, time.Time) error) (api.TokenOut, error) {
	secret, now := identity.NewSecret(), clock.Now()
	row.ID, row.Hash, row.MadeAt, row.Expires = identity.NewID(), identity.HashSecret(secret), now, now.Add(lives)
	err := c.write(ctx, func(tx *db.Tx) error {
		if err := also(tx, &row, now); err != nil {
			return err
		}
		return identitystore.AddToken(tx, row)
	})
	if err != nil {
		return api.TokenOut{}, err
	}
	token := identity.Token{URL: c.at.API, CA: c.keys.ca.Fingerprint(), Root: c.keys.root, Mesh: c.mesh, ID: row.ID, Secret: secret}
	text, err := token.Text()
	return api.TokenOut{ID: row.Target, Name: row.Name, Token: text, Expires: row.Expires}, err
}

func (c *Controller) answerNodes(ctx context.Context, _ api.Who, _ api.Nothing) (api.NodesOut, error) {
	out := api.NodesOut{Nodes: []api.NodeOut{}}
	err := c.with(ctx, func(v *view) error {
		for _, n := range v.inOrder() {
			one, err := c.nodeOut(v, n)
			if err != nil {
				return err
			}
			out.Nodes = append(out.Nodes, one)
		}
		return nil
	})
	return out, err
}

func (c *Controller) nodeOut(v *view, n *nodeView) (api.NodeOut, error) {
	s, err := c.nodeStatus(v, n)
	return api.NodeOut{Node: s, AddedAt: n.AddedAt, JoinedAt: n.JoinedAt}, err
}

func (c *Controller) answerNode(ctx context.Context, _ api.Who, in api.NodeIn) (api.NodeShowOut, error) {
	out := api.NodeShowOut{Assigned: []api.Assigned{}, Resources: []api.Resource{}}
	err := c.with(ctx, func(v *view) error {
		n, err := v.node(in.Node)
		if err != nil {
			return err
		}
		if out.NodeOut, err = c.nodeOut(v, n); err == nil {
			showNode(n, &out)
			out.Ahead = c.heard.last(n.ID).ahead.Milliseconds()
		}
		return err
	})
	return out, err
}

// showNode adds what only mesh node show says.
func showNode(n *nodeView, out *api.NodeShowOut) {
	for _, a := range n.assigned {
		out.Assigned = append(out.Assigned, api.Assigned{Module: a.Module, Settings: a.Settings})
	}
	if n.Accepted != (declaration.Tuple{}) {
		out.Accepted = tupleWords(n.Accepted)
	}
	if n.Applied != (declaration.Tuple{}) {
		out.Applied = tupleWords(n.Applied)
	}
	if n.Report != nil {
		out.Facts, out.Boot = n.Report.Facts, n.Report.Boot
		for _, r := range n.Report.Resources {
			out.Resources = append(out.Resources, api.Resource{Resource: r.ID, State: string(r.State), Error: r.Error, Found: r.Found})
		}
	}
}

func (c *Controller) answerNodeRemove(ctx context.Context, _ api.Who, in api.NodeIn) (api.Nothing, error) {
	n, err := c.nodeNow(ctx, in.Node)
	if err != nil {
		return api.Nothing{}, err
	}
	err = c.write(ctx, func(tx *db.Tx) error {
		if err := forgetNotes(tx, n.ID); err != nil {
			return err
		}
		return inventorystore.RemoveNode(tx, n.ID, clock.Now())
	})
	if err != nil {
		return api.Nothing{}, err
	}
	c.outbox.forget(n.ID)
	c.conduct.forget(n.ID)
	if n.Nats == "" {
		return api.Nothing{}, nil
	}
	return api.Nothing{}, c.broker.Revoke(link.Nodes, n.Nats)
}

func (c *Controller) answerAssign(ctx context.Context, who api.Who, in api.AssignIn) (api.AssignOut, error) {
	return c.changeAssignment(ctx, in.Node, in.Module, func(tx *db.Tx, n inventory.Node) error {
		a := mesh.Assignment{Module: in.Module, Node: n.ID, Settings: in.Settings}
		if err := c.within(tx, func(v *view) error { return v.mayAssign(a) }); err != nil {
			return err
		}
		return inventorystore.Assign(tx, a, who.Name, clock.Now())
	})
}

// answerUnassign takes an assignment back. What no longer belongs on the node
// is no longer declared there either: to bring it back is a new decision.
func (c *Controller) answerUnassign(ctx context.Context, _ api.Who, in api.UnassignIn) (api.AssignOut, error) {
	return c.changeAssignment(ctx, in.Node, in.Module, func(tx *db.Tx, n inventory.Node) error {
		var leaves []declaredOn
		err := c.within(tx, func(v *view) error {
			leaves = v.leavesWithout(n.ID, in.Module)
			return nil
		})
		if err != nil {
			return err
		}
		if err := inventorystore.Unassign(tx, in.Module, n.ID); err != nil {
			return err
		}
		return undeclare(tx, leaves)
	})
}

func (c *Controller) changeAssignment(ctx context.Context, node, module string, change func(*db.Tx, inventory.Node) error) (api.AssignOut, error) {
	var n inventory.Node
	var had []string
	err := c.with(ctx, func(v *view) error {
		is, err := v.node(node)
		if err != nil {
			return err
		}
		n, had = is.Node, is.belong
		_, err = v.module(module)
		return err
	})
	if err != nil {
		return api.AssignOut{}, err
	}
	if err := c.write(ctx, func(tx *db.Tx) error { return change(tx, n) }); err != nil {
		return api.AssignOut{}, err
	}
	out := api.AssignOut{Node: n.ID, Name: n.Name, Modules: []string{}, Undeclared: []string{}, LeftOut: []plan.Reason{}}
	err = c.with(ctx, func(v *view) error {
		is, err := v.node(n.ID)
		if err == nil {
			err = assigned(v, is, &out)
		}
		return err
	})
	c.declares.Nudge(n.ID)
	for _, m := range slices.Concat(had, out.Modules) { // where one is new or has left, its module is to be compared
		if slices.Contains(had, m) != slices.Contains(out.Modules, m) {
			c.builds.Nudge(m)
		}
	}
	return out, err
}

// assigned says what belongs on the node now, and what of it is not to be had yet.
func assigned(v *view, n *nodeView, out *api.AssignOut) error {
	w, err := v.inShort(n)
	if err != nil {
		return err
	}
	out.Modules = append(out.Modules, n.belong...)
	for _, r := range w.leftOut {
		if m := v.modules[r.Module]; m != nil && m.known && m.source.Commit == "" {
			r.Why = "its source has not been read yet"
		}
		if r.Why != plan.NotDeclared {
			out.LeftOut = append(out.LeftOut, r)
		}
	}
	for _, m := range out.Modules {
		if n.declared[m] == "" {
			out.Undeclared = append(out.Undeclared, m)
		}
	}
	return nil
}

func (c *Controller) answerBuilderAdd(ctx context.Context, who api.Who, in api.BuilderIn) (api.TokenOut, error) {
	if !mesh.ValidNodeName(in.Builder) {
		return api.TokenOut{}, fault.New(fault.Invalid, "%q is not a builder's name", in.Builder).With("a host name in lower case, at most 63 characters")
	}
	row := identitystore.TokenRow{Kind: identity.KindBuilder, Target: identity.NewID(), Name: in.Builder, MadeBy: who.Name}
	return c.makeToken(ctx, row, tokenLives, func(*db.Tx, *identitystore.TokenRow, time.Time) error { return nil })
}

func (c *Controller) answerBuilders(ctx context.Context, _ api.Who, _ api.Nothing) (api.BuildersOut, error) {
	out := api.BuildersOut{Builders: []api.BuilderOut{}}
	err := c.db.Read(ctx, func(tx *db.Tx) error {
		rows, err := identitystore.Builders(tx)
		for _, b := range rows {
			out.Builders = append(out.Builders, api.BuilderOut{
				Builder: b.ID, Name: b.Name, Version: b.Version, Platform: b.Platform, Sandbox: b.Sandbox, Unwell: b.Unwell, Lacks: b.Lacks, LastSeen: b.LastSeen,
			})
		}
		return err
	})
	return out, err
}

func (c *Controller) answerBuilderRemove(ctx context.Context, _ api.Who, in api.BuilderIn) (api.Nothing, error) {
	var b identitystore.BuilderRow
	err := c.write(ctx, func(tx *db.Tx) (err error) {
		if b, err = identitystore.Builder(tx, in.Builder); err != nil {
			return err
		}
		return identitystore.RemoveBuilder(tx, b.ID, clock.Now())
	})
	if err != nil {
		return api.Nothing{}, err
	}
	return api.Nothing{}, c.broker.Revoke(link.Builders, b.Nats)
}

func (c *Controller) answerLoginAdd(ctx context.Context, _ api.Who, in api.LoginAddIn) (api.LoginOut, error) {
	role, err := identity.ParseRole(in.Role)
	if err != nil {
		return api.LoginOut{}, err
	}
	secret := identity.NewSecret()
	row := identitystore.LoginRow{ID: identity.NewID(), Name: in.Name, Role: role, Hash: identity.HashSecret(secret), MadeAt: clock.Now()}
	if err := c.write(ctx, func(tx *db.Tx) error { return identitystore.AddLogin(tx, row) }); err != nil {
		return api.LoginOut{}, err
	}
	login := identity.Login{URL: c.at.API, CA: c.keys.ca.Fingerprint(), ID: row.ID, Secret: secret}
	text, err := login.Text()
	return api.LoginOut{Name: in.Name, Role: string(role), Login: text}, err
}

// answerJoin makes a node or a builder part of the mesh. The token is the
// permission, and is used up in the transaction that records the keys.
func (c *Controller) answerJoin(ctx context.Context, _ api.Who, in api.JoinIn) (api.JoinOut, error) {
	secret, now := identity.NewSecret(), clock.Now()
	var t identitystore.TokenRow
	var revoked string
	err := c.write(ctx, func(tx *db.Tx) (err error) {
		t, revoked, err = join(tx, in, secret, now)
		return err
	})
	if err != nil {
		return api.JoinOut{}, err
	}
	if revoked != "" && revoked != in.Nats {
		if err := c.broker.Revoke(link.Nodes, revoked); err != nil {
			return api.JoinOut{}, err
		}
		c.conduct.forget(t.Target)
	}
	side, ok := t.Kind.Side()
	if !ok {
		return api.JoinOut{}, fault.New(fault.Broken, "a token for %q", t.Kind)
	}
	jwt, err := c.broker.UserJWT(side, t.Target, in.Nats)
	if err != nil {
		return api.JoinOut{}, err
	}
	c.log.Info("joined", "kind", t.Kind, "id", t.Target, "name", t.Name)
	return api.JoinOut{
		Format: identity.Format, Mesh: c.mesh, ID: t.Target, Name: t.Name, CA: string(c.keys.ca.PEM()), Broker: c.at.Broker,
		JWT: jwt, Registry: c.at.Registry, RegistrySecret: secret.Reveal(), Keys: c.keys.document,
	}, nil
}

// join records who joins with which token, and is the key that it had before.
func join(tx *db.Tx, in api.JoinIn, secret identity.Secret, now time.Time) (t identitystore.TokenRow, revoked string, err error) {
	t, again, err := useToken(tx, in, now)
	if err != nil {
		return t, "", err
	}
	if err := identitystore.SetRegistrySecret(tx, t.Target, identity.HashSecret(secret)); err != nil || again {
		return t, "", err
	}
	if t.Kind == identity.KindBuilder {
		return t, "", identitystore.AddBuilder(tx, identitystore.BuilderRow{ID: t.Target, Name: t.Name, Sign: in.Sign, Nats: in.Nats, Version: in.Version, AddedAt: now})
	}
	was, err := inventorystore.Node(tx, t.Target)
	if err != nil {
		return t, "", err
	}
	return t, was.Nats, inventorystore.JoinNode(tx, inventorystore.Joining{ID: t.Target, Sign: in.Sign, Nats: in.Nats, Seal: in.Seal, Host: in.Version, Speaks: in.Speaks, At: now})
}

// useToken uses the token up. Again: whoever brings it has used it before, and
// has not been heard of since, so that the answer may never have come.
func useToken(tx *db.Tx, in api.JoinIn, now time.Time) (t identitystore.TokenRow, again bool, err error) {
	secret := identity.SecretFrom(in.Secret)
	t, err = identitystore.UseToken(tx, in.Token, identity.HashSecret(secret), now)
	if fault.KindOf(err) == fault.Denied {
		was, silent, e := usedBy(tx, in)
		if e != nil {
			return t, false, e
		}
		if silent && secret.Matches(was.Hash) && now.Before(was.Expires) {
			t, again, err = was, true, nil
		}
	}
	if err == nil && t.Kind != in.Kind {
		err = fault.New(fault.Denied, "the token is for a %s, not for a %s", t.Kind, in.Kind)
	}
	return t, again, err
}

// usedBy is the token, and whether who joined with it has these very keys and
// has never been heard of.
func usedBy(tx *db.Tx, in api.JoinIn) (t identitystore.TokenRow, silent bool, err error) {
	tokens, err := identitystore.Tokens(tx)
	if err != nil {
		return t, false, err
	}
	at := slices.IndexFunc(tokens, func(t identitystore.TokenRow) bool { return t.ID == in.Token })
	if at < 0 {
		return t, false, nil
	}
	t = tokens[at]
	if t.Kind == identity.KindBuilder {
		b, err := identitystore.Builder(tx, t.Target)
		return t, b.Sign == in.Sign && b.Nats == in.Nats && b.LastSeen.IsZero(), unlessMissing(err)
	}
	n, err := inventorystore.Node(tx, t.Target)
	return t, n.Sign == in.Sign && n.Nats == in.Nats && n.LastSeen.IsZero(), unlessMissing(err)
}

func unlessMissing(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}
