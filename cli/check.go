package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/cli/folder"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/manifest"
)

func (s *shell) moduleCheck() *cobra.Command {
	return printing[folder.Checked](&cobra.Command{
		Use:   "check [DIR]",
		Short: "Check a module's folder before it is committed",
		Long: `Check a module's folder before it is committed: whether module.json is read, and
whether the files that it names are there. No controller is needed, so that it can
run where there is none: a hook of git, a forge's CI. What is wrong is said with
file, line and column; the exit status is 3 then, and 0 where nothing is.

It shows what the code owns, which is what others write to import it, and what the
code asks for: where another module owns that, it is an edge, and the module is
built against it. Which module that is the mesh says; where none is logged in to,
or it does not answer, that is not known, and everything else is checked all the
same. A file that cannot be read as its language is wrong.

What a command of the build would leave behind is not looked for.`,
		Example: `  mesh module check
  mesh module check services/board -o json`,
		Args:              arguments(0, 1),
		ValidArgsFunction: each(folders),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := folder.Check(dirOf(args), folder.Code)
			if err != nil {
				return err
			}
			s.owners(c.Context(), &out)
			s.bad = !out.Good
			s.show(out, func() {
				for _, p := range out.Problems {
					s.line("%s", term.Clean(p.String()))
				}
				if out.Good {
					s.line("%s: module %s is good", term.Clean(out.File), term.Clean(out.Module))
				}
				if out.In != nil {
					s.showNames("built in", []folder.Name{*out.In})
				}
				s.showNames("owns", out.Owns)
				s.showNames("asks for", out.Asks)
				s.showOwners(out)
			})
			return nil
		},
	})
}

// showNames is a line for each name, with its place.
func (s *shell) showNames(verb string, names []folder.Name) {
	for _, n := range names {
		only := ""
		if n.Test {
			only = ", only its tests"
		}
		owner := ""
		if n.Owner != "" {
			owner = " — module " + n.Owner + ", edge"
		}
		s.line("  %-8s  %-10s  %s  (%s%s)%s", verb, n.Language, term.Clean(n.Name), term.Clean(n.String()), only, owner)
	}
}

// ownersLimit is how long the mesh is asked who owns what: everything else is
// known without it.
const ownersLimit = 10 * time.Second

// owners asks the mesh who owns what the code asks for. That it does not say so
// is said, and nothing is wrong for it.
func (s *shell) owners(ctx context.Context, out *folder.Checked) {
	if out.Module == "" {
		out.Owners.Why = "module.json is refused"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ownersLimit)
	defer cancel()
	in := api.OwnersIn{Module: out.Module, Owns: asksOf(out.Owns), Asks: asksOf(out.Asks)}
	if out.In != nil && out.In.OfMesh() {
		in.Asks = append(in.Asks, asksOf([]folder.Name{*out.In})...)
	}
	said, err := ask(ctx, s, api.Owners(), in)
	if err != nil {
		out.Owners.Why = err.Error()
		return
	}
	out.Owners = folder.Owners{Known: true, Against: said.Against}
	owner := map[[2]string]string{}
	for _, e := range said.Edges {
		for _, f := range e.For {
			owner[[2]string{f.Language, f.Name}] = e.To
		}
	}
	if out.In != nil {
		out.In.Owner = owner[[2]string{out.In.Language, out.In.Name}]
	}
	for i, n := range out.Asks {
		out.Asks[i].Owner = owner[[2]string{n.Language, cmp.Or(n.Path(), n.Name)}]
	}
}

func asksOf(names []folder.Name) []api.Ask {
	all := make([]api.Ask, 0, len(names))
	for _, n := range names {
		a := api.Ask{Language: n.Language, Name: n.Name, Path: n.Path(), Test: n.Test, File: n.File, Line: n.Line}
		if a.Path != "" {
			a.Name = ""
		}
		all = append(all, a)
	}
	return all
}

func (s *shell) showOwners(out folder.Checked) {
	for _, why := range out.Owners.Against {
		s.words("  "+s.out.Paint(term.Bad, "stands against it:")+" ", term.Clean(why))
	}
	if !out.Owners.Known && (len(out.Asks) > 0 || out.In != nil && out.In.OfMesh()) {
		s.words("  which modules own that is not known: ", term.Clean(out.Owners.Why))
	}
}

func (s *shell) moduleInit() *cobra.Command {
	name := ""
	c := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write the smallest right module.json for a folder",
		Long: `Look at a folder and write the smallest module.json that is right for it, and say
what was chosen and why. The module is named after the folder. A module.json that
is there is never written over.

It takes the units of systemd, a Go program that can be built without network, and
a folder of pages with an index.html. Whatever else is to go out is for a person
to say.`,
		Example: `  mesh module init
  mesh module init services/board --name meshboard`,
		Args:              arguments(0, 1),
		ValidArgsFunction: each(folders),
		RunE: func(_ *cobra.Command, args []string) error {
			out, err := folder.Draft(dirOf(args), name)
			if err == nil {
				err = writeNew(out.File, []byte(out.Text))
			}
			if err != nil {
				return err
			}
			s.show(out, func() {
				s.out.Note("%s is written", out.File)
				for _, why := range out.Why {
					s.out.Note("%s", why)
				}
				for _, why := range out.Left {
					s.out.Note("left out: %s", why)
				}
				s.out.Hint("mesh module check %s", dirOf(args))
			})
			return nil
		},
	}
	c.Flags().StringVar(&name, "name", "", "the `name` of the module; that of the folder where it is not given")
	s.completes(c, "name", oneOf())
	return printing[folder.Drafted](c)
}

// writeNew writes a file that is not there yet, whole or not at all.
func writeNew(file string, text []byte) error {
	err := effect.Do("cli.manifest.write", func() error {
		f, err := os.CreateTemp(filepath.Dir(file), ".module.json-*")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name()) //nolint:errcheck // the file has its own name by then
		_, err = f.Write(text)
		if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
			return err
		}
		return os.Link(f.Name(), file) // a rename would write over what has come meanwhile
	})
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Conflict, "there is a %s in %q already", manifest.Name, filepath.Dir(file))
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "write %q", file)
	}
	return nil
}

// dirOf is the folder that a command was given, or the one that it is typed in.
func dirOf(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// folders lets the shell complete the names of folders.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
