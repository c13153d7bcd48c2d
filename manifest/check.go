package manifest

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	mesh "noxmesh"
	"noxmesh/document"
)

// ContentLimit is the largest content that stands in a manifest: what travels
// inside a declaration.
const ContentLimit = 64 << 10

// saysLimit is the longest line for people, in bytes.
const saysLimit = 1 << 10

// listLimit is how many names or claims a module may list.
const listLimit = 1 << 10

const wantName = "want lower-case letters, digits and inner hyphens, at most 63"

var (
	settingName = regexp.MustCompile(`^[a-z]([a-z0-9_-]{0,61}[a-z0-9])?$`)
	octalMode   = regexp.MustCompile(`^0[0-7]{3}$`)
)

// common is what the two forms share.
type common struct {
	module             string
	summary            string
	provides, requires []string
	claims             []string
	settings           map[string]Setting
}

// A checker adds to a reading what is wrong with a manifest.
type checker struct {
	*document.Reading
	names  map[string]bool // what a template may name
	listed string          // the same, for people
}

func newChecker(r *document.Reading, settings map[string]Setting) *checker {
	names := map[string]bool{"node.id": true, "node.name": true}
	for name := range settings {
		names["settings."+name] = true
	}
	return &checker{r, names, list(names)}
}

// list is some of the names, sorted, for people.
func list[V any](names map[string]V) string {
	const most = 20
	sorted := slices.Sorted(maps.Keys(names))
	if len(sorted) > most {
		return strings.Join(sorted[:most], ", ") + " and others"
	}
	return strings.Join(sorted, ", ")
}

func (c *checker) common(m common) {
	if !mesh.ValidModuleName(m.module) {
		c.Fault("module", wantName, "%q is not the name of a module", document.Short(m.module))
	}
	c.line("summary", m.summary)
	c.nameList("provides", m.provides)
	c.nameList("requires", m.requires)
	if c.once("claims", m.claims) {
		for i, claim := range m.claims {
			c.claim(document.At("claims", i), claim)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.settings)) {
		c.setting(name, m.settings[name])
	}
}

func (c *checker) nameList(path string, names []string) {
	if !c.once(path, names) {
		return
	}
	for i, name := range names {
		if !mesh.ValidModuleName(name) {
			c.Fault(document.At(path, i), wantName, "%q is not a name", document.Short(name))
		}
	}
}

// once checks that a list has nothing in it twice, and reports whether it is
// short enough to be looked at.
func (c *checker) once(path string, list []string) bool {
	if len(list) > listLimit {
		c.Fault(path, "want at most "+strconv.Itoa(listLimit), "the list has %d", len(list))
		return false
	}
	seen := make(map[string]bool, len(list))
	for i, s := range list {
		if seen[s] {
			c.Fault(document.At(path, i), "take one of them out", "%q is there twice", document.Short(s))
		}
		seen[s] = true
	}
	return true
}

// line checks a sentence for people.
func (c *checker) line(path, text string) {
	if len(text) > saysLimit {
		c.Fault(path, "want at most "+strconv.Itoa(saysLimit), "%d bytes", len(text))
	}
	if why := document.BadName(text); why != "" && len(text) <= saysLimit {
		c.Fault(path, "want one line of plain text", "it %s", why)
	}
}

// claim checks "tcp:8080", "udp:53" and "name:board", of which the part behind
// the colon may come from a setting.
func (c *checker) claim(path, claim string) {
	const want = "want tcp:PORT, udp:PORT or name:NAME"
	kind, rest, _ := strings.Cut(claim, ":")
	if kind != "tcp" && kind != "udp" && kind != "name" {
		c.Fault(path, want, "%q is not a claim", document.Short(claim))
		return
	}
	names, ok := c.template(path, rest)
	switch {
	case !ok:
	case len(names) > 0:
		if text := placeholders(rest, ""); kind == "name" && text != "" && !mesh.ValidModuleName(strings.Trim(text, "-")) {
			c.Fault(path, want, "%q is not a claim", document.Short(claim))
		} else if kind != "name" && strings.Trim(text, "0123456789") != "" {
			c.Fault(path, want, "%q is not a claim", document.Short(claim))
		}
	case kind == "name" && !mesh.ValidModuleName(rest):
		c.Fault(path, wantName, "%q is not a name", document.Short(rest))
	case kind != "name" && !port(rest):
		c.Fault(path, "want a number from 1 to 65535", "%q is not a port", document.Short(rest))
	}
}

func port(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}

func (c *checker) setting(name string, s Setting) {
	path := document.Join("settings", name)
	if !settingName.MatchString(name) {
		c.FaultKey(path, "want lower-case letters, digits, inner hyphens and underscores, a letter first, at most 63", "%q is not the name of a setting", document.Short(name))
	}
	c.line(document.Join(path, "says"), s.Says)
	if s.Type != StringSetting && s.Type != IntegerSetting && s.Type != BooleanSetting {
		c.Fault(document.Join(path, "type"), "want string, integer or boolean", "%q is not the type of a setting", document.Short(s.Type))
		return
	}
	if s.Default == nil {
		return
	}
	if s.Default.Type() != s.Type {
		c.Fault(document.Join(path, "default"), "want "+article(s.Type)+" "+s.Type, "the default is %s %s", article(s.Default.Type()), s.Default.Type())
	} else if len(s.Default.Text()) > saysLimit {
		c.Fault(document.Join(path, "default"), "want at most "+strconv.Itoa(saysLimit), "%d bytes", len(s.Default.Text()))
	}
}

func article(word string) string {
	if word == IntegerSetting {
		return "an"
	}
	return "a"
}

// template checks that text names only what there is.
func (c *checker) template(path, text string) (names []string, ok bool) {
	names, err := Names(text)
	if err != nil {
		c.Fault(path, "close it with }, or write $${ for a plain ${", "%s", err)
		return nil, false
	}
	ok = true
	for _, name := range names {
		if !c.names[name] {
			c.Fault(path, "the names here are "+c.listed, "nothing is called ${%s}", document.Short(name))
			ok = false
		}
	}
	return names, ok
}

// absolute checks the path of a thing on a machine: clean with whatever stands
// in the places of its names.
func (c *checker) absolute(path, text string) {
	if _, ok := c.template(path, text); !ok {
		return
	}
	if why := document.BadPath(placeholders(text, "x")); why != "" {
		c.Fault(path, "want a clean absolute path below /, as /opt/site", "%q %s", document.Short(text), why)
	}
}

// relative checks the path of something in the module's folder.
func (c *checker) relative(path, text string) {
	if why := document.BadRelative(text); why != "" {
		c.Fault(path, "want a clean path below the module's folder, as dist/site", "%q %s", document.Short(text), why)
	}
}

func (c *checker) mode(path, mode string) {
	if !octalMode.MatchString(mode) {
		c.Fault(path, "want four octal digits of at most 0777, as 0644", "%q is not a mode", document.Short(mode))
	}
}

// placeholders is the template with this in the places of its names.
func placeholders(template, instead string) string {
	pieces, err := cut(template)
	if err != nil {
		return template
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.name != "" {
			b.WriteString(instead)
		}
		b.WriteString(p.text)
	}
	return b.String()
}
