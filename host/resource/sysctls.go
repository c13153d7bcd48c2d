package resource

import (
	"maps"
	"path"
	"slices"
	"strings"

	"noxmesh/declaration"
	"noxmesh/host/system"
)

// fileMost is how large a file of settings is read.
const fileMost = 1 << 20

// sysctlFolders is where systemd-sysctl reads what it sets at boot: of two files with
// one name it is that in the folder which comes first.
func sysctlFolders() []string {
	return []string{"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d"}
}

// assignment is one line of such a file. One without a value takes the sysctl out of
// what is set.
type assignment struct {
	path  string // below /proc/sys
	value string
	set   bool
	file  string
}

// assignments is all that is set at boot, in the order in which it is.
type assignments []assignment

// readAssignments reads all files, in the order of their names.
func readAssignments(sys *system.Root) (assignments, error) {
	places := map[string]string{}
	for _, folder := range sysctlFolders() {
		names, err := namesIn(sys, folder)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if _, there := places[name]; !there && strings.HasSuffix(name, ".conf") && name[0] != '.' {
				places[name] = path.Join(folder, name)
			}
		}
	}
	var all assignments
	for _, name := range slices.Sorted(maps.Keys(places)) {
		text, err := readThrough(sys, places[name])
		if err != nil {
			return nil, err
		}
		all = append(all, parseAssignments(text, places[name])...)
	}
	return all, nil
}

// namesIn is what is in a folder, which need not be there.
func namesIn(sys *system.Root, folder string) ([]string, error) {
	dir, err := sys.Dir(folder)
	if err != nil {
		return nil, nothingThere(err)
	}
	return dir.Own()
}

// readThrough reads a file that may be a link to one. What is no file says nothing.
func readThrough(sys *system.Root, p string) (string, error) {
	for range 8 {
		dir, err := sys.Dir(path.Dir(p))
		if err != nil {
			return "", nothingThere(err)
		}
		info, err := dir.Lstat(path.Base(p))
		switch {
		case err != nil:
			return "", nothingThere(err)
		case info.Mode.IsRegular():
			return sys.Text(p, fileMost)
		case kindOf(info) == other || info.Mode.IsDir():
			return "", nil
		}
		target, err := dir.Readlink(path.Base(p))
		if err != nil {
			return "", nothingThere(err)
		}
		if target == "/dev/null" { // the usual way to say that there is none
			return "", nil
		}
		if !path.IsAbs(target) {
			target = path.Join(dir.Path(), target)
		}
		p = path.Clean(target)
	}
	return "", nil
}

// nothingThere is that what is not there says nothing.
func nothingThere(err error) error {
	if system.Absent(err) || system.NotDirectory(err) {
		return nil
	}
	return err
}

// parseAssignments reads the text of one file, as systemd-sysctl does: what it does
// not understand it leaves out. Patterns it takes for what nothing else names.
func parseAssignments(text, file string) assignments {
	var all assignments
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, set := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(name, "-"))
		if name == "" || !set && line[0] != '-' || strings.ContainsAny(name, "*?[") {
			continue
		}
		all = append(all, assignment{path: declaration.SysctlPath(name), value: oneSpace(value), set: set, file: file})
	}
	return all
}

// oneSpace is the parts of a value with a space between each: the kernel writes tabs.
func oneSpace(value string) string { return strings.Join(strings.Fields(value), " ") }

// last is what is said last of one sysctl, and whether that sets it.
func (a assignments) last(path string) (assignment, bool) {
	for _, one := range slices.Backward(a) {
		if one.path == path {
			return one, one.set
		}
	}
	return assignment{}, false
}

// after is what a file with a name behind this one's says of one sysctl, last.
func (a assignments) after(path, file string) (assignment, bool) {
	for _, one := range slices.Backward(a) {
		if one.path == path && base(one.file) > base(file) {
			return one, true
		}
	}
	return assignment{}, false
}

func base(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }
