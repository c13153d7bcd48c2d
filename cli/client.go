package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"noxmesh/api"
	"noxmesh/identity"
	"noxmesh/internal/fault"
)

const machineSocket = "/var/lib/mesh-controller/controller.sock"

// client is whom to ask: the flag, the environment, the mesh dev of this
// folder, a kept login, and then the controller of this machine. What is
// nearer goes first: whoever tries something out in a folder does not mean the
// mesh that their login is for.
func (s *shell) client() (*api.Client, error) {
	named := s.controller
	if named == "" {
		named = s.Environ("MESH_CONTROLLER")
	}
	if named != "" {
		return api.OverSocket(named), nil
	}
	if path := filepath.Join(devFolder, "controller", "controller.sock"); exists(path) {
		return api.OverSocket(path), nil
	}
	text, err := os.ReadFile(s.loginPath())
	switch {
	case err == nil:
		l, err := identity.ParseLogin(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, fault.Add(err, "read the kept login in %q", s.loginPath())
		}
		return api.OverTLS(l), nil
	case !errors.Is(err, os.ErrNotExist):
		return nil, fault.Wrap(fault.Unavailable, err, "read the kept login")
	}
	if exists(machineSocket) {
		return api.OverSocket(machineSocket), nil
	}
	return nil, fault.New(fault.NotFound, "no controller on this machine, and no login is kept").
		With("\"mesh dev\" starts a whole mesh here; \"mesh login LOGIN\" keeps a login for another machine's")
}

func (s *shell) loginPath() string {
	base := s.Environ("XDG_CONFIG_HOME")
	if base == "" {
		base = filepath.Join(s.Environ("HOME"), ".config")
	}
	return filepath.Join(base, "mesh", "login")
}

// ask makes a call of the controller that this invocation is about.
func ask[In, Out any](ctx context.Context, s *shell, call api.Call[In, Out], in In) (out Out, err error) {
	c, err := s.client()
	if err != nil {
		return out, err
	}
	return api.Do(ctx, c, call, in)
}
