package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

func (s *shell) assign() *cobra.Command {
	var set []string
	c := &cobra.Command{
		Use:   "assign MODULE NODE",
		Short: "Say that a module belongs on a node",
		Long: `Say that a module belongs on a node, with what it requires. Whoever can merge to
an assigned module is root on the node: assignment is the grant. Assigning is
not declaring: nothing changes on the node until a build is declared there.

Assigning again replaces the settings.`,
		Example: `  mesh assign site laptop
  mesh assign site laptop --set port=8081`,
		Args:              arguments(2, 2),
		ValidArgsFunction: each(s.moduleNames(), s.nodeNames()),
		RunE: func(c *cobra.Command, args []string) error {
			settings, err := parseSettings(set)
			if err != nil {
				return err
			}
			// What belonged there before tells what this brings. It only decides
			// the words: whatever is wrong with it, the order itself says better.
			before, _ := ask(c.Context(), s, api.NodeShow(), api.NodeIn{Node: args[1]})
			out, err := ask(c.Context(), s, api.Assign(), api.AssignIn{Module: args[0], Node: args[1], Settings: settings})
			if err != nil {
				return err
			}
			s.show(out, func() { s.showAssigned(args[0], before.Modules, out) })
			return nil
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "a setting as `NAME=VALUE`; may be given more than once")
	s.completes(c, "set", oneOf())
	return printing[api.AssignOut](c)
}

// showAssigned says what the assignment brings, and what is still to be decided.
func (s *shell) showAssigned(module string, before []string, out api.AssignOut) {
	s.out.Note("%s is assigned to %s", module, out.Name)
	for _, r := range out.LeftOut {
		s.out.Note("not there yet: %s: %s", r.Module, r.Why)
	}
	var brought []string
	for _, m := range out.Modules {
		if m != module && !slices.Contains(before, m) {
			brought = append(brought, m)
		}
	}
	if len(brought) > 0 {
		s.out.Note("with what it requires: %s", listed(brought))
	}
	for _, m := range out.Undeclared {
		if m == module || slices.Contains(brought, m) {
			s.out.Hint("%s is not declared on %s yet: mesh declare %s", m, out.Name, m)
		}
	}
}

func parseSettings(set []string) (map[string]string, error) {
	settings := map[string]string{}
	for _, one := range set {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, fault.New(fault.Invalid, "--set %q: want NAME=VALUE", document.Short(one))
		}
		if _, twice := settings[name]; twice {
			return nil, fault.New(fault.Invalid, "--set %q: %q is set twice", document.Short(one), document.Short(name))
		}
		settings[name] = value
	}
	return settings, nil
}

func (s *shell) unassign() *cobra.Command {
	return printing[api.AssignOut](&cobra.Command{
		Use:   "unassign MODULE NODE",
		Short: "Take an assignment back",
		Long: `Take an assignment back. What the module put on the node, and what only it
required, is removed from there.`,
		Example:           "  mesh unassign site laptop",
		Args:              arguments(2, 2),
		ValidArgsFunction: each(s.moduleNames(), s.nodeNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.Unassign(), api.UnassignIn{Module: args[0], Node: args[1]})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.out.Note("%s is no longer assigned to %s", args[0], out.Name)
				if len(out.Modules) > 0 {
					s.out.Note("what belongs there: %s", term.Clean(listed(out.Modules)))
				}
			})
			return nil
		},
	})
}
