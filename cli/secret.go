package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
	"noxmesh/sealed"
)

func (s *shell) secret() *cobra.Command {
	return group("secret", "The secrets of modules: what a node alone can open", s.secretSet(), s.secretList(), s.secretRemove())
}

func (s *shell) secretSet() *cobra.Command {
	var nodes []string
	var exact bool
	c := &cobra.Command{
		Use:   "set MODULE SECRET",
		Short: "Give a secret its value, which is read from standard input",
		Long: `Give a secret of a module its value, on every node that the module belongs on
or on those that are named. It is read from standard input, and one newline at
its end is left out. It is sealed here, to the key of each node: the controller
keeps what it cannot open, and the node opens it in memory when it writes the
file. What the value is stands in no log, report or plan.

A node goes on with the value that it has until it is told of this one; which
one it has applied, "mesh secret list" says.`,
		Example: `  pass show board/db-url | mesh secret set board db-url
  mesh secret set board tls-key --node web1 --node web2 < tls.key
  read -rs x && printf %s "$x" | mesh secret set board db-url`,
		Args:              withoutValue,
		ValidArgsFunction: each(s.moduleNames(), s.secretNames()),
		RunE: func(c *cobra.Command, args []string) error {
			return s.setSecret(c.Context(), api.SecretRecipientsIn{Module: args[0], Secret: args[1], Nodes: nodes}, exact)
		},
	}
	c.Flags().StringArrayVar(&nodes, "node", nil, "only on this `NODE`; may be given more than once")
	c.Flags().BoolVar(&exact, "exact", false, "take the value as it comes, with a newline at its end")
	s.completes(c, "node", s.nodeNames())
	return printing[api.SecretSetOut](c)
}

// withoutValue is the check of the arguments, which repeats none of those that are too
// many: one may be the value.
func withoutValue(c *cobra.Command, args []string) error {
	if len(args) <= 2 {
		return arguments(2, 2)(c, args)
	}
	return fault.New(fault.Invalid, "%s takes MODULE SECRET, and reads the value from standard input", c.CommandPath()).
		With("a value among the arguments can be read by everybody on this machine: if that was one, give another")
}

// secretAttempts is how often a value is sealed anew where the secret was set or a
// node has joined again meanwhile.
const secretAttempts = 3

// setSecret asks first whom the value is for, so that a name that is wrong is said
// before anybody has given the value.
func (s *shell) setSecret(ctx context.Context, in api.SecretRecipientsIn, exact bool) error {
	to, err := ask(ctx, s, api.SecretRecipients(), in)
	if err != nil {
		return err
	}
	value, cut, err := s.value(exact)
	if err != nil {
		return err
	}
	defer clear(value)
	out, err := s.seal(ctx, to, value)
	for n := 1; fault.KindOf(err) == fault.Conflict && n < secretAttempts; n++ {
		if to, err = ask(ctx, s, api.SecretRecipients(), in); err == nil {
			out, err = s.seal(ctx, to, value)
		}
	}
	if err != nil {
		return err
	}
	out.Without = to.Without
	s.show(out, func() { s.showSet(out, cut) })
	return nil
}

// seal seals a value to each of these nodes, and gives what is sealed to the controller.
func (s *shell) seal(ctx context.Context, to api.SecretRecipientsOut, value []byte) (api.SecretSetOut, error) {
	in := api.SecretSetIn{Module: to.Module, Secret: to.Secret, Version: to.Version}
	for _, r := range to.Recipients {
		text, err := sealed.Seal(r.Recipient, sealed.Value{
			For: sealed.For{Mesh: to.Mesh, Node: r.Node, Module: to.Module, Name: to.Secret}, Version: to.Version, Value: value,
		})
		if err != nil {
			return api.SecretSetOut{}, fault.Add(err, "seal it to node %q", r.Name)
		}
		in.Values = append(in.Values, api.Sealed{Node: r.Node, Recipient: r.Recipient, Sealed: text})
	}
	return ask(ctx, s, api.SecretSet(), in)
}

// value is what comes on standard input, and whether a newline at its end was left out.
func (s *shell) value(exact bool) (value []byte, cut bool, err error) {
	if typed(s.Stdin) {
		return nil, false, fault.New(fault.Invalid, "the value is read from standard input, and that is a terminal, which would show it").
			With(`read -rs x && printf %%s "$x" | mesh secret set …, or mesh secret set … < FILE`)
	}
	value, err = io.ReadAll(io.LimitReader(s.Stdin, sealed.Limit+2))
	if err != nil {
		return nil, false, fault.Wrap(fault.Unavailable, err, "read the value from standard input")
	}
	if !exact {
		value, cut = bytes.CutSuffix(value, []byte("\n"))
	}
	switch {
	case len(value) == 0:
		return nil, false, fault.New(fault.Invalid, "nothing came on standard input: the value is empty").With("pass show board/db-url | mesh secret set board db-url")
	case len(value) > sealed.Limit:
		return nil, false, fault.New(fault.Invalid, "the value has more than %s", term.Bytes(sealed.Limit)).With("what is larger belongs into a file that the module fetches itself")
	}
	return value, cut, nil
}

