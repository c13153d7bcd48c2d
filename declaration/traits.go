package declaration

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"noxmesh/document"
)

// Traits is what only some resources say: those that are no file, and those of
// which drift is only reported. Which key belongs to which type is the table in
// types.go. A resource that says none of it has none.
type Traits struct {
	Drift  Drift    `json:"drift,omitempty"`  // any type; Correct where it is not said
	Name   string   `json:"name,omitempty"`   // group, user, package, sysctl, container
	GID    int64    `json:"gid,omitempty"`    // group: chosen by the machine where it is not said
	UID    int64    `json:"uid,omitempty"`    // user: chosen by the machine where it is not said
	Group  string   `json:"group,omitempty"`  // user: its own; the one of its name where it is not said. What is at a path: whose group's it is
	Groups []string `json:"groups,omitempty"` // user: that it is in as well
	Home   string   `json:"home,omitempty"`   // user: of the entry alone, no folder is made
	Shell  string   `json:"shell,omitempty"`  // user

	Owner string `json:"owner,omitempty"` // what is at a path: whose it is, a name or a number; not looked at where it is not said
	Swap  bool   `json:"swap,omitempty"`  // archive: its folder becomes another one in one step

	Unit      string   `json:"unit,omitempty"`       // service
	State     string   `json:"state,omitempty"`      // service: Running or Stopped
	Enabled   *bool    `json:"enabled,omitempty"`    // service: whether it is started at boot; as its state where it is not said
	RestartOn []string `json:"restart_on,omitempty"` // service, container: ids of what it is made from, earlier in the list; it waits for them

	Version   string    `json:"version,omitempty"`   // package: that and no other; any where it is not said
	Conffiles Conffiles `json:"conffiles,omitempty"` // package; ConffilesKeep where it is not said

	Value string `json:"value,omitempty"` // sysctl

	Source  string `json:"source,omitempty"`  // mount
	FSType  string `json:"fstype,omitempty"`  // mount
	Options string `json:"options,omitempty"` // mount; "defaults" where it is not said

	HTTP   string `json:"http,omitempty"`   // check, as the four below, Unit and Command: one of them
	Status int64  `json:"status,omitempty"` // check: of HTTP; 200 where it is not said
	TCP    string `json:"tcp,omitempty"`
	DNS    string `json:"dns,omitempty"`
	File   string `json:"file,omitempty"`

	Image   string            `json:"image,omitempty"`   // container: by its digest; below image.Own one that where.blobs has
	Command Command           `json:"command,omitzero"`  // check; container: in place of the image's own, behind its entry point
	Env     map[string]string `json:"env,omitempty"`     // container: beside the image's
	Ports   []string          `json:"ports,omitempty"`   // container: see ParsePort
	Volumes []string          `json:"volumes,omitempty"` // container: see ParseVolume
	User    string            `json:"user,omitempty"`    // container: as whom it runs; as the image says where it is not said
}

// Conffiles is what becomes of the configuration files of a package that somebody
// has changed, when another version of them comes.
type Conffiles string

// The policies about them.
const (
	ConffilesKeep    Conffiles = "keep"
	ConffilesReplace Conffiles = "replace"
)

// The states of a service.
const (
	Running = "running"
	Stopped = "stopped"
)

// RestartsOn is the ids of what a service is made from.
func (r *Resource) RestartsOn() []string {
	if r.Traits == nil {
		return nil
	}
	return r.RestartOn
}

// AtBoot is whether a service is to be started at boot.
func (t *Traits) AtBoot() bool {
	if t.Enabled != nil {
		return *t.Enabled
	}
	return t.State == Running
}

// Drift is what becomes of a change that the mesh did not make.
type Drift string

// The policies. What is only reported was made as declared once.
const (
	DriftCorrect Drift = "correct"
	DriftReport  Drift = "report"
)

// Said is the traits of the resource, none where it says none.
func (r *Resource) Said() Traits {
	if r.Traits == nil {
		return Traits{}
	}
	return *r.Traits
}

// IsFile reports whether a resource of this type is at a path: a file, a
// directory, a link, or many of them.
func (t Type) IsFile() bool {
	switch t {
	case File, Directory, Link, Archive:
		return true
	case Group, User, Service, Package, Sysctl, Mount, Check, Container:
		return false
	}
	return false
}

// Asks reports whether a resource of this type only asks: nothing is changed for it,
// nothing is held, and it comes after whatever else of its module is earlier in the list.
func (t Type) Asks() bool { return t == Check }

