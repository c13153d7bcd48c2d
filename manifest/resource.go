package manifest

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"noxmesh/declaration"
	"noxmesh/document"
)

// thing is a resource of either form, as its rules see it.
type thing struct {
	id, kind, path string
	has            map[string]bool // which of the fields that depend on the type are there
	must           []string        // see fields
	mode           string
	content        *string
	target         string
	after          []string
	traits         *declaration.Traits
}

// withTraits adds what the traits say to what is there.
func (t thing) withTraits() thing {
	for _, key := range t.traits.Keys() {
		t.has[key] = true
	}
	return t
}

// things checks the resources one by one, and that none is there twice.
func (c *checker) things(things []thing) {
	ids, paths := map[string]int{}, map[string]int{}
	for i, t := range things {
		at := document.At("resources", i)
		c.name(at+".id", t.id, "the id of a resource")
		if first, ok := ids[t.id]; ok {
			c.Fault(at+".id", "want an id of its own", "%s is called %q as well", document.At("resources", first), document.Short(t.id))
		} else {
			ids[t.id] = i
		}
		if first, ok := paths[t.path]; ok && t.path != "" {
			c.Fault(at+".path", "want one resource for each path", "%s has the path %q as well", document.At("resources", first), document.Short(t.path))
		} else {
			paths[t.path] = i
		}
		c.thing(at, t)
		c.after(at+".after", t.after, things[:i])
		if t.traits != nil {
			c.after(at+".restart_on", t.traits.RestartOn, things[:i])
		}
	}
	c.below(things, paths)
	c.subjects(things)
}

// after checks that what a resource waits for comes before it.
func (c *checker) after(path string, after []string, before []thing) {
	if !c.once(path, after) {
		return
	}
	for i, id := range after {
		if !slices.ContainsFunc(before, func(t thing) bool { return t.id == id }) {
			c.Fault(document.At(path, i), "want the id of a resource earlier in the list", "%q is not one", document.Short(id))
		}
	}
}

// subjects refuses two resources that are about the same user, group or service.
func (c *checker) subjects(things []thing) {
	first := map[string]int{}
	for i, t := range things {
		r := declaration.Resource{Type: declaration.Type(t.kind), Traits: t.traits}
		if r.Type.IsFile() || r.Type.Asks() || t.traits == nil || t.path != "" { // what is at a path is looked at with its path
			continue
		}
		subject := r.Subject()
		if n, ok := first[subject]; ok {
			c.Fault(document.At("resources", i), "want one resource for each", "%s is about %q as well", document.At("resources", n), document.Short(subject))
		} else {
			first[subject] = i
		}
	}
}

// below refuses what would lie below a file or a link.
func (c *checker) below(things []thing, paths map[string]int) {
	for i, t := range things {
		for dir := path.Dir(t.path); dir != "/" && dir != "."; dir = path.Dir(dir) {
			over, ok := paths[dir]
			if ok && (things[over].kind == typeFile || things[over].kind == typeLink) {
				c.Fault(document.At("resources", i)+".path", "want a path that no file or link is on the way to", "%q lies below %q, and %s is a %s",
					document.Short(t.path), document.Short(dir), document.At("resources", over), things[over].kind)
			}
			if ok && things[over].traits != nil && things[over].traits.Swap {
				c.Fault(document.At("resources", i)+".path", "want a path elsewhere, or no swap", "%q lies in %q, and %s, which is swapped, would take it away",
					document.Short(t.path), document.Short(dir), document.At("resources", over))
			}
		}
	}
}

