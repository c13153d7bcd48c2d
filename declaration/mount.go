package declaration

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"noxmesh/document"
)

// TimeoutOption is the option of a mount that says for how long it is waited for, by
// the host and by systemd at boot.
const TimeoutOption = "x-systemd.mount-timeout="

// mountLimit is how long what a mount says may be.
const mountLimit = 1000

// mount checks what is mounted, and how.
func (f *flaws) mount(t *Traits) {
	if t.Source != "" && !isSource(t.Source) {
		f.add("source", "want a device (UUID=…, LABEL=…, PARTUUID=…, PARTLABEL=…, /dev/…), host:/export, //host/share, or a name as tmpfs", "is nothing that is mounted", t.Source)
	}
	if t.FSType != "" && (strings.Trim(t.FSType, lowers+digits+"._-") != "" || t.FSType[0] == '-' || strings.HasPrefix(t.FSType, "no") || len(t.FSType) > 64 || slices.Contains([]string{"swap", "autofs"}, t.FSType)) {
		f.add("fstype", "want it as ext4, nfs or tmpfs", "is not the type of a file system", t.FSType)
	}
	if t.Options == "" {
		return
	}
	if len(t.Options) > mountLimit || strings.ContainsFunc(t.Options, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' || r == '\\' }) {
		f.add("options", "want them as in fstab, with commas, without spaces and quotes", "are not options of a mount", t.Options)
		return
	}
	for option := range strings.SplitSeq(t.Options, ",") {
		f.option(option)
	}
}

// option refuses what would make another thing of a mount than one that is there
// from boot on.
func (f *flaws) option(option string) {
	key, _, _ := strings.Cut(option, "=")
	switch key {
	case "":
		*f = append(*f, Flaw{"options", "want a word between two commas", "an option is empty"})
	case "bind", "rbind", "move", "loop", "remount":
		f.add("options", "want a device, what another machine exports, or a file system in memory", "is no mount of its own", option)
	case "noauto", "x-systemd.automount":
		f.add("options", "take it out: what is declared is mounted", "is about what is not always mounted", option)
	case "user", "users", "owner", "group":
		f.add("options", "take it out: it is the host that mounts it", "is about who may mount it", option)
	case "password", "password2", "pass":
		f.add("options", "want credentials=PATH, of a file that only root may read", "would be read by everybody", key)
	case strings.TrimSuffix(TimeoutOption, "="):
		text := strings.TrimPrefix(option, TimeoutOption)
		if _, err := strconv.ParseUint(text, 10, 16); err == nil {
			text += "s"
		}
		if d, err := time.ParseDuration(strings.Replace(text, "min", "m", 1)); err != nil || d <= 0 {
			f.add("options", "want it as "+TimeoutOption+"30s", "is no time", option)
		}
	}
}

// isSource reports whether s names what can be mounted. A folder and an image in a
// file cannot: each is of a mount that is there already.
func isSource(s string) bool {
	tag, value, tagged := strings.Cut(s, "=")
	host, export, remote := strings.Cut(s, ":")
	switch {
	case len(s) > mountLimit, strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }), s[0] == '-', strings.ContainsRune(s, '\\'):
		return false
	case strings.HasPrefix(s, "/dev/"):
		return document.BadPath(s) == ""
	case strings.HasPrefix(s, "//"):
		return strings.Contains(s[2:], "/")
	case s[0] == '/':
		return false
	case remote:
		return host != "" && export != ""
	case tagged:
		return slices.Contains([]string{"UUID", "LABEL", "PARTUUID", "PARTLABEL"}, tag) && value != "" && !strings.ContainsAny(value, "/\"")
	}
	return !strings.ContainsAny(s, "/ ")
}
