package observe

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/internal/invariant"
)

// Facts is what lies on the disk of a machine of one thing that is at no path, in words: a
// user, a package, what is mounted at boot.
type Facts map[string]string

// String is the facts in one line; empty where there is none.
func (f Facts) String() string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(f)) {
		words = append(words, k+" "+f[k])
	}
	return strings.Join(words, ", ")
}

// Subjects is all that lies on the disk of the machine at this root and is at no path, by
// what a record calls it. What a kernel or a service has in memory has no part in it.
func Subjects(root string) (map[string]Facts, error) {
	m := disks{root: root, all: map[string]Facts{}}
	m.accounts()
	m.packages()
	m.lines("/etc/fstab", func(line string) {
		if f := strings.Fields(line); len(f) >= 4 {
			m.put("mount "+strings.ReplaceAll(f[1], `\040`, " "), Facts{"source": f[0], "type": f[2], "options": f[3]})
		}
	})
	m.units()
	m.knobs()
	return m.all, errors.Join(m.errs...)
}

// disks reads one machine's disk; what is not there says nothing.
type disks struct {
	root string
	all  map[string]Facts
	errs []error
}

func (m *disks) put(subject string, f Facts) {
	if m.all[subject] == nil {
		m.all[subject] = Facts{}
	}
	maps.Copy(m.all[subject], f)
}

func (m *disks) text(path string) string {
	b, err := os.ReadFile(filepath.Join(m.root, path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.errs = append(m.errs, err)
	}
	return string(b)
}

// lines is each line of a file that says something.
func (m *disks) lines(path string, each func(line string)) {
	for line := range strings.Lines(m.text(path)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			each(line)
		}
	}
}