// Keeps is the capability of a host that keeps resources of this type. Files every
// host keeps.
func Keeps(t Type) string { return "keeps-" + string(t) }

// KeepsOwner is the capability of a host that knows owners, groups, and the modes
// above 0777 of what is at a path.
const KeepsOwner = "keeps-owner"

// KeepsSecrets is the capability of a host that fills secrets into files.
const KeepsSecrets = "keeps-secrets"

// KeepsSwap is the capability of a host that swaps archives.
const KeepsSwap = "keeps-swap"

// KeepsCheckCommand is the capability of a host that runs commands of its own set for
// checks.
const KeepsCheckCommand = "keeps-check-command"

// Subject is what of the machine the resource is about, which no other one is: its
// path, or what it is and its name, as "user board".
func (r *Resource) Subject() string {
	if r.Type.IsFile() || r.Traits == nil {
		return r.Path
	}
	return string(r.Type) + " " + r.Called()
}

// Called is where it is, or what it is called on the machine.
func (r *Resource) Called() string {
	if r.Type.IsFile() || r.Traits == nil {
		return r.Path
	}
	if r.Type == Sysctl {
		return SysctlName(r.Name)
	}
	if r.Type == Check {
		return r.ID // two may ask the same
	}
	return cmp.Or(r.Name, r.Unit, r.Path)
}

// Keys is which of the keys that depend on the type are there, for people in this order.
func (t *Traits) Keys() []string {
	if t == nil {
		return nil
	}
	var keys []string
	for _, has := range []struct {
		key   string
		there bool
	}{
		{"drift", t.Drift != ""},
		{"name", t.Name != ""},
		{"gid", t.GID != 0},
		{"uid", t.UID != 0},
		{"group", t.Group != ""},
		{"groups", len(t.Groups) > 0},
		{"home", t.Home != ""},
		{"shell", t.Shell != ""},
		{"owner", t.Owner != ""},
		{"swap", t.Swap},
		{"unit", t.Unit != ""},
		{"state", t.State != ""},
		{"enabled", t.Enabled != nil},
		{"restart_on", len(t.RestartOn) > 0},
		{"version", t.Version != ""},
		{"conffiles", t.Conffiles != ""},
		{"value", t.Value != ""},
		{"source", t.Source != ""},
		{"fstype", t.FSType != ""},
		{"options", t.Options != ""},
		{"http", t.HTTP != ""},
		{"status", t.Status != 0},
		{"tcp", t.TCP != ""},
		{"dns", t.DNS != ""},
		{"file", t.File != ""},
		{"image", t.Image != ""},
		{"command", !t.Command.IsZero()},
		{"env", len(t.Env) > 0},
		{"ports", len(t.Ports) > 0},
		{"volumes", len(t.Volumes) > 0},
		{"user", t.User != ""},
	} {
		if has.there {
			keys = append(keys, has.key)
		}
	}
	return keys
}

// Fill is t with each name and path, and each word of a container, as f makes it,
// which is given its key. The name of an image stays: it is what was pinned.
func (t *Traits) Fill(f func(key, text string) (string, error)) (*Traits, error) {
	if t == nil {
		return nil, nil
	}
	out := *t
	for _, text := range []struct {
		key string
		of  *string
	}{
		{"name", &out.Name},
		{"owner", &out.Owner},
		{"group", &out.Group},
		{"home", &out.Home},
		{"shell", &out.Shell},
		{"unit", &out.Unit},
		{"version", &out.Version},
		{"value", &out.Value},
		{"source", &out.Source},
		{"fstype", &out.FSType},
		{"options", &out.Options},
		{"http", &out.HTTP},
		{"tcp", &out.TCP},
		{"dns", &out.DNS},
		{"file", &out.File},
		{"command", &out.Command.Name},
		{"user", &out.User},
	} {
		if *text.of == "" {
			continue
		}
		filled, err := f(text.key, *text.of)
		if err != nil {
			return nil, err
		}
		*text.of = filled
	}
	return &out, out.fillLists(f)
}

func (t *Traits) fillLists(f func(key, text string) (string, error)) error {
	for _, list := range []struct {
		key string
		of  *[]string
	}{{"command", &t.Command.Words}, {"ports", &t.Ports}, {"volumes", &t.Volumes}} {
		*list.of = slices.Clone(*list.of)
		for i, text := range *list.of {
			filled, err := f(document.At(list.key, i), text)
			if err != nil {
				return err
			}
			(*list.of)[i] = filled
		}
	}
	t.Env = maps.Clone(t.Env)
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		filled, err := f(document.Join("env", name), t.Env[name])
		if err != nil {
			return err
		}
		t.Env[name] = filled
	}
	return nil
}

