package declaration

import (
	"strings"

	"noxmesh/document"
	"noxmesh/internal/fault"
)

// CheckCommands is the folder of a node with the commands that checks may run. Who
// runs the node puts them there, and nobody else: nothing below it can be declared.
const CheckCommands = "/etc/mesh-host/checks"

// Command is what a resource runs: of a check the name of one of the node's own set,
// written as text; of a container a program and its words, written as a list.
type Command struct {
	Name  string
	Words []string
}

// IsZero reports whether it says nothing.
func (c Command) IsZero() bool { return c.Name == "" && len(c.Words) == 0 }

// MarshalJSON is c as it is written.
func (c Command) MarshalJSON() ([]byte, error) {
	if c.Name != "" {
		return document.Canonical(c.Name)
	}
	return document.Canonical(c.Words)
}

// UnmarshalJSON reads c in either form.
func (c *Command) UnmarshalJSON(b []byte) (err error) {
	*c = Command{}
	switch {
	case len(b) > 0 && b[0] == '"':
		c.Name, err = document.Decode[string]("command", b, Limits)
	case len(b) > 0 && b[0] == '[':
		c.Words, err = document.Decode[[]string]("command", b, Limits)
	default:
		err = fault.New(fault.Invalid, "there is neither a string nor a list").With(`want the name of a command of a check, as "raid", or the program and its words of a container, as ["serve", "--port", "80"]`)
	}
	return err
}

// command checks what a check or a container runs.
func (f *flaws) command(of Type, c Command) {
	switch {
	case of == Check && len(c.Words) > 0:
		*f = append(*f, Flaw{"command", `want its name alone, as "raid": what it is given stands in it`, "there is a list"})
	case of == Container && c.Name != "":
		*f = append(*f, Flaw{"command", `want the program and its words, as ["serve", "--port", "80"]`, "there is a string"})
	case c.Name != "" && (len(c.Name) > 63 || !strings.Contains(lowers+uppers+digits, c.Name[:1]) || strings.Trim(c.Name, lowers+uppers+digits+"_.-") != ""):
		f.add("command", "want the name of a file in "+CheckCommands+" of the machine, as raid: letters, digits, _, . and -, a letter or a digit first, at most 63", "is not the name of a command", c.Name)
	}
	if len(c.Words) > mostWords {
		*f = append(*f, Flaw{"command", "want at most " + number(mostWords), number(int64(len(c.Words))) + " words"})
	}
	for i, word := range c.Words {
		f.text(document.At("command", i), word)
	}
}
