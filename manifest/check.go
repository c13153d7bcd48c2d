package manifest

import (
	"maps"
	pathpkg "path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	mesh "noxmesh"
	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/fault"
)

// ContentLimit is the largest content that stands in a manifest: what travels
// inside a declaration.
const ContentLimit = 64 << 10

// saysLimit is the longest line for people, in bytes.
const saysLimit = 1 << 10

// nearLimit is how many names are compared with a wrong one.
const nearLimit = 100

// listLimit is how many names or claims a module may list.
const listLimit = 1 << 10

const wantName = "want lower-case letters, digits and inner hyphens, at most 63"

var (
	settingName = regexp.MustCompile(`^[a-z]([a-z0-9_-]{0,61}[a-z0-9])?$`)
	octalMode   = regexp.MustCompile(`^[0-3][0-7]{3}$`)
)

// common is what the two forms share.
type common struct {
	module       string
	summary      string
	provides     []Provided
	requires     []string
	instances    map[string]Instance
	grants       map[string]Grant
	claims       []string
	capabilities []string
	settings     map[string]Setting
	secrets      map[string]Secret
}

// A checker adds to a reading what is wrong with a manifest.
type checker struct {
	*document.Reading
	names     map[string]bool // what a template may name
	sorted    []string        // the same
	instances map[string]Instance
	within    bool // in an instance, which names nothing of another

	declared map[string]bool // "secret.db-url": what a template may name where it is filled on the node
	filled   bool            // in the content of a file, which is
}

func newChecker(r *document.Reading, m common) *checker {
	names := map[string]bool{"node.id": true, "node.name": true}
	for name := range m.settings {
		names["settings."+name] = true
	}
	declared := map[string]bool{}
	for name := range m.secrets {
		declared[secretPrefix+name] = true
	}
	return &checker{Reading: r, names: names, sorted: slices.Sorted(maps.Keys(names)), instances: m.instances, declared: declared}
}

// list is some of the sorted names, for people. One that is no name is quoted:
// it was refused, and may hold anything.
func list(sorted []string) string {
	const most = 20
	var shown []string
	for _, name := range sorted[:min(len(sorted), most)] {
		if !settingName.MatchString(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "settings."), "node."), secretPrefix)) {
			name = strconv.Quote(document.Short(name))
		}
		shown = append(shown, name)
	}
	if len(sorted) > most {
		return strings.Join(shown, ", ") + " and others"
	}
	return strings.Join(shown, ", ")
}

func (c *checker) common(m common) {
	c.name("module", m.module, "the name of a module")
	c.line("summary", m.summary)
	c.provides(m.provides)
	c.nameList("requires", m.requires)
	c.itself(m)
	if c.once("claims", m.claims) {
		for i, claim := range m.claims {
			c.claim(document.At("claims", i), claim)
		}
	}
	c.nameList("capabilities", m.capabilities)
	c.settings("settings", m.settings)
	c.secrets(m.secrets)
	c.needs(m)
	c.makes(m.grants)
}

func (c *checker) settings(path string, all map[string]Setting) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c.setting(document.Join(path, name), name, all[name])
	}
}

func (c *checker) nameList(path string, names []string) {
	if !c.once(path, names) {
		return
	}
	for i, name := range names {
		c.name(document.At(path, i), name, "a name")
	}
}

// name checks what is called by the rules of a module's name. It is shown in
// ASCII: a letter of another alphabet looks like the right one.
func (c *checker) name(path, name, what string) {
	if mesh.ValidModuleName(name) {
		return
	}
	want := wantName
	if near := NearName(name); near != "" {
		want += ", as " + strconv.Quote(near)
	}
	c.Fault(path, want, "%+q is not %s", document.Short(name), what)
}

// NearName is the name that somebody may have meant who wrote this in ASCII, or
// empty.
func NearName(s string) string {
	near := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r == ' ' || r == '_' || r == '.' || r == '/':
			return '-'
		}
		return r
	}, s)
	if near = strings.Trim(near, "-"); mesh.ValidModuleName(near) {
		return near
	}
	return ""
}