// typed reports whether what comes there is typed by somebody.
func typed(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

func (s *shell) showSet(out api.SecretSetOut, cut bool) {
	s.out.Note("%s of %s has version %d, sealed to %s", out.Secret, out.Module, out.Version, listed(out.Nodes))
	if cut {
		s.out.Note("the newline at its end was left out; --exact takes it")
	}
	for _, n := range out.Without {
		s.out.Note("not sealed to %s: %s; give it the value when that is over", n.Name, n.Why)
	}
	s.out.Hint("mesh secret list %s says which nodes have applied it", out.Module)
}

func (s *shell) secretList() *cobra.Command {
	var node string
	c := &cobra.Command{
		Use:   "list [MODULE]",
		Short: "List the secrets, and which version each node has applied",
		Long: `List the secrets of modules on nodes: which version each has, who set it and
when, and which version the node has reported last to have in its files. Another
value is everywhere once they are the same. No value is shown: nobody but the
node can open it.`,
		Example: `  mesh secret list
  mesh secret list board --node web1`,
		Args:              arguments(0, 1),
		ValidArgsFunction: each(s.moduleNames()),
		RunE: func(c *cobra.Command, args []string) error {
			in := api.SecretsIn{Node: node}
			if len(args) > 0 {
				in.Module = args[0]
			}
			out, err := ask(c.Context(), s, api.Secrets(), in)
			if err != nil {
				return err
			}
			s.show(out, func() { s.showSecrets(out, time.Now()) })
			return nil
		},
	}
	c.Flags().StringVar(&node, "node", "", "only on this `NODE`")
	s.completes(c, "node", s.nodeNames())
	return printing[api.SecretsOut](c)
}

func (s *shell) showSecrets(out api.SecretsOut, now time.Time) {
	if len(out.Secrets) == 0 {
		s.out.Note("no module here has a secret in a file")
		return
	}
	t := newTable("MODULE", "SECRET", "NODE", "VERSION", "APPLIED", "SET")
	var lacks *api.SecretOut
	for i, one := range out.Secrets {
		version, set := "none", ""
		if one.Version > 0 {
			version, set = strconv.FormatInt(one.Version, 10), term.Ago(now.Sub(one.SetAt))+" by "+one.SetBy
		} else if lacks == nil {
			lacks = &out.Secrets[i]
		}
		t.row(one.Module, one.Secret, one.Name, version, appliedWords(one), set)
	}
	s.table(t)
	if lacks != nil {
		s.out.Hint("%s waits for its value on %s: mesh secret set %s %s --node %s", lacks.Secret, lacks.Name, lacks.Module, lacks.Secret, lacks.Name)
	}
}

// appliedWords is which version the node has reported, for people.
func appliedWords(one api.SecretOut) string {
	switch {
	case !one.Needed && one.Applied == 0:
		return "not needed"
	case one.Version == 0:
		return "no"
	case one.Applied == 0:
		return "not yet"
	case one.Applied != one.Version:
		return "still " + strconv.FormatInt(one.Applied, 10)
	}
	return "yes"
}

func (s *shell) secretRemove() *cobra.Command {
	var nodes []string
	c := &cobra.Command{
		Use:   "remove MODULE SECRET",
		Short: "Forget the value of a secret",
		Long: `Forget the value of a secret on every node, or on those that are named. What
stands in files on a node stays there; as long as the module needs the secret,
nothing new is declared to such a node.`,
		Example:           "  mesh secret remove board db-url --node web1",
		Args:              arguments(2, 2),
		ValidArgsFunction: each(s.moduleNames(), s.secretNames()),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := ask(c.Context(), s, api.SecretRemove(), api.SecretRemoveIn{Module: args[0], Secret: args[1], Nodes: nodes})
			if err != nil {
				return err
			}
			s.show(out, func() { s.out.Note("%s of %s has no value any more on %s", args[1], args[0], listed(out.Nodes)) })
			return nil
		},
	}
	c.Flags().StringArrayVar(&nodes, "node", nil, "only on this `NODE`; may be given more than once")
	s.completes(c, "node", s.nodeNames())
	return printing[api.SecretSetOut](c)
}

// secretNames offers the secrets of the module that was typed before.
func (s *shell) secretNames() completer {
	return func(c *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		return s.names(func(ctx context.Context) (names []string, err error) {
			out, err := ask(ctx, s, api.Secrets(), api.SecretsIn{Module: given[0]})
			for _, one := range out.Secrets { // sorted
				names = append(names, one.Secret)
			}
			return slices.Compact(names), err
		})(c, given, begun)
	}
}
