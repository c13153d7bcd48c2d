package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/identity"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

func (s *shell) login() *cobra.Command {
	c := &cobra.Command{
		Use:   "login LOGIN",
		Short: "Keep a login for a controller on another machine",
		Long: `Keep a login for a controller on another machine, in ~/.config/mesh/login. Whoever runs the controller makes it with
"mesh login add NAME". On the controller's own machine none is needed.
` + term.ExitHelp(),
		Example: "  mesh login add anna --role viewer    on the controller's machine\n  mesh login mesh-login-1.…            on anna's",
		Args:    arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := identity.ParseLogin(args[0]); err != nil {
				return err
			}
			if err := s.keepLogin(args[0]); err != nil {
				return err
			}
			s.show(api.Nothing{}, func() { s.out.Note("the login is kept in %s", s.loginPath()) })
			return nil
		},
	}
	c.AddCommand(s.loginAdd())
	return c
}

func (s *shell) keepLogin(text string) error {
	path := s.loginPath()
	err := effect.Do("cli.login.keep", func() error {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text+"\n"), 0o600)
	})
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "keep the login")
	}
	return nil
}

func (s *shell) loginAdd() *cobra.Command {
	role := string(identity.Viewer)
	c := &cobra.Command{
		Use:     "add NAME",
		Short:   "Make a login for a person, shown once",
		Long:    "Make a login for a person, shown once. A viewer asks; an operator also decides.\n\n" + term.ExitHelp(),
		Example: "  mesh login add anna --role operator",
		Args:    arguments(1, 1),
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
	return c
}

func (s *shell) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "The version of this program, and of the controller where one answers",
		Long:  "The version of this program, and of the controller where one answers.\n\n" + term.ExitHelp(),
		Args:  arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			v := versions{Mesh: s.Version}
			if out, err := ask(c.Context(), s, api.Version(), api.Nothing{}); err == nil {
				v.Controller, v.ID = out.Version, out.Mesh
			} else if fault.KindOf(err) != fault.NotFound && fault.KindOf(err) != fault.Unavailable {
				return err
			}
			s.show(v, func() {
				s.line("mesh %s", v.Mesh)
				if v.Controller != "" {
					s.line("controller %s of mesh %s", v.Controller, v.ID)
				}
			})
			return nil
		},
	}
}

type versions struct {
	Mesh       string `json:"mesh"`
	Controller string `json:"controller,omitempty"`
	ID         string `json:"id,omitempty"` // the mesh's
}
