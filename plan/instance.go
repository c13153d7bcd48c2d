package plan

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"noxmesh/declaration"
	"noxmesh/manifest"
)

// kinds is the kinds of which a module needs an instance here.
func kinds(m Module) iter.Seq[string] {
	b, _ := m.counts()
	return func(yield func(string) bool) {
		for _, in := range b.Instances {
			if !yield(in.Of) {
				return
			}
		}
	}
}

// needs is the instances that stand against a module: all of them, as long as
// this version makes none. A module is never half of it declared.
func (c *compiler) needs(name string) string {
	b, _ := c.modules[name].counts()
	var whys []string
	for _, instance := range slices.Sorted(maps.Keys(b.Instances)) {
		in := b.Instances[instance]
		why := c.grants(in, b.Asked()[instance], c.chosen(name, b))
		whys = append(whys, fmt.Sprintf("needs an instance of %s, %s", in.Of, why))
	}
	return strings.Join(whys, "; ")
}

// chosen is the values that an instance may choose from, as far as they are known.
func (c *compiler) chosen(name string, b manifest.Built) map[string]manifest.Value {
	out, err := manifest.Chosen(b.Settings, c.values(name, b).of)
	if err != nil {
		return nil // the settings are told of elsewhere
	}
	return out
}

// grants is which module makes this instance, or why none does.
func (c *compiler) grants(in manifest.Instance, asked []string, known map[string]manifest.Value) string {
	by := GrantedBy(c.facts.Modules, in.Of)
	switch len(by) {
	case 0:
		return "and no module grants that"
	case 1:
	default:
		return fmt.Sprintf("and %s grant that", strings.Join(by, " and "))
	}
	b, _ := c.modules[by[0]].counts()
	g := b.Grants[in.Of]
	if why := g.Takes(in.With, known); why != "" {
		return fmt.Sprintf("which %s grants, and its %s", by[0], why)
	}
	for _, value := range asked {
		if !slices.Contains(g.Gives, value) {
			return fmt.Sprintf("which %s grants, and that gives no %q", by[0], value)
		}
	}
	return fmt.Sprintf("which %s grants; this version makes no instances yet", by[0])
}

// GrantedBy is the modules that grant a kind, in the order of their names.
func GrantedBy(modules []Module, kind string) []string {
	var by []string
	for _, m := range modules {
		b, _ := m.counts()
		if _, grants := b.Grants[kind]; grants {
			by = append(by, m.Name)
		}
	}
	slices.Sort(by)
	return slices.Compact(by)
}

// lacks is the capabilities that a module needs and the node has said it does
// not have; empty where there are none, or where it has not said. What the
// module's resources are is one of them each: an older host does not know them
// all, and would refuse the whole declaration.
func (c *compiler) lacks(name string) lack {
	b, _ := c.modules[name].counts()
	return c.lacksFor(b)
}

func (c *compiler) lacksFor(b manifest.Built) lack {
	if c.facts.Can == nil {
		return lack{}
	}
	for _, k := range kept(b) {
		if !c.has(k.capability) {
			return c.keepsNone(k)
		}
	}
	var missing []string
	for _, capability := range b.Capabilities {
		if !c.has(capability) {
			missing = append(missing, fmt.Sprintf("%q", capability))
		}
	}
	if len(missing) == 0 {
		return lack{}
	}
	slices.Sort(missing)
	has := "reports none"
	if can := *c.facts.Can; len(can) > 0 {
		has = "reports " + strings.Join(can, ", ")
	}
	return lack{why: fmt.Sprintf("needs the capability %s, and the node %s", strings.Join(missing, " and "), has)}
}

// lacksRunner is that a node has nothing that runs containers. One that has docker has
// an older host, or docker's daemon and no command.
func (c *compiler) lacksRunner(k keeping) string {
	switch {
	case k.capability != declaration.Keeps(declaration.Container) || c.has("podman"):
		return ""
	case c.has("docker") && c.facts.Host != "" && declaration.SameRelease(c.facts.Host, c.facts.Version):
		return "has " + k.what + ", and the node has docker's daemon without the docker command: require a module that has a resource of type package with the name docker-cli"
	case c.has("docker"):
		return ""
	}
	return "has " + k.what + ", and the node has neither podman nor docker: require a module that has a resource of type package with the name podman"
}

// keeping is what only some hosts keep: the capability of those that do, and what
// it is.
type keeping struct{ capability, what string }

// kept is that of a module's resources, each once: those that are no files, and what
// not every host knows of those that are.
func kept(b manifest.Built) []keeping {
	var all []keeping
	for _, r := range b.Resources {
		for _, k := range keptOf(r) {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	return all
}

func keptOf(r manifest.BuiltResource) (all []keeping) {
	t := declaration.Type(r.Type)
	_, known := declaration.FieldsOf(t)
	if known && !t.IsFile() {
		all = append(all, keeping{declaration.Keeps(t), "a resource of type " + r.Type})
	}
	if t == declaration.Package && r.Traits != nil && !strings.Contains(r.Name+r.Version, "${") && r.OnlyRPM() {
		all = append(all, keeping{dnf, strings.TrimSpace("a package that only rpm can have, " + r.Name + " " + r.Version)})
	}
	if declaration.SaysWhose(t, r.Mode, r.Traits) {
		all = append(all, keeping{declaration.KeepsOwner, "a resource with an owner, a group, or a mode above 0777"})
	}
	if r.Traits != nil && r.Swap {
		all = append(all, keeping{declaration.KeepsSwap, "an archive that is swapped"})
	}
	if t == declaration.Check && r.Traits != nil && !r.Command.IsZero() {
		all = append(all, keeping{declaration.KeepsCheckCommand, "a check that runs a command"})
	}
	if len(r.Secrets()) > 0 {
		all = append(all, keeping{declaration.KeepsSecrets, "a file with a secret in it"})
	}
	return all
}

// cannotDo is lacks, and that a node on which the module would be new has not
// said what it can.
func (c *compiler) cannotDo(name string) lack {
	if c.facts.Can != nil || c.had[name] {
		return c.lacks(name)
	}
	b, _ := c.modules[name].counts()
	if len(b.Capabilities) > 0 {
		c.plan.Unheard = true
		return lack{why: fmt.Sprintf("needs the capability %q, and the node has not reported yet which it has", b.Capabilities[0])}
	}
	if all := kept(b); len(all) > 0 {
		c.plan.Unheard = true
		return lack{why: fmt.Sprintf("has %s, and the node has not reported yet which its host keeps", all[0].what)}
	}
	return lack{}
}
