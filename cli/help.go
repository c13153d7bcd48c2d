package cli

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/fault"
	"noxmesh/internal/term"
)

// helpWidth is how wide a help text is: what every terminal has room for.
const helpWidth = 79

// helpOf is a command's help text.
func helpOf(c *cobra.Command) string {
	c.InitDefaultHelpFlag() // not before it is run, otherwise
	var b strings.Builder
	part := func(head, text string) {
		if text = strings.TrimRight(text, "\n "); text != "" {
			fmt.Fprintf(&b, "\n%s\n%s\n", head, text)
		}
	}
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	fmt.Fprintf(&b, "%s\n", about)
	part("Usage:", usageOf(c))
	part("Examples:", c.Example)
	commandsOf(c, part)
	part("Flags:", flagsOf(c.LocalFlags()))
	part("Flags of every command:", flagsOf(c.InheritedFlags()))
	fmt.Fprintf(&b, "\n%s", term.ExitHelp())
	return b.String()
}

func usageOf(c *cobra.Command) string {
	use := ""
	if takesArguments(c) {
		use += "  " + c.UseLine() + "\n"
	}
	if c.HasAvailableSubCommands() {
		use += "  " + c.CommandPath() + " COMMAND\n"
	}
	return use
}

// takesArguments reports whether the command does something itself, and does
// not only hold others.
func takesArguments(c *cobra.Command) bool {
	return !c.HasSubCommands() || c.Annotations[answers] != ""
}

func commandsOf(c *cobra.Command, part func(head, text string)) {
	in := func(group string) string {
		text := ""
		for _, sub := range c.Commands() {
			if sub.GroupID == group && sub.IsAvailableCommand() {
				text += fmt.Sprintf("  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
		return text
	}
	for _, g := range c.Groups() {
		part(g.Title, in(g.ID))
	}
	part("Commands:", in(""))
}

// flags is what a help text needs of a set of them.
type flags interface {
	HasAvailableFlags() bool
	FlagUsagesWrapped(columns int) string
}

func flagsOf(f flags) string {
	if !f.HasAvailableFlags() {
		return ""
	}
	return f.FlagUsagesWrapped(helpWidth)
}

// help is the command that shows another's help.
func (s *shell) help() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "What a command does and how it is used", GroupID: "own",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil {
				return fault.Wrap(fault.Invalid, err, "find the command")
			}
			if len(rest) > 0 && about.HasSubCommands() {
				return noCommand(about, rest[0])
			}
			return about.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if about, _, err := c.Root().Find(args); err == nil {
				for _, sub := range about.Commands() {
					names = append(names, sub.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// answers is the annotation of a command that says what -o json prints: the
// name of a schema in the description of the API, or words.
const answers = "json"

// printing notes that with -o json the command prints a T.
func printing[T any](c *cobra.Command) *cobra.Command {
	c.Annotations = map[string]string{answers: api.SchemaName(reflect.TypeFor[T]())}
	return c
}
