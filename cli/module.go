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
		Long: `Add a module by where its source is. A module is one repository, or one folder
of one, with module.json at its root.

The repository is an https or ssh address. Plain http and folders of the
controller's machine are read only where the controller was told so
(--plain-host, --file-folder).`,
		Example: `  mesh module add site https://git.example.org/web/site.git
  mesh module add dotfiles git@git.example.org:me/home.git --ref laptop --dir dotfiles`,
		Args:              arguments(2, 2),
		ValidArgsFunction: each(),
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
	c.Flags().StringVar(&ref, "ref", "", "the `branch`, or a ref in full, as refs/tags/v1; the repository's default branch where it is not given")
	c.Flags().StringVar(&folder, "dir", "", "the `folder` of the repository that the module is; its root where it is not given")
	s.completes(c, "ref", oneOf())
	s.completes(c, "dir", oneOf())
	return printing[api.ModuleOut](c)
}

// fullRef is a branch's name in full: people write "main".
func fullRef(ref string) string {
	if ref == "" || strings.HasPrefix(ref, "refs/") {
		return ref
	}
	return "refs/heads/" + ref
}

func (s *shell) moduleList() *cobra.Command {
	return printing[api.ModulesOut](&cobra.Command{
		Use:   "list",
		Short: "List the modules",
		Args:  arguments(0, 0), ValidArgsFunction: each(),
		RunE: func(c *cobra.Command, _ []string) error {
			out, err := ask(c.Context(), s, api.Modules(), api.Nothing{})
			if err != nil {
				return err
			}
			s.show(out, func() {
				t := newTable("MODULE", "POLICY", "REPOSITORY", "REF", "FOLDER")
				for _, m := range out.Modules {
					t.row(m.Module, m.Policy, m.Repository, strings.TrimPrefix(m.Ref, "refs/heads/"), m.Folder)
				}
				s.table(t)
				if len(out.Modules) == 0 {
					s.out.Note("no modules yet")
					s.out.Hint("mesh module add NAME REPOSITORY")
				}
			})
			return nil
		},
	})
}

func (s *shell) moduleShow() *cobra.Command {
	return printing[api.ModuleShowOut](&cobra.Command{
		Use:               "show MODULE",
		Short:             "One module: its source, its edges and who declared what",
		Example:           "  mesh module show site",
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.ModuleShow(), api.ModuleIn{Module: args[0]})
			if err != nil {
				return err
			}
			s.bad = out.Status.Bad()
			s.show(out, func() { s.showModule(out, time.Now()) })
			return nil
		},
	})
}

func (s *shell) showModule(m api.ModuleShowOut, now time.Time) {
	s.line("%s %s", s.out.Paint(term.Strong, m.Module), s.lineColour(m.Status))
	s.showWaiting(m.Status, now)
	if m.Summary != "" {
		s.line("  %s", term.Clean(m.Summary))
	}
	place := m.Repository
	if m.Ref != "" {
		place += " " + strings.TrimPrefix(m.Ref, "refs/heads/")
	}
	if m.Folder != "" {
		place += ", folder " + m.Folder
	}
	s.line("  repository %s", term.Clean(place))
	s.line("  policy %s, added %s by %s", m.Policy, term.Ago(now.Sub(m.AddedAt)), term.Clean(m.AddedBy))
	if len(m.Provides) > 0 {
		s.line("  provides %s", term.Clean(listed(m.Provides)))
	}
	if len(m.Requires) > 0 {
		s.line("  requires %s", term.Clean(listed(m.Requires)))
	}
	s.showOn(m.Status, now, true)
	for _, w := range m.Writes {
		s.showWrite(w, now)
	}
}

// showWrite is one declare-write. A build that is no longer kept has no commit.
func (s *shell) showWrite(w api.Write, now time.Time) {
	what := status.ShortCommit(w.Commit)
	if what == "" {
		what = short(w.Build)
	}
	line := what + " declared on " + listed(w.Nodes) + " " + term.Ago(now.Sub(w.At)) + " by " + w.By
	if w.Why != "" {
		line += ": " + w.Why
	}
	s.words("  ", line)
}

func (s *shell) moduleRemove() *cobra.Command {
	return printing[api.Nothing](&cobra.Command{
		Use:               "remove MODULE",
		Short:             "Remove a module that belongs on no node",
		Long:              "Remove a module that belongs on no node. Its repository is not touched.",
		Example:           "  mesh module remove site",
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.ModuleRemove(), api.ModuleIn{Module: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() { s.out.Note("module %s is removed", args[0]) })
			return nil
		},
	})
}
