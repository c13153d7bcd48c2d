package packages

import (
	"cmp"
	"slices"
	"strings"
)

// Package is one that the machine has something of.
type Package struct {
	Name         string
	Architecture string // "all" where it does not matter
	Version      string // of one that is there more than once, all of them, see twice
	Status       string // in dpkg's words, "install ok installed"

	doubtful bool   // that it is installed is written down before its scripts have run, and its files are on the disk
	instance string // which installation it is; empty where nobody counts them
	release  string // what to do about a hold, where that is not apt's
}

// Right reports whether the package is wholly installed, and nothing stands against its staying so.
func (p Package) Right() bool { return p.Status == right }

const right = "install ok installed"

// There reports whether anything but its configuration is on the machine.
func (p Package) There() bool {
	state := p.State()
	return state != "" && state != "not-installed" && state != "config-files"
}

// State is how far it is installed, in dpkg's words.
func (p Package) State() string { return p.Status[strings.LastIndexByte(p.Status, ' ')+1:] }

// Held reports whether somebody has said that it is not to be changed.
func (p Package) Held() bool { return strings.HasPrefix(p.Status, "hold ") }

// Release is what somebody does who would have it changed again, though it is held.
func (p Package) Release() string { return cmp.Or(p.release, "apt-mark unhold "+p.Name) }

// Doubtful reports whether the package manager says of it that it is installed before it
// wholly is: then only whoever has seen the installation end well knows that.
func (p Package) Doubtful() bool { return p.doubtful }

// torn reports whether it has to be unpacked once more before anything else is done to it.
func (p Package) torn() bool { return strings.Contains(p.Status, " reinstreq ") }

// Installed is what the machine has of some packages, or of all.
type Installed struct {
	By     string // the program that installs: "apt-get" or "dnf"
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
		fits := p.Architecture == of || p.Architecture == anywhere && of == in.native
		if fits && (found.Status == "" || p.There()) {
			found = p
		}
	}
	return found
}

const anywhere = "all"

// Same is a text that is the same for two names of one package.
func (in Installed) Same(name string) string {
	name, of := in.apart(name)
	return name + ":" + of
}

func (in Installed) apart(name string) (string, string) {
	name, of, said := strings.Cut(name, ":")
	switch {
	case !said:
		of = in.native
	case of == noarch:
		of = anywhere
	}
	return name, of
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
