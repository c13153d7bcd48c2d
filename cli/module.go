package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/document"
	"noxmesh/internal/term"
	"noxmesh/status"
)

func (s *shell) module() *cobra.Command {
	return group("module", "The modules: what is delivered", s.moduleInit(), s.moduleCheck(), s.moduleAdd(), s.moduleList(), s.moduleShow(), s.moduleLook(), s.moduleHook(), s.moduleRemove())
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
				if out.Already {
					s.out.Note("module %s was known before, just so; its source is being looked at", out.Module)
					return
				}
				s.out.Note("module %s is known; its source is being looked at", out.Module)
				s.out.Hint("mesh status %s", out.Module)
			})
			return nil
		},
	}
	c.Flags().StringVar(&ref, "ref", "", "the `branch`, or a ref in full, as refs/tags/v1, or a whole commit; the repository's default branch where it is not given")
	c.Flags().StringVar(&folder, "dir", "", "the `folder` of the repository that the module is; its root where it is not given")
	s.completes(c, "ref", oneOf())
	s.completes(c, "dir", oneOf())
	return printing[api.ModuleOut](c)
}

// fullRef is a branch's name in full: people write "main". A whole commit is one.
func fullRef(ref string) string {
	if ref == "" || document.IsObjectID(ref) || strings.HasPrefix(ref, "refs/") {
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
	if e := m.Status.Environment; e != nil {
		s.line("  %s", term.Clean(e.Words()))
	}
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
	s.showEdges(m)
	s.showOn(m.Status, now, true)
	for _, w := range m.Writes {
		s.showWrite(w, now)
	}
}

// showEdges is what the module says of others and of the machine.
func (s *shell) showEdges(m api.ModuleShowOut) {
	for _, e := range []struct {
		verb, after string
		what        []string
	}{
		{"provides", "", m.Provides},
		{"provides", " for the whole mesh", m.Offers},
		{"requires", "", m.Requires},
		{"claims", "", m.Claims},
		{"needs the capability", "", m.Capabilities},
	} {
		if len(e.what) > 0 {
			s.line("  %s %s%s", e.verb, term.Clean(listed(e.what)), e.after)
		}
	}
	for _, in := range m.Instances {
		by := "no module grants that"
		if len(in.GrantedBy) > 0 {
			by = "granted by " + listed(in.GrantedBy)
		}
		s.line("  needs an instance of %s as %s, %s", term.Clean(in.Of), term.Clean(in.Name), term.Clean(by))
	}
	for _, g := range m.Grants {
		line := "grants " + g.Kind
		if len(g.Gives) > 0 {
			line += ", which gives " + listed(g.Gives)
		}
		if g.Says != "" {
			line += ": " + g.Says
		}
		s.words("  ", term.Clean(line))
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

func (s *shell) moduleLook() *cobra.Command {
	return printing[api.LookOut](&cobra.Command{
		Use:   "look MODULE",
		Short: "Look at a module's source now, and build again what was given up",
		Long: `Look at a module's source now. A build of it that failed, or that was withdrawn
because no builder brought it to an end, is asked for again at once.

Nothing has to be looked at by hand: sources are looked at all the time.`,
		Example:           "  mesh module look site",
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.ModuleLook(), api.LookIn{Module: args[0], Again: true})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.out.Note("the source of %s is being looked at", args[0])
				if out.Attempt > 0 {
					s.out.Note("its build is asked for again, attempt %d", out.Attempt)
				}
				s.out.Hint("mesh status %s", args[0])
			})
			return nil
		},
	})
}

func (s *shell) moduleHook() *cobra.Command {
	return printing[api.HookOut](&cobra.Command{
		Use:   "hook MODULE",
		Short: "Where a forge's webhook calls for a module",
		Long: `Where a forge's webhook calls for a module, and the secret that it signs with
(GitHub, GitLab, Gitea, Forgejo). One webhook is enough for all the modules of a
repository.

A webhook makes the mesh look sooner; without one, nothing is missed. The secret
may be left out: then the mesh looks all the same, and cannot say when a forge
is behind its own webhook.`,
		Example:           "  mesh module hook site",
		Args:              arguments(1, 1),
		ValidArgsFunction: each(s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.ModuleHook(), api.ModuleIn{Module: args[0]})
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.line("url    %s", out.URL)
				s.line("secret %s", out.Secret)
			})
			return nil
		},
	})
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
