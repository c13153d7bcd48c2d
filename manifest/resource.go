package manifest

import (
	"slices"
	"strconv"
	"strings"

	mesh "noxmesh"
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
}

// things checks the resources one by one, and that none is there twice.
func (c *checker) things(things []thing) {
	ids, paths := map[string]bool{}, map[string]bool{}
	for i, t := range things {
		at := document.At("resources", i)
		switch {
		case !mesh.ValidModuleName(t.id):
			c.Fault(at+".id", wantName, "%q is not the id of a resource", document.Short(t.id))
		case ids[t.id]:
			c.Fault(at+".id", "want an id of its own", "another resource is called %q", t.id)
		}
		if paths[t.path] {
			c.Fault(at+".path", "want one resource for each path", "another resource has the path %q", document.Short(t.path))
		}
		ids[t.id], paths[t.path] = true, true
		c.thing(at, t)
	}
}

func (c *checker) thing(at string, t thing) {
	c.absolute(at+".path", t.path)
	if !slices.Contains(resourceTypes(), t.kind) {
		want := "want " + strings.Join(resourceTypes(), ", ")
		if says, later := laterType(t.kind); later {
			c.Fault(at+".type", want, "%s", says)
		} else {
			c.Fault(at+".type", want, "%q is not the type of a resource", document.Short(t.kind))
		}
		return
	}
	c.belong(at, t)
	if t.mode != "" {
		c.mode(at+".mode", t.mode)
	}
	if t.content != nil {
		c.content(at+".content", *t.content)
	}
	if t.target != "" {
		c.target(at+".target", t.target)
	}
}

// belong checks that the fields that are there belong to the type, and that
// those that it needs are there.
func (c *checker) belong(at string, t thing) {
	f, _ := fieldsOf(t.kind)
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
	return []string{"mode", "content", "from", "target", "artifact", "digest", "size"}
}

func (c *checker) content(path, content string) {
	if len(content) > ContentLimit {
		c.Fault(path, "want at most "+strconv.Itoa(ContentLimit)+"; put it in a file and name that in from", "%d bytes", len(content))
		return
	}
	c.template(path, content)
}

func (c *checker) target(path, target string) {
	if _, ok := c.template(path, target); !ok {
		return
	}
	if why := document.BadName(target); why != "" {
		c.Fault(path, "want where the link leads to", "the target %s", why)
	}
}
