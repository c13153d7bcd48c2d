package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

// Config is what the program is told by the place that it runs in.
type Config struct {
	Version        string
	Stdin          io.Reader
	Stdout, Stderr *os.File
	Environ        func(string) string
	Self           string // the folder that the program's file is in, where its siblings are
}

// shell is one invocation: where to print, how, and whom to ask.
type shell struct {
	Config
	out        *term.Term
	format     string // "text" or "json"
	controller string
	bad        bool  // what was answered holds something unfit, failed or stuck
	late       bool  // it was waited for, and the time ran out
	failed     error // the result could not be written
}

// Run runs the program with these arguments and returns its exit status.
func Run(ctx context.Context, cfg Config, args []string) int {
	s := &shell{Config: cfg}
	s.out = term.Open("mesh", cfg.Stdout, cfg.Stderr, cfg.Environ)
	s.out.JSON = wantsJSON(args) // also for what is wrong with the arguments themselves
	root := s.root()             //nolint:contextcheck // a completion has the context of its command
	root.SetArgs(args)
	root.SetIn(cfg.Stdin)
	root.SetOut(cfg.Stdout)
	root.SetErr(cfg.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = s.failed
	}
	s.out.Done()
	switch {
	case err != nil && ctx.Err() != nil:
		return s.out.Fail(fault.New(fault.Unavailable, "interrupted before it was done"))
	case err != nil:
		return s.out.Fail(err)
	case s.late:
		return term.TimedOut
	case s.bad:
		return term.Unwell
	}
	return term.Answered
}

// wantsJSON reports whether the arguments ask for JSON, wherever in them.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	for i, a := range args {
		if (a == "-o" || a == "--output") && i+1 < len(args) && args[i+1] == "json" {
			return true
		}
		if a == "-ojson" || a == "-o=json" || a == "--output=json" {
			return true
		}
	}
	return false
}

func (s *shell) root() *cobra.Command {
	root := group("mesh", "Continuous delivery to a fleet of Linux machines, without a pipeline")
	root.Long = `mesh delivers changes to a fleet of Linux machines, and tells the truth about it.

Somebody commits. The machines that should run that change end up running it,
each one has read back that it does, and at any moment one question has an exact
answer: did my change go out? "mesh status" is that question.`
	root.Example = `  mesh dev              a whole mesh on this machine, to try it
  mesh status           did it go out?
  mesh declare site     make the nodes' declarations name the newest fit build`
	root.SilenceUsage, root.SilenceErrors = true, true
	root.PersistentPreRunE = s.check
	root.PersistentFlags().StringVarP(&s.format, "output", "o", "text", "how to print: text or json; of a graph dot or svg too")
	root.PersistentFlags().StringVar(&s.controller, "controller", "", "the controller's unix `socket`; otherwise $MESH_CONTROLLER, or the mesh dev of this folder, or a kept login, or the controller of this machine")
	s.completes(root, "output", func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return formsOf(c), cobra.ShellCompDirectiveNoFileComp
	})
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fault.Wrap(fault.Invalid, err, "%s", c.CommandPath()).With("%s --help shows its flags", c.CommandPath())
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { s.failed = errors.Join(s.failed, s.out.Printf("%s", helpOf(c))) })
	root.SetHelpCommand(s.help())
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddGroup(&cobra.Group{ID: "ask", Title: "Ask:"}, &cobra.Group{ID: "decide", Title: "Decide:"}, &cobra.Group{ID: "own", Title: "Look after it:"})
	for _, c := range []*cobra.Command{s.status(), s.plan(), s.graph(), s.why(), s.stale(), s.wait(), s.builds(), s.logs(), s.provenance(), s.schema()} {
		c.GroupID = "ask"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{s.module(), s.node(), s.assign(), s.unassign(), s.secret(), s.declare(), s.policy(), s.push(), s.build()} {
		c.GroupID = "decide"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{s.dev(), s.builder(), s.gc(), s.login(), s.version(), s.completion()} {
		c.GroupID = "own"
		root.AddCommand(c)
	}
	return root
}

func (s *shell) check(c *cobra.Command, _ []string) error {
	if forms := formsOf(c); !slices.Contains(forms, s.format) {
		return fault.New(fault.Invalid, "there is no output %q", document.Short(s.format)).With("-o %s", strings.Join(forms, " or -o "))
	}
	s.out.JSON = s.format == "json"
	return nil
}

// formsOf is the forms that a command can print in.
func formsOf(c *cobra.Command) []string {
	return append([]string{"text", "json"}, strings.Fields(c.Annotations[outputs])...)
}

// arguments is the check of a command's arguments, in the words of its usage.
func arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		_, takes, _ := strings.Cut(c.Use, " ")
		if takes == "" {
			takes = "no arguments"
		}
		return fault.New(fault.Invalid, "%s takes %s, and was given %s", c.CommandPath(), takes, counted(args)).
			With("%s --help shows how it is used", c.CommandPath())
	}
}

func counted(args []string) string {
	switch len(args) {
	case 0:
		return "nothing"
	case 1:
		return `"` + args[0] + `"`
	}
	return `"` + strings.Join(args, `" "`) + `"`
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return noCommand(c, args[0])
	}}
	c.AddCommand(commands...)
	return c
}

func noCommand(c *cobra.Command, given string) error {
	e := fault.New(fault.Invalid, "%s has no command %q", c.CommandPath(), document.Short(given))
	if !c.HasParent() {
		e = fault.New(fault.Invalid, "there is no command %q", document.Short(given))
	}
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(given); len(near) > 0 {
		return e.With("did you mean %q?", near[0])
	}
	return e.With("%s --help lists its commands", c.CommandPath())
}
