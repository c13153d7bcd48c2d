package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/identity"
	"noxmesh/internal/disk"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// A login is a line of a few hundred bytes.
const loginLimit = 64 << 10

func (s *shell) login() *cobra.Command {
	c := &cobra.Command{
		Use:   "login LOGIN",
		Short: "Keep a login for a controller on another machine",
		Long: `Keep a login for a controller on another machine, in ~/.config/mesh/login, once
that controller has taken it. Whoever runs the controller makes it with "mesh
login add NAME". On the controller's own machine none is needed. With "-" the
login is read from standard input, so that it stands in no list of processes.`,
		Example: `  mesh login add anna --role viewer    on the controller's machine
  mesh login mesh-login-1.…            on anna's
  mesh login - < login.txt`,
		Args:              arguments(1, 1),
		ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := s.loginText(args[0])
			if err != nil {
				return err
			}
			return s.tryLogin(c.Context(), text)
		},
	}
	c.AddCommand(s.loginAdd())
	return printing[api.VersionOut](c)
}

func (s *shell) loginText(given string) (string, error) {
	if given != "-" {
		return given, nil
	}
	text, err := io.ReadAll(io.LimitReader(s.Stdin, loginLimit))
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, err, "read the login from standard input")
	}
	return strings.TrimSpace(string(text)), nil
}

// tryLogin keeps a login that its controller takes.
func (s *shell) tryLogin(ctx context.Context, text string) error {
	l, err := identity.ParseLogin(text)
	if err != nil {
		return err
	}
	out, err := api.Do(ctx, api.OverTLS(l), api.Version(), api.Nothing{})
	if err != nil {
		return fault.Add(err, "try the login")
	}
	if err := s.keepLogin(text); err != nil {
		return err
	}
	s.show(out, func() { s.out.Note("the login for mesh %s at %s is kept in %s", out.Mesh, l.URL, s.loginPath()) })
	return nil
}

func (s *shell) keepLogin(text string) error {
	path := s.loginPath()
	dir := filepath.Dir(path)
	err := effect.Do("cli.folder.make", func() error { return os.MkdirAll(dir, 0o700) })
	if err != nil {
		return fault.Wrap(fault.Unavailable, disk.Why(err, dir), "keep the login: make the folder %q", dir)
	}
	return disk.Write(path, []byte(text+"\n"))
}

func (s *shell) loginAdd() *cobra.Command {
	role := string(identity.Viewer)
	c := &cobra.Command{
		Use:               "add NAME",
		Short:             "Make a login for a person, shown once",
		Long:              "Make a login for a person, shown once. A viewer asks; an operator also decides.",
		Example:           "  mesh login add anna --role operator",
		Args:              arguments(1, 1),
		ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.LoginAdd(), api.LoginAddIn{Name: args[0], Role: role})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.out.Note("on %s's machine: mesh login LOGIN", out.Name)
				s.line("%s", out.Login)
			})
			return nil
		},
	}
	c.Flags().StringVar(&role, "role", role, "viewer or operator")
	s.completes(c, "role", oneOf("viewer", "operator"))
	return printing[api.LoginOut](c)
}
