package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
	"noxmesh/status"
)

func (s *shell) module() *cobra.Command {
	return group("module", "The modules: what is delivered", s.moduleAdd(), s.moduleList(), s.moduleShow(), s.moduleRemove())
}

func (s *shell) moduleAdd() *cobra.Command {
	var ref, folder string
	c := &cobra.Command{
		Use:   "add NAME REPOSITORY",
		Short: "Add a module by where its source is",
		Long: `A module is one repository, or one folder of one, with module.json at its root.

The repository is an https or ssh address. Plain http and folders of the controller's machine are read only where the
controller was told so (--plain-host, --file-folder).
` + term.ExitHelp(),
		Example: "  mesh module add site https://git.example.org/web/site.git\n  mesh module add dotfiles git@git.example.org:me/home.git --ref refs/heads/laptop --dir dotfiles",
		Args:    arguments(2, 2),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.ModuleAdd(), api.ModuleAddIn{Module: args[0], Repository: args[1], Ref: fullRef(ref), Folder: folder})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.out.Note("module %s is known; its source is being looked at", out.Module)
				s.out.Hint("mesh status %s", out.Module)
			})
			return nil
		},
	}
	c.Flags().StringVar(&ref, "ref", "", "the `branch` or full ref; the repository's default branch where it is not given")
	c.Flags().StringVar(&folder, "dir", "", "the `folder` of the repository that the module is; its root where it is not given")
	return c
}

// fullRef is a branch's name in full: people write "main".
func fullRef(ref string) string {
	if ref == "" || strings.HasPrefix(ref, "refs/") {
		return ref
	}
	return "refs/heads/" + ref
}

func (s *shell) moduleList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the modules",
		Long:  "List the modules.\n\n" + term.ExitHelp(),
		Args:  arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := ask(c.Context(), s, api.Modules(), api.Nothing{})
			if err != nil {
				return err
			}
			s.show(out, func() {
				t := newTable("MODULE", "POLICY", "REPOSITORY", "REF", "FOLDER")
				for _, m := range out.Modules {
					t.row(m.Module, m.Policy, term.Clean(m.Repository), m.Ref, m.Folder)
				}
				s.table(t)
			})
			return nil
		},
	}
}

func (s *shell) moduleShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show MODULE",
		Short:   "One module: its source, its edges and who declared what",
		Long:    "One module: its source, its edges and who declared what.\n\n" + term.ExitHelp(),
		Example: "  mesh module show site",
		Args:    arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.ModuleShow(), api.ModuleIn{Module: args[0]})
			if err != nil {
				return err
			}
			s.bad = out.Status.Bad()
			s.show(out, func() { s.showModule(out) })
			return nil
		},
	}
}

func (s *shell) showModule(m api.ModuleShowOut) {
	now := time.Now()
	s.line("%s %s", s.out.Paint(term.Strong, m.Module), s.lineColour(m.Status))
	s.showWaiting(m.Status, now)
	if m.Summary != "" {
		s.line("  %s", term.Clean(m.Summary))
	}
	place := term.Clean(m.Repository)
	if m.Folder != "" {
		place += " folder " + m.Folder
	}
	s.line("  repository %s", place)
	s.line("  policy %s, added %s by %s", m.Policy, term.Ago(now.Sub(m.AddedAt)), m.AddedBy)
	if len(m.Provides) > 0 {
		s.line("  provides %s", joined(m.Provides))
	}
	if len(m.Requires) > 0 {
		s.line("  requires %s", joined(m.Requires))
	}
	s.showOn(m.Status, now, true)
	for _, w := range m.Writes {
		s.line("  %s declared on %s %s by %s %s", status.ShortCommit(w.Commit), joined(w.Nodes), term.Ago(now.Sub(w.At)), w.By, term.Clean(w.Why))
	}
}

func (s *shell) moduleRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove MODULE",
		Short: "Remove a module that belongs on no node",
		Long:  "Remove a module that belongs on no node. Its repository is not touched.\n\n" + term.ExitHelp(),
		Args:  arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.ModuleRemove(), api.ModuleIn{Module: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() { s.out.Note("module %s is removed", args[0]) })
			return nil
		},
	}
}
