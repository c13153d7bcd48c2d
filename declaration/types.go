package declaration

import (
	"slices"
	"strconv"
	"strings"

	"noxmesh/document"
)

// Fields is what belongs to a resource of one type besides id, type, after and
// drift. What must be there must not be empty, except a file's size. Of several names
// with | between them there is exactly one.
type Fields struct{ Must, May []string }

// Types is the types that a host knows, in the order in which people are told them.
func Types() []Type {
	return []Type{File, Directory, Link, Archive, Group, User, Service, Package, Sysctl, Mount, Check, Container}
}

// FieldsOf is what belongs to a resource of this type; false where no host knows it.
func FieldsOf(t Type) (Fields, bool) {
	switch t {
	case File:
		return Fields{Must: []string{"path", "mode", "digest"}, May: []string{"size", "owner", "group", "secrets"}}, true
	case Directory:
		return Fields{Must: []string{"path", "mode"}, May: []string{"owner", "group"}}, true
	case Link:
		return Fields{Must: []string{"path", "target"}, May: []string{"owner", "group"}}, true
	case Archive:
		return Fields{Must: []string{"path", "digest"}, May: []string{"owner", "group", "swap"}}, true
	case Group:
		return Fields{Must: []string{"name"}, May: []string{"gid"}}, true
	case User:
		return Fields{Must: []string{"name"}, May: []string{"uid", "group", "groups", "home", "shell"}}, true
	case Service:
		return Fields{Must: []string{"unit", "state"}, May: []string{"enabled", "restart_on"}}, true
	case Package:
		return Fields{Must: []string{"name"}, May: []string{"version", "conffiles"}}, true
	case Sysctl:
		return Fields{Must: []string{"name", "value"}}, true
	case Mount:
		return Fields{Must: []string{"path", "source", "fstype"}, May: []string{"options"}}, true
	case Check:
		return Fields{Must: []string{"http|tcp|dns|unit|file|command"}, May: []string{"status"}}, true
	case Container:
		return Fields{Must: []string{"name", "image"}, May: []string{"command", "env", "ports", "volumes", "user", "restart_on"}}, true
	}
	return Fields{}, false
}

// fieldNames is every key that depends on the type.
func fieldNames() []string {
	return []string{
		"path", "mode", "target", "digest", "size", "name", "gid", "uid", "group", "groups", "home", "shell", "owner", "swap", "unit", "state", "enabled", "restart_on", "version", "conffiles",
		"value", "source", "fstype", "options", "http", "status", "tcp", "dns", "file", "image", "command", "env", "ports", "volumes", "user", "secrets",
	}
}

// keys is which of them are there.
func (r *Resource) keys() []string {
	keys := make([]string, 0, 8)
	for _, has := range []struct {
		key   string
		there bool
	}{{"path", r.Path != ""}, {"mode", r.Mode != ""}, {"target", r.Target != ""}, {"digest", r.Digest != ""}, {"size", r.Size != 0}, {"secrets", len(r.Secrets) > 0}} {
		if has.there {
			keys = append(keys, has.key)
		}
	}
	return append(keys, r.Traits.Keys()...)
}

// belong checks that what is there belongs to the type, and that what it needs
// is there.
func (c *checker) belong(at string, r *Resource) {
	f, ok := FieldsOf(r.Type)
	if !ok {
		c.Fault(at+".type", "want "+oneOf(Types()), "%q is not a type that this host knows", document.Short(string(r.Type)))
		return
	}
	has, belongs := r.keys(), slices.Clone(f.May)
	for _, must := range f.Must {
		choices := strings.Split(must, "|")
		belongs = append(belongs, choices...)
		there := slices.DeleteFunc(choices, func(name string) bool { return !slices.Contains(has, name) })
		if len(there) == 0 {
			c.Fault(at, "add it", "a resource of type %s needs %s", r.Type, strings.ReplaceAll(must, "|", " or "))
		} else if len(there) > 1 {
			c.FaultKey(document.Join(at, there[1]), "want exactly one of them", "there is %s as well", there[0])
		}
	}
	for _, name := range fieldNames() {
		if slices.Contains(has, name) && !slices.Contains(belongs, name) {
			c.FaultKey(document.Join(at, name), "take it out", "%s does not belong to a resource of type %s", name, r.Type)
		}
	}
	for _, flaw := range r.Traits.Flaws(r.Type) {
		c.Fault(at+"."+flaw.Key, flaw.Want, "%s", flaw.What)
	}
}

func oneOf(types []Type) string {
	text := ""
	for i, t := range types {
		switch {
		case i == 0:
		case i == len(types)-1:
			text += " or "
		default:
			text += ", "
		}
		text += string(t)
	}
	return text
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