// itself refuses a requirement that the module would meet by being there.
func (c *checker) itself(m common) {
	for i, name := range m.requires {
		switch {
		case name == m.module:
			c.Fault(document.At("requires", i), "take it out", "the module requires itself")
		case slices.ContainsFunc(m.provides, func(p Provided) bool { return p.Name == name }):
			c.Fault(document.At("requires", i), "take it out here or there", "the module provides %q itself", document.Short(name))
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
		near := document.Nearest(kind, []string{"tcp", "udp", "name"}, want)
		if port(claim) {
			near = want + ", as tcp:" + claim
		}
		c.Fault(path, near, "%q is not a claim", document.Short(claim))
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
	case kind == "name":
		c.name(path, rest, "a name")
	case !port(rest):
		c.Fault(path, "want a number from 1 to 65535", "%q is not a port", document.Short(rest))
	}
}

func port(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}

func (c *checker) setting(path, name string, s Setting) {
	if !settingName.MatchString(name) {
		c.FaultKey(path, "want lower-case letters, digits, inner hyphens and underscores, a letter first, at most 63", "%q is not the name of a setting", document.Short(name))
	}
	c.line(document.Join(path, "says"), s.Says)
	if s.Type != StringSetting && s.Type != IntegerSetting && s.Type != BooleanSetting {
		want := document.Nearest(s.Type, []string{StringSetting, IntegerSetting, BooleanSetting}, "want string, integer or boolean")
		c.Fault(document.Join(path, "type"), want, "%q is not the type of a setting", document.Short(s.Type))
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
		c.Fault(path, fault.HintOf(err), "%s", err)
		return nil, false
	}
	ok = true
	for _, name := range names {
		if c.Full() {
			return nil, false
		}
		if strings.HasPrefix(name, secretPrefix) {
			ok = c.secret(path, name) && ok
		} else if !c.names[name] && !c.handedBack(name) {
			c.Fault(path, c.nearest(name), "nothing is called %q", "${"+document.Short(name)+"}")
			ok = false
		}
	}
	return names, ok
}

// nearest is which name may have been meant, or how a dollar stays a dollar.
func (c *checker) nearest(name string) string {
	const plain = "; write $${ for a plain ${"
	otherwise := "the names here are " + list(c.sorted) + c.alsoInstances() + plain
	if near := c.nearestInstance(name); near != "" {
		return near
	}
	if len(c.sorted) > nearLimit {
		return otherwise
	}
	return document.Nearest(name, c.sorted, otherwise)
}

// absolute checks the path of a thing on a machine: clean with whatever stands
// in the places of its names.
func (c *checker) absolute(path, text string) {
	if _, ok := c.template(path, text); !ok {
		return
	}
	whole := placeholders(text, "x")
	if why := document.BadPath(whole); why != "" {
		c.Fault(path, wantPath(text), "%q %s", document.Short(text), why)
	} else if why := declaration.ReservedPath(whole); why != "" {
		c.Fault(path, "no module puts anything there", "%q is %s", document.Short(text), why)
	}
}

// wantPath is the clean form of a path that has one.
func wantPath(text string) string {
	if clean := pathpkg.Clean(text); strings.HasPrefix(text, "/") && document.BadPath(clean) == "" {
		return "want a clean absolute path, as " + strconv.Quote(document.Short(clean))
	}
	return "want a clean absolute path below /, as /opt/site"
}

// relative checks the path of something in the module's folder.
func (c *checker) relative(path, text string) {
	if why := document.BadRelative(text); why != "" {
		want := "want a clean path below the module's folder, as dist/site"
		if clean := pathpkg.Clean(text); clean != "." && text != "" && document.BadRelative(clean) == "" {
			want = "want it clean, as " + strconv.Quote(document.Short(clean))
		}
		c.Fault(path, want, "%q %s", document.Short(text), why)
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
