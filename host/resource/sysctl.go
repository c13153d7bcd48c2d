package resource

import (
	"context"
	"slices"
	"strings"

	"noxmesh/declaration"
	"noxmesh/host/system"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// sysctls is settings of the kernel that runs, and of the one that boots next: a file
// of each, which is set at boot. The note of one has the value that was found before
// the host set any, and those that the host has set.
type sysctls struct{}

// knob is what there is of a sysctl.
type knob struct {
	now   string // in the kernel that runs
	boot  string // what is set at boot; empty for nothing
	by    string // by which file
	later string // why a file of the host would not count
	mine  string // what the host's own file has; empty where there is none
}

func sysctlFile(name string) string {
	return declaration.SysctlFiles + strings.ReplaceAll(name, "/", "~") + ".conf" // no name has a ~
}

func sysctlText(name, value string) string {
	return "# Kept by mesh-host, as it is declared.\n" + name + " = " + value + "\n"
}

func (sysctls) look(_ context.Context, p *pass, all []*holding) {
	files, err := readAssignments(p.sys)
	if err != nil {
		allFailed(all, err)
		return
	}
	for _, h := range all {
		h.want.Value = oneSpace(h.want.Value)
		before, changed := h.found.memory.(knob)
		k, err := p.knob(h, files)
		if err != nil {
			h.failed(err)
			continue
		}
		want := h.want.Value
		h.found = stand{same: k.now == want && k.boot == want && (k.mine == "" || k.mine == sysctlText(h.name(), want)), says: k.says(want), memory: k}
		if k.now != want {
			h.found.todo = "the kernel has made that of it: declare it as the kernel writes it"
		}
		if changed && k.now != want && k.now != before.now {
			p.alsoSet(h, k.now)
		}
		if note := readKnobNote(h.hold.Note); h.found.same && len(note.set) > 0 {
			note.set = []string{want}
			h.hold.Note = note.String()
		}
	}
}

// alsoSet writes down what the kernel has made of what the host has set.
func (p *pass) alsoSet(h *holding, value string) {
	note := readKnobNote(h.hold.Note)
	note.set = append(note.set, value)
	h.hold.Note = note.String()
	p.record.Holds[h.hold.Subject], p.dirty = h.hold, true
}

func (p *pass) knob(h *holding, files assignments) (knob, error) {
	at, file := declaration.SysctlPath(h.name()), sysctlFile(h.name())
	now, err := p.sys.Sysctl(at)
	switch {
	case system.Absent(err):
		return knob{}, fault.New(fault.Conflict, "the kernel has no sysctl of this name").
			With("where a module of the kernel brings it, modprobe it first, and name it in a file below /etc/modules-load.d")
	case system.IsDirectory(err):
		return knob{}, fault.New(fault.Conflict, "it is a folder of sysctls").With("name one of them")
	case system.Shut(err):
		return knob{}, fault.New(fault.Conflict, "nobody can read it, and so nobody can tell what it is").With("take it out of the module")
	case err != nil:
		return knob{}, fault.New(fault.Conflict, "read it: %s", system.Cause(err))
	}
	k := knob{now: oneSpace(now)}
	if k.mine, err = readThrough(p.sys, file); err != nil {
		return k, err
	}
	if a, set := files.last(at); set {
		k.boot, k.by = a.value, a.file
	}
	if a, there := files.after(at, file); there && a.value != h.want.Value {
		k.later = a.file + " sets it to " + quote(a.value)
		if !a.set {
			k.later = a.file + " takes it out of what is set"
		}
	}
	return k, nil
}

func quote(s string) string { return `"` + s + `"` }

// says is what of it is not as declared.
func (k knob) says(want string) string {
	var says []string
	if k.now != want {
		says = append(says, "it is "+quote(k.now))
	}
	switch {
	case k.boot == want:
	case k.by == "":
		says = append(says, "nothing sets it at boot")
	default:
		says = append(says, k.by+" sets it to "+quote(k.boot)+" at boot")
	}
	if len(says) == 0 {
		return "the host's own file says something else"
	}
	return strings.Join(says, ", ")
}

// mean refuses what would be undone by the next boot, and notes what was there.
func (sysctls) mean(_ *pass, all []*holding) {
	for _, h := range all {
		k, _ := h.found.memory.(knob)
		if k.later != "" {
			h.refused("take it out there: what that file says comes after what the host says", "%s at boot", k.later)
			continue
		}
		note := readKnobNote(h.hold.Note)
		if len(note.set) == 0 {
			note.was = k.now
		}
		if !slices.Contains(note.set, h.want.Value) {
			note.set = append(note.set, h.want.Value)
		}
		h.hold.Note = note.String()
	}
}

func (sysctls) change(_ context.Context, p *pass, all []*holding) {
	for _, h := range all {
		k, _ := h.found.memory.(knob)
		if k.now != h.want.Value {
			err := effect.Do("resource.sysctl.set", func() error { return p.sys.SetSysctl(declaration.SysctlPath(h.name()), h.want.Value) })
			if err != nil {
				h.failed(notTaken(err, h.want.Value))
				continue
			}
		}
		text := sysctlText(h.name(), h.want.Value)
		if k.mine != text && (k.mine != "" || k.boot != h.want.Value) {
			if err := p.putText(sysctlFile(h.name()), text); err != nil {
				h.failed(err)
			}
		}
	}
}

// notTaken is why the kernel does not take a value. Whose file system that is it
// seems to be about is not said: it is the kernel's own.
func notTaken(err error, value string) error {
	if system.Shut(err) {
		return fault.New(fault.Conflict, "nobody can set it here: %s", system.Cause(err)).
			With("what a container has of it is set on the machine that it runs on; what the kernel only tells is not declared")
	}
	return fault.New(fault.Conflict, "the kernel does not take %q: %s", value, system.Cause(err))
}

// leave removes the host's file, and puts back what was found before the host set
// anything, where what the host has set is there still.
func (sysctls) leave(_ context.Context, p *pass, all []*holding) {
	for _, h := range all {
		note := readKnobNote(h.hold.Note)
		if len(note.set) == 0 {
			h.stays = h.hold.Subject + " was so before, and stays so"
			continue
		}
		if err := p.dropText(sysctlFile(h.name())); err != nil {
			h.failed(err)
			continue
		}
		if err := p.putBackSysctl(h, note); err != nil {
			h.failed(err)
		}
	}
}

func (p *pass) putBackSysctl(h *holding, note knobNote) error {
	at := declaration.SysctlPath(h.name())
	now, err := p.sys.Sysctl(at)
	switch {
	case system.Absent(err):
		return nil // with what it was about
	case err != nil:
		return fault.New(fault.Conflict, "read it: %s", system.Cause(err))
	case oneSpace(now) == note.was:
		return nil
	case !slices.Contains(note.set, oneSpace(now)):
		h.stays = h.hold.Subject + " is " + quote(oneSpace(now)) + ", which the host did not set, and stays so"
		return nil
	}
	if err := effect.Do("resource.sysctl.restore", func() error { return p.sys.SetSysctl(at, note.was) }); err != nil {
		return notTaken(err, note.was)
	}
	if now, err = p.sys.Sysctl(at); err == nil && oneSpace(now) != note.was {
		err = fault.New(fault.Conflict, "it is %q again", oneSpace(now))
	}
	return err
}

// knobNote is what the record knows of a sysctl.
type knobNote struct {
	was string   // before the host
	set []string // by the host: one, and while it is being changed the one before as well
}

func (n knobNote) String() string { return "was " + n.was + "\nset " + strings.Join(n.set, "\nset ") }

// readKnobNote takes what String wrote; what it does not know means nothing.
func readKnobNote(text string) knobNote {
	var n knobNote
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "was":
			n.was = value
		case "set":
			n.set = append(n.set, value)
		}
	}
	return n
}