func (c *checker) thing(at string, t thing) {
	if t.path != "" {
		c.absolute(at+".path", t.path)
		if t.kind == string(declaration.Mount) {
			c.mountPoint(at+".path", t.path)
		}
	}
	if !slices.Contains(resourceTypes(), t.kind) {
		want := "want " + strings.Join(resourceTypes(), ", ")
		c.Fault(at+".type", document.Nearest(t.kind, resourceTypes(), want), "%q is not the type of a resource", document.Short(t.kind))
		return
	}
	c.belong(at, t)
	if flaw, ok := declaration.ModeFlaw(declaration.Type(t.kind), t.mode); ok {
		c.Fault(at+".mode", flaw.Want, "%s", flaw.What)
	}
	if t.content != nil {
		c.content(at+".content", *t.content)
		c.secretMode(at, t)
	}
	if t.target != "" {
		c.target(at+".target", t.target)
	}
	c.traits(at, t)
}

// standIn is a value with something in the places of its names, so that what stands
// beside them can be judged.
func standIn(key, text string, of declaration.Type) string {
	instead := "xx"
	switch {
	case key == "version", key == "http", key == "tcp", strings.HasPrefix(key, "ports["):
		instead = "1"
	case key == "name" && of == declaration.Sysctl:
		instead = "x.x"
	}
	whole := placeholders(text, instead)
	if whole == instead { // nothing stands beside them
		switch key {
		case "http":
			return "http://1"
		case "tcp":
			return "1:1"
		case "file":
			return "/xx"
		}
	}
	return whole
}

// mountPoint refuses a path that what is the host's own lies below.
func (c *checker) mountPoint(path, text string) {
	if declaration.CoversReserved(placeholders(text, "x")) {
		c.Fault(path, "want a path of its own, as /srv/data", "what is the host's own lies below %q", document.Short(text))
	}
}

// traits checks the values of what is no file, with whatever stands in the places of its names.
func (c *checker) traits(at string, t thing) {
	filled, err := t.traits.Fill(func(key, text string) (string, error) {
		c.template(at+"."+key, text)
		return standIn(key, text, declaration.Type(t.kind)), nil
	})
	if err != nil {
		return
	}
	for _, flaw := range filled.Flaws(declaration.Type(t.kind)) {
		c.Fault(at+"."+flaw.Key, flaw.Want, "%s", flaw.What)
	}
}

// belong checks that the fields that are there belong to the type, and that
// those that it needs are there.
func (c *checker) belong(at string, t thing) {
	f := fieldsOf(t.kind)
	belongs := slices.Clone(f.may)
	for _, must := range t.must {
		choices := strings.Split(must, "|")
		belongs = append(belongs, choices...)
		there := slices.DeleteFunc(slices.Clone(choices), func(name string) bool { return !t.has[name] })
		switch {
		case len(there) == 0:
			c.Fault(at, "add it", "a resource of type %s needs %s", t.kind, strings.Join(choices, " or "))
		case len(there) > 1:
			c.FaultKey(document.Join(at, there[1]), "want exactly one of them", "there is %s as well", there[0])
		}
	}
	for _, name := range fieldNames() {
		if t.has[name] && !slices.Contains(belongs, name) {
			c.FaultKey(document.Join(at, name), "take it out", "%s does not belong to a resource of type %s", name, t.kind)
		}
	}
}

func fieldNames() []string {
	return []string{
		"path", "mode", "content", "from", "target", "artifact", "digest", "size", "name", "gid", "uid", "group", "groups", "home", "shell", "owner", "swap", "unit", "state", "enabled", "restart_on", "version", "conffiles",
		"value", "source", "fstype", "options", "http", "status", "tcp", "dns", "file", "image", "command", "env", "ports", "volumes", "user",
	}
}

func (c *checker) content(path, content string) {
	if len(content) > ContentLimit {
		c.Fault(path, "want at most "+strconv.Itoa(ContentLimit)+"; put it in a file and name that in from", "%d bytes", len(content))
		return
	}
	c.filled = true
	c.template(path, content)
	c.filled = false
}

func (c *checker) target(path, target string) {
	if _, ok := c.template(path, target); !ok {
		return
	}
	if why := document.BadName(target); why != "" {
		c.Fault(path, "want where the link leads to", "the target %s", why)
	}
}