// A Flaw is what is wrong with one key of a resource, and what would be right.
type Flaw struct{ Key, Want, What string }

// Flaws is what is wrong with the values of the traits of a resource of this
// type, as far as they are there.
func (t *Traits) Flaws(of Type) []Flaw {
	if t == nil {
		return nil
	}
	var f flaws
	if t.Drift != "" && t.Drift != DriftCorrect && t.Drift != DriftReport {
		f.add("drift", "want correct or report", "is not what becomes of drift", string(t.Drift))
	}
	f.name(of, t.Name)
	if of.IsFile() {
		f.whose("owner", t.Owner)
		f.whose("group", t.Group)
	} else {
		f.account("group", t.Group)
	}
	for i, name := range t.Groups {
		f.account(document.At("groups", i), name)
	}
	f.number("gid", t.GID)
	f.number("uid", t.UID)
	f.field("home", t.Home)
	f.field("shell", t.Shell)
	f.unit(t.Unit)
	if t.State != "" && t.State != Running && t.State != Stopped {
		f.add("state", "want running or stopped", "is not the state of a service", t.State)
	}
	if t.State == Stopped && len(t.RestartOn) > 0 {
		f = append(f, Flaw{"restart_on", "take it out", "what is stopped is not restarted"})
	}
	f.version(t.Version)
	f.command(of, t.Command)
	f.container(t)
	if t.Conffiles != "" && t.Conffiles != ConffilesKeep && t.Conffiles != ConffilesReplace {
		f.add("conffiles", "want keep or replace", "is not what becomes of configuration files", string(t.Conffiles))
	}
	f.value(t.Value)
	f.mount(t)
	f.check(of, t)
	return f
}

type flaws []Flaw

func (f *flaws) add(key, want, why, value string) {
	*f = append(*f, Flaw{key, want, quoted(value) + " " + why})
}

// name checks what a user, a group, a package, a sysctl or a container is called.
func (f *flaws) name(of Type, name string) {
	switch {
	case of == Package:
		f.pkg(name)
	case of == Sysctl:
		f.sysctl(name)
	case of == Container:
		f.contained(name)
	case name == "root":
		f.add("name", "want another name", "is the machine's own "+string(of), name)
	default:
		f.account("name", name)
	}
}

// account checks the name of a user or a group, by the rules of the programs that make one.
func (f *flaws) account(key, name string) {
	if name == "" {
		return
	}
	first := strings.Trim(name[:1], "abcdefghijklmnopqrstuvwxyz_") == ""
	if !first || len(name) > 32 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		f.add(key, "want lower-case letters, digits, _ and -, not a digit first, at most 32", "is not the name of a user or a group", name)
	}
}

// unit checks the name of a unit of systemd, with what kind of unit it is. The
// host's own is none that anybody declares.
func (f *flaws) unit(name string) {
	if name == "" {
		return
	}
	if why := ReservedUnit(name); why != "" {
		f.add("unit", "no module says anything about it", "is "+why, name)
	}
	stem, kind := cutLast(name, '.')
	ok := stem != "" && len(name) <= 255 && slices.Contains([]string{"service", "socket", "timer", "path"}, kind) && !strings.HasSuffix(stem, "@") && stem[0] != '-' && stem[0] != '.' &&
		strings.Trim(stem, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@") == ""
	if !ok {
		f.add("unit", "want one with its ending, as board.service; a template with its instance, as board@one.service", "is not the name of a service, socket, timer or path of systemd", name)
	}
}

func cutLast(s string, sep byte) (before, after string) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+1:]
}

// number checks a uid or a gid. The last two numbers mean something else.
func (f *flaws) number(key string, n int64) {
	const most = 1<<32 - 3
	if n < 0 || n > most || n == 65534 || n == 65535 {
		*f = append(*f, Flaw{key, "want 1 to 4294967293, and not 65534 or 65535", key + " " + number(n)})
	}
}

// field checks a path that stands in a line with colons.
func (f *flaws) field(key, p string) {
	if p == "" {
		return
	}
	if why := document.BadPath(p); why != "" {
		f.add(key, "want a clean absolute path", why, p)
	} else if strings.ContainsAny(p, ": ") {
		f.add(key, "want one without them", "has a colon or a space", p)
	}
}
