package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// completeWithin is how long a person waits for a name who has pressed a key.
const completeWithin = time.Second

// completer offers words for an argument.
type completer = cobra.CompletionFunc

// oneOf offers these words.
func oneOf(words ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// each offers, for the first argument, what the first of them offers, and so
// on; for those behind the last, nothing.
func each(args ...completer) completer {
	return func(c *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(given) >= len(args) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return args[len(given)](c, given, begun)
	}
}

// names offers what the controller knows. Where it doesn't answer at once,
// nothing is offered, and nothing is said in the middle of somebody's typing.
func (s *shell) names(of func(ctx context.Context) ([]string, error)) completer {
	return func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), completeWithin)
		defer cancel()
		found, err := of(ctx)
		if err != nil {
			found = nil
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

func (s *shell) moduleNames() completer {
	return s.names(func(ctx context.Context) (names []string, err error) {
		out, err := ask(ctx, s, api.Modules(), api.Nothing{})
		for _, m := range out.Modules {
			names = append(names, m.Module)
		}
		return names, err
	})
}

func (s *shell) nodeNames() completer {
	return s.names(func(ctx context.Context) (names []string, err error) {
		out, err := ask(ctx, s, api.Nodes(), api.Nothing{})
		for _, n := range out.Nodes {
			names = append(names, n.Name)
		}
		return names, err
	})
}

func (s *shell) builderNames() completer {
	return s.names(func(ctx context.Context) (names []string, err error) {
		out, err := ask(ctx, s, api.Builders(), api.Nothing{})
		for _, b := range out.Builders {
			names = append(names, b.Name)
		}
		return names, err
	})
}

func (s *shell) buildIDs() completer {
	return s.names(func(ctx context.Context) (names []string, err error) {
		out, err := ask(ctx, s, api.Builds(), api.BuildsIn{Limit: 20})
		for _, b := range out.Builds {
			names = append(names, short(b.Request))
		}
		return names, err
	})
}

// both offers what either offers.
func both(one, other completer) completer {
	return func(c *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		a, _ := one(c, given, begun)
		b, _ := other(c, given, begun)
		return append(a, b...), cobra.ShellCompDirectiveNoFileComp
	}
}

// completes sets what a flag of c offers.
func (s *shell) completes(c *cobra.Command, flag string, offers completer) {
	s.failed = errors.Join(s.failed, c.RegisterFlagCompletionFunc(flag, offers))
}

func (s *shell) completion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "The script that makes a shell complete what is typed",
		Long: `Print the script that makes a shell complete commands, flags, and the names of
modules, nodes and builds, which it asks the controller for.`,
		Example: `  source <(mesh completion bash)
  mesh completion zsh > "${fpath[1]}/_mesh"
  mesh completion fish > ~/.config/fish/completions/mesh.fish`,
		Args:              arguments(1, 1),
		Annotations:       map[string]string{answers: "the script, as it is"},
		ValidArgsFunction: each(oneOf("bash", "zsh", "fish")),
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return c.Root().GenBashCompletionV2(s.Stdout, true)
			case "zsh":
				return c.Root().GenZshCompletion(s.Stdout)
			case "fish":
				return c.Root().GenFishCompletion(s.Stdout, true)
			}
			return fault.New(fault.Invalid, "no completion for %q", document.Short(args[0])).With("bash, zsh or fish")
		},
	}
}
