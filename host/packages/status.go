package packages

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

const (
	statusFile = system.DpkgStatus
	journal    = "/var/lib/dpkg/updates" // what dpkg had not written into the status when it was ended

	statusMost = 128 << 20 // bytes that are read of either
)

// Read is what the machine has of the packages with these names, or of all where
// none is named: what dpkg's own files say.
func (d Debian) Read(_ context.Context, names []string) (Installed, error) {
	in := Installed{By: Apt, of: make(map[string][]Package, len(names)+1)}
	var wanted map[string]bool
	if len(names) > 0 {
		wanted = map[string]bool{"dpkg": true}
		for _, name := range names {
			wanted[bare(name)] = true
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
