package controller

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"noxmesh/api"
	"noxmesh/delivery/build"
	deliverystore "noxmesh/delivery/store"
	"noxmesh/identity"
	identitystore "noxmesh/identity/store"
	"noxmesh/internal/bus/broker"
	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/oci/registry"
	inventorystore "noxmesh/inventory/store"
	"noxmesh/link"
)

// handlers is the API, every row of the table answered.
func (c *Controller) handlers() *api.Server {
	s := api.NewServer(c.who, c.log)
	api.Handle(s, api.Version(), func(context.Context, api.Who, api.Nothing) (api.VersionOut, error) {
		return api.VersionOut{Version: c.cfg.Version, Mesh: c.mesh}, nil
	})
	api.Handle(s, api.Status(), c.answerStatus)
	api.Handle(s, api.Plans(), c.answerPlans)
	api.Handle(s, api.Push(), c.answerPush)
	api.Handle(s, api.ModuleAdd(), c.answerModuleAdd)
	api.Handle(s, api.Modules(), c.answerModules)
	api.Handle(s, api.ModuleShow(), c.answerModule)
	api.Handle(s, api.ModuleRemove(), c.answerModuleRemove)
	api.Handle(s, api.ModuleLook(), c.answerLook)
	api.Handle(s, api.ModuleHook(), c.answerModuleHook)
	api.Handle(s, api.ModulePolicy(), c.answerPolicy)
	api.Handle(s, api.Declare(), c.answerDeclare)
	api.Handle(s, api.NodeAdd(), c.answerNodeAdd)
	api.Handle(s, api.Nodes(), c.answerNodes)
	api.Handle(s, api.NodeShow(), c.answerNode)
	api.Handle(s, api.NodeRemove(), c.answerNodeRemove)
	api.Handle(s, api.NodeAllow(), c.answerNodeAllow)
	api.Handle(s, api.Assign(), c.answerAssign)
	api.Handle(s, api.Unassign(), c.answerUnassign)
	api.Handle(s, api.Builds(), c.answerBuilds)
	api.Handle(s, api.BuildShow(), c.answerBuild)
	api.Handle(s, api.BuildCheck(), c.answerCheck)
	api.Handle(s, api.Log(), c.answerLog)
	api.Handle(s, api.Provenance(), c.answerProvenance)
	api.Handle(s, api.BuildCancel(), c.answerCancel)
	api.Handle(s, api.Collect(), c.answerCollect)
	api.Handle(s, api.Graph(), c.answerGraph)
	api.Handle(s, api.Why(), c.answerWhy)
	api.Handle(s, api.Change(), c.answerChange)
	api.Handle(s, api.Owners(), c.answerOwners)
	api.Handle(s, api.Stales(), c.answerStale)
	api.Handle(s, api.BuilderAdd(), c.answerBuilderAdd)
	api.Handle(s, api.Builders(), c.answerBuilders)
	api.Handle(s, api.BuilderRemove(), c.answerBuilderRemove)
	api.Handle(s, api.LoginAdd(), c.answerLoginAdd)
	api.Handle(s, api.Join(), c.answerJoin)
	api.Handle(s, api.Hook(), c.answerHook)
	c.handleSecrets(s)
	return s
}

func (c *Controller) handleSecrets(s *api.Server) {
	api.Handle(s, api.Secrets(), c.answerSecrets)
	api.Handle(s, api.SecretRecipients(), c.answerSecretRecipients)
	api.Handle(s, api.SecretSet(), c.answerSecretSet)
	api.Handle(s, api.SecretRemove(), c.answerSecretRemove)
}

// socketUser marks a request that came over the unix socket: the file's
// permissions have said who may.
type socketUser struct{}

func asOperator(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), socketUser{}, true)))
	})
}

// who says who makes a request.
func (c *Controller) who(r *http.Request) (api.Who, error) {
	if r.Context().Value(socketUser{}) != nil {
		return api.Who{Name: "operator on this machine", Role: identity.Operator}, nil
	}
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	id, secret, colon := strings.Cut(text, ":")
	denied := fault.New(fault.Denied, "no valid login came with this").With("mesh login LOGIN keeps one; whoever runs the controller makes it with mesh login add NAME")
	if !ok || !colon {
		return api.Who{Name: "nobody"}, denied
	}
	var row identitystore.LoginRow
	err := c.db.Read(r.Context(), func(tx *db.Tx) (err error) {
		row, err = identitystore.Login(tx, id)
		return err
	})
	if fault.KindOf(err) == fault.NotFound || (err == nil && !identity.SecretFrom(secret).Matches(row.Hash)) {
		return api.Who{Name: "nobody"}, denied
	}
	return api.Who{Name: row.Name, Role: row.Role}, err
}

