package mounts

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"noxmesh/declaration"
)

// flags is the options of a mount, whatever its file system is: of each pair the
// first is what the kernel writes, and nothing where it is the second.
func flags() [][2]string {
	return [][2]string{{"nosuid", "suid"}, {"nodev", "dev"}, {"noexec", "exec"}, {"nodiratime", "diratime"}, {"nosymfollow", "symfollow"}}
}

// way is how something is mounted.
type way struct {
	ro     bool
	off    []string // of flags
	access string   // noatime, relatime or strictatime
	rest   []string // of the file system
}

// mine reports whether an option means something to programs, and nothing to the kernel.
func mine(option string) bool {
	if slices.Contains([]string{"", "defaults", "auto", "nofail", "_netdev", "async", "nouser"}, option) {
		return true
	}
	return strings.HasPrefix(option, "x-") || strings.HasPrefix(option, "X-") || strings.HasPrefix(option, "comment=")
}

// read is options as they are declared; of two that say the contrary the later counts.
func read(options string) way {
	w := way{access: "relatime"}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "ro", "rw":
			w.ro = option == "ro"
			continue
		case "noatime", "relatime", "strictatime":
			w.access = option
			continue
		case "atime", "nostrictatime":
			w.access = "relatime"
			continue
		case "norelatime":
			w.access = "strictatime"
			continue
		}
		if off, known := flagOf(option); known {
			w.off = slices.DeleteFunc(w.off, func(o string) bool { return o == off })
			if off == option {
				w.off = append(w.off, off)
			}
			continue
		}
		if !mine(option) {
			w.rest = append(w.rest, option)
		}
	}
	return w
}

func flagOf(option string) (off string, known bool) {
	for _, pair := range flags() {
		if option == pair[0] || option == pair[1] {
			return pair[0], true
		}
	}
	return "", false
}

// Explicit is options with all that mount(8) would leave as it is if it were not said.
func Explicit(options string) string {
	w := read(options)
	all := []string{"rw"}
	if w.ro {
		all[0] = "ro"
	}
	for _, pair := range flags()[:4] {
		if slices.Contains(w.off, pair[0]) {
			all = append(all, pair[0])
		} else {
			all = append(all, pair[1])
		}
	}
	if slices.Contains(w.off, "nosymfollow") { // older kernels do not know its contrary
		all = append(all, "nosymfollow")
	}
	return strings.Join(append(append(all, w.access), w.rest...), ",")
}

// Unlike is what of the options of a mount is not as declared, in the kernel's words;
// empty where nothing is, as far as the kernel says it.
func (m Mounted) Unlike(options string) string {
	want := read(options)
	is := strings.Split(m.Options, ",")
	super := strings.Split(m.Super, ",")
	var says []string
	say := func(differs bool, what string) {
		if differs {
			says = append(says, what)
		}
	}
	ro := slices.Contains(is, "ro") || slices.Contains(super, "ro")
	say(ro && !want.ro, "ro")
	say(!ro && want.ro, "rw")
	for _, pair := range flags() {
		there, wanted := slices.Contains(is, pair[0]), slices.Contains(want.off, pair[0])
		say(there && !wanted, pair[0])
		say(!there && wanted, pair[1])
	}
	access := "strictatime"
	for _, a := range []string{"noatime", "relatime"} {
		if slices.Contains(is, a) {
			access = a
		}
	}
	say(access != want.access, access)
	if !m.isNegotiated() {
		says = append(says, unlikeRest(want.rest, super)...)
	}
	return strings.Join(says, ",")
}

// unlikeRest is what a file system says of its own options, where something else was declared.
func unlikeRest(want, super []string) []string {
	var says []string
	for _, option := range want {
		key, value, has := strings.Cut(option, "=")
		for _, there := range super {
			if k, v, _ := strings.Cut(there, "="); has && k == key && !sameValue(key, v, value) {
				says = append(says, there)
			}
		}
	}
	return says
}

// isNegotiated reports whether what is mounted has its options from both ends: what
// one of them has asked for says nothing of what became of it.
func (m Mounted) isNegotiated() bool {
	kind, _, _ := strings.Cut(m.Type, ".")
	return slices.Contains([]string{"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse", "fuseblk"}, kind)
}

// sameValue compares what the kernel says of an option with what was declared: it
// writes sizes in kilobytes, and modes without zeros before them.
func sameValue(key, is, want string) bool {
	switch {
	case is == want, strings.HasSuffix(want, "%"):
		return true
	case (key == "uid" || key == "gid") && strings.Trim(want, "0123456789") != "": // a name
		return true
	case slices.Contains([]string{"mode", "umask", "fmask", "dmask"}, key):
		return strings.TrimLeft(is, "0") == strings.TrimLeft(want, "0")
	}
	a, one := size(is)
	b, two := size(want)
	return one && two && (a == b || key == "size" && a == (b+4095)/4096*4096)
}

// size is a number with what the kernel takes behind it.
func size(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	shift := strings.IndexByte("kmgt", s[len(s)-1]|0x20)
	if shift >= 0 {
		s = s[:len(s)-1]
	}
	n, err := strconv.ParseInt(s, 10, 44)
	return n << (10 * (shift + 1)), err == nil && n >= 0 && n < 1<<(53-10*(shift+1))
}

// patience is for how long systemd waits for a mount at boot where it is not told.
const patience = 90 * time.Second

// Timeout is for how long a mount with these options is waited for.
func Timeout(options string) time.Duration {
	for option := range strings.SplitSeq(options, ",") {
		text, ok := strings.CutPrefix(option, declaration.TimeoutOption)
		if !ok {
			continue
		}
		if _, err := strconv.Atoi(text); err == nil {
			text += "s"
		}
		if d, err := time.ParseDuration(strings.Replace(text, "min", "m", 1)); err == nil && d > 0 {
			return min(d, 10*time.Minute)
		}
	}
	return patience
}

// SameType reports whether what the kernel says that it has mounted is of the type
// that was declared.
func (m Mounted) SameType(declared string) bool {
	return m.Type == declared || declared == "auto" || declared == "nfs" && m.Type == "nfs4"
}
