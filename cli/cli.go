package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/identity"
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
	root := s.root()
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
	case err != nil:
		return s.out.Fail(err)
	case s.late:
		return term.TimedOut
	case s.bad:
		return term.Unwell
	}
	return term.Answered
}

func (s *shell) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mesh",
		Short: "Continuous delivery to a fleet of Linux machines, without a pipeline",
		Long: `mesh delivers changes to a fleet of Linux machines, and tells the truth about it.

Somebody commits. The machines that should run that change end up running it, each one has read back that it does,
and at any moment one question has an exact answer: did my change go out? "mesh status" is that question.`,
		Example:           "  mesh dev                       a whole mesh on this machine, to try it\n  mesh status                    did it go out?\n  mesh declare site              make the nodes' declarations name the newest fit build",
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: s.check,
	}
	root.PersistentFlags().StringVarP(&s.format, "output", "o", "text", "how to print: text or json")
	root.PersistentFlags().StringVar(&s.controller, "controller", "", "the controller's unix `socket`; else $MESH_CONTROLLER, a kept login, mesh dev in this folder, or the one on this machine")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fault.Wrap(fault.Invalid, err, "%s", c.CommandPath()).With("%s --help shows its flags", c.CommandPath())
	})
	root.AddGroup(&cobra.Group{ID: "ask", Title: "Ask:"}, &cobra.Group{ID: "decide", Title: "Decide:"}, &cobra.Group{ID: "own", Title: "Look after it:"})
	for _, c := range []*cobra.Command{s.status(), s.plan(), s.wait(), s.builds(), s.logs()} {
		c.GroupID = "ask"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{s.module(), s.node(), s.assign(), s.unassign(), s.declare(), s.policy(), s.push()} {
		c.GroupID = "decide"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{s.dev(), s.builder(), s.login(), s.version()} {
		c.GroupID = "own"
		root.AddCommand(c)
	}
	return root
}

func (s *shell) check(*cobra.Command, []string) error {
	if s.format != "text" && s.format != "json" {
		given := s.format
		s.format = "text"
		return fault.New(fault.Invalid, "-o %s: want text or json", given)
	}
	s.out.JSON = s.format == "json"
	return nil
}

// arguments is the check of a command's arguments, in the words of its usage.
func arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return fault.New(fault.Invalid, "%s: %d arguments", c.CommandPath(), len(args)).With("usage: %s", c.UseLine())
	}
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, RunE: func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return fault.New(fault.Invalid, "%s has no command %q", c.CommandPath(), args[0]).With("%s --help lists its commands", c.CommandPath())
	}}
	c.AddCommand(commands...)
	return c
}

// client is whom to ask: the flag, the environment, a kept login, mesh dev in
// this folder, and then the controller of this machine.
func (s *shell) client() (*api.Client, error) {
	named := s.controller
	if named == "" {
		named = s.Environ("MESH_CONTROLLER")
	}
	if named != "" {
		return api.OverSocket(named), nil
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
	for _, path := range []string{filepath.Join(devFolder, "controller", "controller.sock"), machineSocket} {
		if _, err := os.Stat(path); err == nil {
			return api.OverSocket(path), nil
		}
	}
	return nil, fault.New(fault.NotFound, "no controller on this machine, and no login is kept").
		With("\"mesh dev\" starts a whole mesh here; \"mesh login LOGIN\" keeps a login for another machine's")
}

const machineSocket = "/var/lib/mesh-controller/controller.sock"

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

// show prints v as JSON where that was asked for, and otherwise calls text.
func (s *shell) show(v any, text func()) {
	if !s.out.JSON {
		text()
		return
	}
	s.failed = errors.Join(s.failed, s.out.Result(v))
}

// line writes one line of a result. What came from elsewhere has been cleaned.
func (s *shell) line(format string, args ...any) {
	s.failed = errors.Join(s.failed, s.out.Printf(format+"\n", args...))
}

func (s *shell) table(t *table) { s.failed = errors.Join(s.failed, s.out.Table(t.Table)) }

// table is a table whose last column is prose where its head is empty.
type table struct{ term.Table }

func newTable(heads ...string) *table {
	t := &table{}
	for _, h := range heads {
		t.Columns = append(t.Columns, term.Column{Head: h, Prose: h == "" || h == "MODULES" || h == "SANDBOX" || h == "RECEIPT"})
	}
	return t
}

func (t *table) row(cells ...string) {
	row := make([]term.Cell, 0, len(cells))
	for _, c := range cells {
		row = append(row, term.Text(c))
	}
	t.Row(row...)
}