// listen opens the unix socket. One that a killed controller left behind is
// taken over; one that somebody answers on is not.
func (c *Controller) listen(ctx context.Context) error {
	path := c.cfg.SocketPath()
	if err := refuseRunning(ctx, path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fault.Wrap(fault.Unavailable, err, "remove the socket that a killed controller left")
	}
	var err error
	if c.edges.socket, err = net.Listen("unix", path); err != nil { //nolint:noctx // a unix socket is there at once
		return fault.Wrap(fault.Unavailable, err, "listen on %q", path)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return fault.Wrap(fault.Unavailable, err, "close %q to others", path)
	}
	return nil
}

// authorize decides who may do what in the registry. Nodes read, and whoever has
// an operator's login. A builder comes with a request that it holds open: it writes
// to the repository of that alone, and reads there and in those of the modules that
// it is built against.
func (c *Controller) authorize(ctx context.Context, a registry.Access) error {
	secret := identity.SecretFrom(a.Password)
	if a.User == ownUser && !a.Write && secret.Matches(identity.HashSecret(c.edges.own)) {
		return nil
	}
	return c.db.Read(ctx, func(tx *db.Tx) error {
		hash, err := identitystore.RegistrySecret(tx, a.User)
		switch {
		case fault.KindOf(err) == fault.NotFound && !a.Write:
			return authorizeOperator(tx, a.User, secret)
		case fault.KindOf(err) == fault.NotFound || err == nil && !secret.Matches(hash):
			return fault.New(fault.Denied, "no valid credential")
		case err != nil:
			return err
		}
		builder, err := isBuilder(tx, a.User)
		if err != nil || !builder && !a.Write || a.Repository == "" {
			return err
		}
		return authorizeBuilder(tx, a)
	})
}

// authorizeOperator lets a person who may see everything in with his login.
func authorizeOperator(tx *db.Tx, id string, secret identity.Secret) error {
	row, err := identitystore.Login(tx, id)
	if fault.KindOf(err) == fault.NotFound || err == nil && (!secret.Matches(row.Hash) || !identity.May(row.Role, identity.Operator)) {
		return fault.New(fault.Denied, "no valid credential")
	}
	return err
}

// authorizeBuilder lets a builder do what its open request wants done.
func authorizeBuilder(tx *db.Tx, a registry.Access) error {
	r, err := deliverystore.Request(tx, a.RequestID)
	if err != nil {
		return fault.New(fault.Denied, "%s %q: no open request", verbOf(a), a.Repository)
	}
	if r.Builder != a.User || r.State != deliverystore.Leased || clock.Now().After(r.Deadline) || !reaches(r.Request, a) {
		return fault.New(fault.Denied, "%s %q: request %s is not open to %s", verbOf(a), a.Repository, r.ID, a.User)
	}
	return nil
}

// isBuilder reports whether somebody with a credential is a builder, and no node.
func isBuilder(tx *db.Tx, id string) (bool, error) {
	b, err := identitystore.Builder(tx, id)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return b.ID == id, err
}

// reaches reports whether a request has to do with the repository in this way.
func reaches(r build.Request, a registry.Access) bool {
	against := func(l build.Laid) bool { return l.Module == a.Repository }
	return r.Target == a.Repository || !a.Write && slices.ContainsFunc(r.Laid, against)
}

func verbOf(a registry.Access) string {
	if a.Write {
		return "write to"
	}
	return "read"
}

// revoked is every key that was ever removed: the broker remembers nothing.
func (c *Controller) revoked(ctx context.Context) (out []broker.Revoked, err error) {
	err = c.db.Read(ctx, func(tx *db.Tx) error {
		nodes, err := inventorystore.RevokedKeys(tx)
		if err != nil {
			return err
		}
		builders, err := identitystore.RevokedKeys(tx)
		for _, k := range nodes {
			out = append(out, broker.Revoked{Side: link.Nodes, Public: k})
		}
		for _, k := range builders {
			out = append(out, broker.Revoked{Side: link.Builders, Public: k})
		}
		return err
	})
	return out, err
}

func (c *Controller) moduleNames(ctx context.Context) (names []string, err error) {
	err = c.with(ctx, func(v *view) error {
		names = slices.Clone(v.names)
		return nil
	})
	return names, err
}

func (c *Controller) nodeIDs(ctx context.Context) (ids []string, err error) {
	err = c.with(ctx, func(v *view) error {
		ids = slices.Clone(v.ids)
		return nil
	})
	return ids, err
}
