package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"noxmesh/declaration"
	"noxmesh/manifest"
)

// lack is what a node has not that a module needs; why is empty where it lacks nothing.
type lack struct {
	why  string
	host string // the version of mesh-host that keeps it, where another one may be why
}

// and is what is lacking with something else that is: a person can see to each
// without the other.
func (l lack) and(why string) lack {
	if l.why != "" && why != "" {
		why = "; " + why
	}
	l.why += why
	return l
}

// has reports whether the node has said that it has this capability.
func (c *compiler) has(capability string) bool {
	return c.facts.Can != nil && slices.Contains(*c.facts.Can, capability)
}

// keepsNone is that the host of the node does not keep such a thing. What this
// controller knows of a host of its own version keeps, whichever has it first.
func (c *compiler) keepsNone(k keeping) lack {
	never := "; one that keeps a folder and no machine never does"
	if k.capability == declaration.KeepsSecrets { // that one does
		never = ""
	}
	if why := cmp.Or(c.lacksRunner(k), c.lacksGround(k)); why != "" {
		return lack{why: why}
	}
	what := fmt.Sprintf("has %s, which the host of %s", k.what, c.facts.Node.Name)
	switch is, least := c.facts.Host, declaration.HostOf(c.facts.Version); {
	case is == "" || c.facts.Version == "":
		return lack{why: what + " does not keep: upgrade mesh-host there" + never}
	case declaration.SameRelease(is, c.facts.Version):
		return lack{why: fmt.Sprintf("%s does not keep, though mesh-host %s is as new as this controller%s", what, is, strings.Replace(never, "; ", ": ", 1))}
	default:
		return lack{fmt.Sprintf("%s (mesh-host %s) does not keep: upgrade it to %s, or later%s", what, is, least, never), least}
	}
}

// dnf is the capability of a node whose packages it keeps.
const dnf = "dnf"

// lacksGround is that there is nothing on the node that a host could keep it with,
// whatever its version.
func (c *compiler) lacksGround(k keeping) string {
	switch {
	case k.capability == declaration.Keeps(declaration.Package) && !c.has("apt") && !c.has(dnf):
		return fmt.Sprintf("has %s, and the host of %s sees neither apt nor dnf there", k.what, c.facts.Node.Name)
	case k.capability == dnf:
		return fmt.Sprintf("has %s, and the host of %s sees no dnf there", k.what, c.facts.Node.Name)
	case k.capability == declaration.Keeps(declaration.Service) && !c.has("systemd"):
		return fmt.Sprintf("has %s, and %s does not run systemd", k.what, c.facts.Node.Name)
	}
	return ""
}

// Outgrown reports whether the host of the node is too old for this build.
func (f Facts) Outgrown(b manifest.Built) bool {
	if f.Can == nil || f.Host == "" || declaration.SameRelease(f.Host, f.Version) {
		return false
	}
	c := compiler{facts: f}
	return c.lacksFor(b).host != ""
}

// stay puts in the place of what is declared what the node has, where its host is too
// old for the one and keeps the other; and is why, by module. All else goes on: among
// it may be the version of the host that keeps both.
func (c *compiler) stay() map[string]Reason {
	why := map[string]Reason{}
	for i, m := range c.facts.Modules {
		if m.Declared == nil || m.Before == nil || !c.had[m.Name] {
			continue
		}
		l := c.lacksFor(m.Declared.Manifest)
		if l.host == "" || c.lacksFor(m.Before.Manifest).why != "" {
			continue
		}
		if len(why) == 0 {
			c.facts.Modules = slices.Clone(c.facts.Modules)
		}
		c.facts.Modules[i].Declared = m.Before
		why[m.Name] = Reason{Module: m.Name, Why: l.why + "; what the node has of it stays until then", Host: l.host}
	}
	return why
}
