package packages

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

const (
	statusFile = "/var/lib/dpkg/status"
	journal    = "/var/lib/dpkg/updates" // what dpkg had not written into the status when it was ended

	statusMost = 128 << 20 // bytes that are read of either
)

// Package is one that the machine has something of.
type Package struct {
	Name         string
	Architecture string // "all" where it does not matter
	Version      string
	Status       string // in dpkg's words, "install ok installed"
}

// Right reports whether the package is wholly installed, and nothing stands against its staying so.
func (p Package) Right() bool { return p.Status == "install ok installed" }

// There reports whether anything but its configuration is on the machine.
func (p Package) There() bool {
	state := p.State()
	return state != "" && state != "not-installed" && state != "config-files"
}

// State is how far it is installed, in dpkg's words.
func (p Package) State() string { return p.Status[strings.LastIndexByte(p.Status, ' ')+1:] }

// Held reports whether somebody has said that it is not to be changed.
func (p Package) Held() bool { return strings.HasPrefix(p.Status, "hold ") }

// torn reports whether it has to be unpacked once more before anything else is done to it.
func (p Package) torn() bool { return strings.Contains(p.Status, " reinstreq ") }

// Installed is what the machine has of some packages, or of all.
type Installed struct {
	native string // the architecture of the machine, which a name without one means
	of     map[string][]Package
	cut    bool // dpkg was ended in the middle of its work
}

// Of is the package that this name means; one without a status where the machine
// has nothing of it. A name may say the architecture after a colon.
func (in Installed) Of(name string) Package {
	name, of := in.apart(name)
	var found Package
	for _, p := range in.of[name] {
		fits := p.Architecture == of || p.Architecture == "all" && of == in.native
		if fits && (found.Status == "" || p.There()) {
			found = p
		}
	}
	return found
}

// Same is a text that is the same for two names of one package.
func (in Installed) Same(name string) string {
	name, of := in.apart(name)
	return name + ":" + of
}

func (in Installed) apart(name string) (string, string) {
	name, of, said := strings.Cut(name, ":")
	if !said {
		of = in.native
	}
	return name, of
}

// Read is what the machine has of the packages with these names, or of all where
// none is named: what dpkg's own files say.
func (d Debian) Read(names []string) (Installed, error) {
	in := Installed{of: make(map[string][]Package, len(names)+1)}
	var wanted map[string]bool
	if len(names) > 0 {
		wanted = map[string]bool{"dpkg": true}
		for _, name := range names {
			name, _, _ = strings.Cut(name, ":")
			wanted[name] = true
		}
	}
	text, err := d.sys.Bytes(statusFile, statusMost)
	if err != nil {
		return in, fault.Wrap(fault.Conflict, system.Cause(err), "read %q", statusFile)
	}
	in.take(text, wanted)
	if err := in.replay(d.sys, wanted); err != nil {
		return in, err
	}
	for _, p := range in.of["dpkg"] {
		in.native = p.Architecture // no other would run
	}
	return in, nil
}

// replay takes what dpkg's journal says in the place of what its status says.
func (in *Installed) replay(sys *system.Root, wanted map[string]bool) error {
	dir, err := sys.Dir(journal)
	if system.Absent(err) {
		return nil
	}
	var names []string
	if err == nil {
		names, err = dir.Own()
	}
	if err != nil {
		return fault.Wrap(fault.Conflict, system.Cause(err), "read %q", journal)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.Trim(name, "0123456789") != "" {
			continue // it was still being written
		}
		in.cut = true
		text, err := sys.Bytes(path.Join(journal, name), statusMost)
		if system.Absent(err) {
			continue // dpkg is at work, and has it in its status by now
		}
		if err != nil {
			return fault.Wrap(fault.Conflict, system.Cause(err), "read %q", path.Join(journal, name))
		}
		in.take(text, wanted)
	}
	return nil
}

// take takes in the entries of a file, which have an empty line between them. Only
// those that are wanted are looked into.
func (in *Installed) take(text []byte, wanted map[string]bool) {
	for len(text) > 0 {
		entry := text
		if i := bytes.Index(text, []byte("\n\n")); i >= 0 {
			entry, text = text[:i+1], text[i+2:]
		} else {
			text = nil
		}
		if wanted != nil {
			name, ok := bytes.CutPrefix(entry, []byte("Package: "))
			if end := bytes.IndexByte(name, '\n'); ok && end >= 0 && !wanted[string(name[:end])] {
				continue
			}
		}
		in.put(packageOf(entry))
	}
}

// put is the last word about a package of one architecture.
func (in *Installed) put(p Package) {
	if p.Name == "" {
		return
	}
	all := in.of[p.Name]
	if i := slices.IndexFunc(all, func(old Package) bool { return old.Architecture == p.Architecture }); i >= 0 {
		all[i] = p
		return
	}
	in.of[p.Name] = append(all, p)
}

// packageOf is one entry. What continues a line begins with a space.
func packageOf(entry []byte) Package {
	var p Package
	for line := range bytes.Lines(entry) {
		key, value, ok := bytes.Cut(line, []byte(": "))
		if !ok || line[0] == ' ' {
			continue
		}
		var field *string
		switch string(key) {
		case "Package":
			field = &p.Name
		case "Status":
			field = &p.Status
		case "Architecture":
			field = &p.Architecture
		case "Version":
			field = &p.Version
		default:
			continue
		}
		*field = string(bytes.TrimSpace(value))
	}
	return p
}

// unfinished reports whether dpkg has begun with something and not come to its end.
func (in Installed) unfinished() bool {
	if in.cut {
		return true
	}
	for _, all := range in.of {
		for _, p := range all {
			switch p.State() {
			case "unpacked", "half-configured", "triggers-awaited", "triggers-pending":
				return true
			}
		}
	}
	return false
}
