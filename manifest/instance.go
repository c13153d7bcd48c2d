package manifest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// Instance is one thing that another module makes for this one: a database, a
// route. In with, ${settings.NAME}, ${node.name} and ${node.id} are substituted;
// a value that is nothing but a setting has the setting's type.
type Instance struct {
	Of   string           `json:"of"` // the kind, as a module grants it
	With map[string]Value `json:"with,omitempty"`
}

// Grant is one kind of thing that the module makes for others.
type Grant struct {
	Says  string             `json:"says,omitempty"`
	With  map[string]Setting `json:"with,omitempty"`  // what the one that needs it may choose
	Gives []string           `json:"gives,omitempty"` // the names of the values that come back: ${instances.NAME.VALUE}
}

// FillValue is v with the values of settings and node in the places of their
// names, by "settings.port". Text that is nothing but one of them is that value,
// of its own type; anything around it makes it a string.
func FillValue(v Value, values map[string]Value) (Value, error) {
	if v.Type() != StringSetting {
		return v, nil
	}
	texts := make(map[string]string, len(values))
	for name, value := range values {
		texts[name] = value.Text()
	}
	filled, err := Fill(v.Text(), texts)
	if err != nil {
		return Value{}, err
	}
	if names, _ := Names(v.Text()); len(names) == 1 && v.Text() == "${"+names[0]+"}" { // Fill has read it
		return values[names[0]], nil
	}
	return StringValue(filled), nil
}

// Takes says what stands against an instance that chooses these values, of
// which the templates are filled; empty where nothing does. A value that is not
// known yet is not looked at.
func (g Grant) Takes(chosen map[string]Value, known map[string]Value) string {
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		s, there := g.With[name]
		if !there {
			return "with has " + strconv.Quote(name) + ", which it does not take"
		}
		v, err := FillValue(chosen[name], known)
		if err == nil && v.Type() != s.Type && s.Type != StringSetting {
			return "with says " + strconv.Quote(name) + " is " + article(v.Type()) + " " + v.Type() + ", want " + article(s.Type) + " " + s.Type
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.With)) {
		if _, there := chosen[name]; !there && g.With[name].Default == nil {
			return "with leaves out " + strconv.Quote(name) + ", which has no default"
		}
	}
	return ""
}

// Asked is the values that the templates of a manifest name of each instance, by
// its name.
func (b Built) Asked() map[string][]string {
	out := map[string][]string{}
	note := func(template string) {
		names, err := Names(template)
		if err != nil {
			return // the decoder refuses it
		}
		for _, name := range names {
			if instance, value, is := instanceOf(name); is && !slices.Contains(out[instance], value) {
				out[instance] = append(out[instance], value)
			}
		}
	}
	for _, claim := range b.Claims {
		note(claim)
	}
	for _, r := range b.Resources {
		note(r.Path)
		note(r.Target)
		if r.Content != nil {
			note(*r.Content)
		}
	}
	for _, values := range out {
		slices.Sort(values)
	}
	return out
}

// instanceOf takes "instances.db.url" apart.
func instanceOf(name string) (instance, value string, is bool) {
	rest, is := strings.CutPrefix(name, "instances.")
	instance, value, dotted := strings.Cut(rest, ".")
	return instance, value, is && dotted && mesh.ValidModuleName(value)
}

// handedBack reports whether a name is that of a value of one of the instances.
// Which values there are only the module that grants it says.
func (c *checker) handedBack(name string) bool {
	instance, _, is := instanceOf(name)
	_, there := c.instances[instance]
	return is && there
}

// alsoInstances is what may be named of the instances, for people.
func (c *checker) alsoInstances() string {
	if len(c.instances) == 0 {
		return ""
	}
	return " and instances." + list(slices.Sorted(maps.Keys(c.instances))[:1]) + ".VALUE"
}

// nearestInstance is what somebody may have meant who named a value of no
// instance, or empty.
func (c *checker) nearestInstance(name string) string {
	rest, is := strings.CutPrefix(name, "instances.")
	instance, value, _ := strings.Cut(rest, ".")
	if !is || len(c.instances) > nearLimit {
		return ""
	}
	if c.within {
		return "an instance names nothing of another"
	}
	if _, there := c.instances[instance]; there {
		return "want the instance and a value of it, as ${instances." + document.Short(instance) + ".url}"
	}
	known := slices.Sorted(maps.Keys(c.instances))
	if len(known) == 0 {
		return `say under instances what it is, as {"db": {"of": "postgres-database"}}`
	}
	near := document.Nearest(instance, known, "")
	if near == "" {
		return "the instances are " + list(known)
	}
	for _, k := range known { // the whole name reads better
		if near == "did you mean "+strconv.Quote(k)+"?" && value != "" {
			return "did you mean " + strconv.Quote("instances."+k+"."+document.Short(value)) + "?"
		}
	}
	return near
}

// needs checks the instances.
func (c *checker) needs(m common) {
	if !c.few("instances", len(m.instances)) {
		return
	}
	inner := &checker{Reading: c.Reading, names: c.names, sorted: c.sorted, within: true}
	for _, name := range slices.Sorted(maps.Keys(m.instances)) {
		path, in := document.Join("instances", name), m.instances[name]
		if !mesh.ValidModuleName(name) {
			c.FaultKey(path, wantName, "%+q is not the name of an instance", document.Short(name))
		}
		c.name(document.Join(path, "of"), in.Of, "the kind of an instance")
		if _, itself := m.grants[in.Of]; itself {
			c.Fault(document.Join(path, "of"), "take it out here or there", "the module grants %q itself", document.Short(in.Of))
		}
		for _, key := range slices.Sorted(maps.Keys(in.With)) {
			inner.with(document.Join(document.Join(path, "with"), key), key, in.With[key])
		}
	}
}

// with checks one value that an instance chooses.
func (c *checker) with(path, key string, v Value) {
	if !settingName.MatchString(key) {
		c.FaultKey(path, "want lower-case letters, digits, inner hyphens and underscores, a letter first, at most 63", "%q is not the name of a setting", document.Short(key))
	}
	if v.Type() != StringSetting {
		return
	}
	if len(v.Text()) > saysLimit {
		c.Fault(path, "want at most "+strconv.Itoa(saysLimit), "%d bytes", len(v.Text()))
		return
	}
	c.template(path, v.Text())
}

// makes checks the grants.
func (c *checker) makes(grants map[string]Grant) {
	if !c.few("grants", len(grants)) {
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(grants)) {
		path, g := document.Join("grants", kind), grants[kind]
		if !mesh.ValidModuleName(kind) {
			c.FaultKey(path, wantName, "%+q is not the kind of an instance", document.Short(kind))
		}
		c.line(document.Join(path, "says"), g.Says)
		c.settings(document.Join(path, "with"), g.With)
		c.nameList(document.Join(path, "gives"), g.Gives)
	}
}

func (c *checker) few(path string, n int) bool {
	if n > listLimit {
		c.Fault(path, "want at most "+strconv.Itoa(listLimit), "there are %d", n)
		return false
	}
	return true
}

// Chosen is the settings and the node's names as values, for FillValue.
func Chosen(settings map[string]Setting, texts map[string]string) (map[string]Value, error) {
	out := make(map[string]Value, len(texts))
	for name, text := range texts {
		kind := StringSetting
		if setting, is := strings.CutPrefix(name, "settings."); is {
			kind = settings[setting].Type
		}
		v, err := parseValue(kind, text)
		if err != nil {
			return nil, fault.Add(err, "setting %q", name)
		}
		out[name] = v
	}
	return out, nil
}