func (m *disks) names(folder string) []string {
	all, err := os.ReadDir(filepath.Join(m.root, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.errs = append(m.errs, err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// accounts is users and groups, each of which has a line in two files.
func (m *disks) accounts() {
	groups, members := map[string]string{}, map[string][]string{}
	m.fields("/etc/group", 4, func(f []string) {
		m.put("group "+f[0], Facts{"gid": f[2]})
		groups[f[2]] = f[0]
		for _, user := range strings.FieldsFunc(f[3], func(r rune) bool { return r == ',' }) {
			members[user] = append(members[user], f[0])
		}
	})
	m.fields("/etc/passwd", 7, func(f []string) {
		is := Facts{"uid": f[2], "group": groups[f[3]], "home": f[5], "shell": f[6]}
		for _, g := range members[f[0]] {
			is["in "+g] = yes
		}
		m.put("user "+f[0], is)
	})
	m.fields("/etc/gshadow", 4, func(f []string) { m.put("group "+f[0], Facts{hidden: yes}) })
	m.fields("/etc/shadow", 9, func(f []string) { m.put("user "+f[0], Facts{hidden: yes}) })
}

const (
	yes    = "yes"
	hidden = "in the file of passwords"
	wanted = "wanted, and how it is"
)

func (m *disks) fields(path string, n int, each func(f []string)) {
	m.lines(path, func(line string) {
		if f := strings.Split(line, ":"); len(f) == n {
			each(f)
		}
	})
}

// packages is what dpkg's status says, and its journal after it.
func (m *disks) packages() {
	texts := []string{m.text("/var/lib/dpkg/status")}
	for _, name := range m.names("/var/lib/dpkg/updates") {
		if strings.Trim(name, "0123456789") == "" {
			texts = append(texts, m.text("/var/lib/dpkg/updates/"+name))
		}
	}
	for _, text := range texts {
		for entry := range strings.SplitSeq(text, "\n\n") {
			of := map[string]string{}
			for line := range strings.Lines(entry) {
				key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
				of[key] = value
			}
			switch is := of["Status"]; {
			case of["Package"] == "":
			case strings.HasSuffix(is, " not-installed"), strings.HasSuffix(is, " config-files"):
				delete(m.all, "package "+of["Package"])
			default:
				m.put("package "+of["Package"], Facts{wanted: is, "version": of["Version"]})
			}
		}
	}
}

// units is what is started at boot, and the units of containers.
func (m *disks) units() {
	const folder = "/etc/systemd/system"
	for _, name := range m.names(folder) {
		if of, ok := strings.CutPrefix(strings.TrimSuffix(name, ".service"), "mesh-container-"); ok {
			m.put("container "+of, Facts{"unit": cmp.Or(strings.Split(m.text(filepath.Join(folder, name)), "\n")[0], "empty")})
		}
		if !strings.HasSuffix(name, ".wants") && !strings.HasSuffix(name, ".requires") {
			continue
		}
		for _, unit := range m.names(filepath.Join(folder, name)) {
			m.put("service "+unit, Facts{atBoot: yes})
		}
	}
}

const atBoot = "started at boot"

// knobs is what the files of sysctls set, the last of them for good.
func (m *disks) knobs() {
	const folder = "/etc/sysctl.d"
	for _, name := range m.names(folder) {
		if info, err := os.Lstat(filepath.Join(m.root, folder, name)); err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(name, ".conf") {
			continue // a link may lead out of the machine
		}
		m.lines(filepath.Join(folder, name), func(line string) {
			if name, value, ok := strings.Cut(line, "="); ok {
				m.put("sysctl "+declaration.SysctlName(strings.TrimSpace(name)), Facts{"value": strings.Join(strings.Fields(value), " ")})
			}
		})
	}
}

// holds is what a record says of things that are at no path, beside what lies on the disk.
// Of a resource that is among the declared ones it is known how it is to be.
func holds(root string, r keep.Record, declared []declaration.Resource) ([]invariant.Thing, error) {
	if len(r.Holds) == 0 {
		return nil, nil
	}
	are, err := Subjects(root)
	if err != nil {
		return nil, err
	}
	var things []invariant.Thing
	for _, subject := range slices.Sorted(maps.Keys(r.Holds)) {
		if inDatabase(root, subject) {
			continue
		}
		h := r.Holds[subject]
		want := done(r, h.ID, declared)
		maps.Copy(want, always(subject))
		whole := maps.Clone(want)
		is := are[withoutArchitecture(subject)]
		for k, v := range is {
			if whole[k] == "" {
				whole[k] = v
			}
		}
		things = append(things, invariant.Thing{
			Path: subject, Resource: h.ID, Done: h.Phase == keep.Done, Made: h.Origin == keep.Made, Want: whole.String(), Found: is.String(),
		})
	}
	return things, nil
}

// done is the facts of a declared resource that the record has as done.
func done(r keep.Record, id string, declared []declaration.Resource) Facts {
	want := Facts{}
	for _, d := range declared {
		if digest, err := d.ContentDigest(); err == nil && d.ID == id && digest == r.Done[id] {
			want = declaredFacts(d)
		}
	}
	return want
}

// inDatabase reports whether rpm keeps it, which has a database that only rpm reads.
func inDatabase(root, subject string) bool {
	if !strings.HasPrefix(subject, string(declaration.Package)+" ") {
		return false
	}
	_, err := os.Stat(filepath.Join(root, "/var/lib/dpkg/status"))
	return errors.Is(err, fs.ErrNotExist)
}

// withoutArchitecture is a package as dpkg's entries name it.
func withoutArchitecture(subject string) string {
	if strings.HasPrefix(subject, string(declaration.Package)+" ") {
		subject, _, _ = strings.Cut(subject, ":")
	}
	return subject
}

// always is what is so of everything of its kind that is there at all.
func always(subject string) Facts {
	switch kind, _, _ := strings.Cut(subject, " "); declaration.Type(kind) {
	case declaration.User, declaration.Group:
		return Facts{hidden: yes}
	case declaration.Package:
		return Facts{wanted: "install ok installed"}
	default:
		return Facts{}
	}
}

// declaredFacts is what of a resource lies on a disk. What is not said may be anything.
func declaredFacts(r declaration.Resource) Facts {
	t := r.Said()
	want := Facts{}
	for key, value := range map[string]string{"group": t.Group, "home": t.Home, "shell": t.Shell, "version": t.Version, "value": strings.Join(strings.Fields(t.Value), " "), "source": t.Source, "type": t.FSType} {
		if value != "" {
			want[key] = value
		}
	}
	for key, number := range map[string]int64{"uid": t.UID, "gid": t.GID} {
		if number != 0 {
			want[key] = strconv.FormatInt(number, 10)
		}
	}
	for _, g := range t.Groups {
		want["in "+g] = yes
	}
	switch r.Type {
	case declaration.Service:
		if t.AtBoot() {
			want[atBoot] = yes
		}
	case declaration.Mount:
		want["options"] = cmp.Or(t.Options, "defaults")
	case declaration.Container:
		return Facts{"unit": `# The container "` + t.Name + `", as mesh-host keeps it: what is changed here is put back.`}
	default:
	}
	return want
}
