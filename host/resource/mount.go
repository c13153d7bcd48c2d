package resource

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"noxmesh/host/mounts"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// mounted is what is mounted, and mounted again at boot because fstab says so. The
// note of one is what the host has done: what it has mounted, whether it has added
// the line, and which directories it has made to mount it at.
type mounted struct{}

const fstab = "/etc/fstab"

// mount is one on its way through a wave.
type mount struct {
	*holding
	line  mounts.Entry // as declared
	real  string       // where its path truly leads
	on    mounts.Mounted
	there bool // something is mounted at its path
	right bool // and it is that

	options string         // how its options are not as declared
	lines   []mounts.Entry // what fstab says of the path
	note    mountNote
}

// ground is what is mounted, and fstab.
type ground struct {
	mounts []mounts.Mounted
	table  mounts.Table
}

func (p *pass) ground() (ground, error) {
	info, err := p.sys.MountInfo()
	if err != nil {
		return ground{}, err
	}
	text, err := p.sys.Text(fstab, fileMost)
	if err = nothingThere(err); err != nil {
		return ground{}, fault.New(fault.Conflict, "read %q: %s", fstab, system.Cause(err))
	}
	return ground{mounts.Parse(info), mounts.ParseTable(text)}, nil
}

func (mounted) look(_ context.Context, p *pass, all []*holding) {
	g, err := p.ground()
	if err != nil {
		allFailed(all, err)
		return
	}
	for _, h := range all {
		m, err := p.mountOf(h, g)
		if err != nil {
			h.failed(err)
			continue
		}
		says := m.says()
		if m.note.stale {
			says = append(says, "systemd has not read its line yet")
		}
		h.found = stand{same: len(says) == 0, says: strings.Join(says, ", "), hollow: !m.right, memory: m, todo: "dmesg may say why"}
		if h.found.same && len(m.note.sources) > 0 {
			m.note.sources = []string{m.line.Source}
			h.hold.Note = m.note.String()
		}
	}
}

func (p *pass) mountOf(h *holding, g ground) (*mount, error) {
	path := h.name()
	m := &mount{holding: h, note: readMountNote(h.hold.Note), lines: g.table.Of(path), line: mounts.Entry{
		Source: h.want.Source, Path: path, Type: h.want.FSType, Options: cmp.Or(h.want.Options, "defaults"),
	}}
	real, err := p.realOf(path)
	if err != nil {
		return m, err
	}
	m.real = real
	m.on, m.there = mounts.At(g.mounts, real)
	if m.right = m.there && m.on.SameType(m.line.Type) && p.isOf(m.on, m.line.Source); m.right {
		m.options = m.on.Unlike(m.line.Options)
	}
	return m, nil
}

// isOf reports whether something is mounted of this source.
func (p *pass) isOf(on mounts.Mounted, source string) bool {
	if strings.TrimRight(on.Source, "/") == strings.TrimRight(source, "/") {
		return true
	}
	want, err := p.sys.Device(source)
	if err != nil || !strings.HasPrefix(want, "/dev/") {
		return false
	}
	is, err := p.sys.Device(on.Source)
	return err == nil && is == want
}

// says is how it is not as declared.
func (m *mount) says() []string {
	var says []string
	switch {
	case !m.there:
		says = append(says, "not mounted")
	case !m.right:
		says = append(says, m.other()+" is mounted there")
	case m.options != "":
		says = append(says, "mounted with "+m.options)
	}
	switch {
	case len(m.lines) == 0:
		says = append(says, "not in "+fstab)
	case len(m.lines) > 1:
		says = append(says, "more than once in "+fstab)
	case !m.lines[0].Same(m.line):
		says = append(says, fstab+" says "+quote(m.lines[0].Shown()))
	}
	return says
}

func (m *mount) other() string { return quote(m.on.Source) + " (" + m.on.Type + ")" }

// mean refuses what the host would have to guess about, and notes what it is about to do.
func (mounted) mean(p *pass, all []*holding) {
	for _, h := range all {
		m, _ := h.found.memory.(*mount)
		missing, err := p.fits(m)
		if err != nil {
			h.failed(err)
			continue
		}
		if !m.right && !slices.Contains(m.note.sources, m.line.Source) {
			m.note.sources = append(m.note.sources, m.line.Source)
		}
		m.note.line = m.note.line || len(m.lines) == 0
		m.note.stale = m.note.stale || len(m.lines) == 0 || !m.lines[0].Same(m.line)
		for _, dir := range missing {
			if !slices.Contains(m.note.dirs, dir) {
				m.note.dirs = append(m.note.dirs, dir)
			}
		}
		h.hold.Note = m.note.String()
	}
}

// fits is the directories that are missing, the outer one first, or why it is not mounted.
func (p *pass) fits(m *mount) ([]string, error) {
	mine := m.there && slices.ContainsFunc(m.note.sources, func(s string) bool { return p.isOf(m.on, s) })
	switch {
	case p.wants(fstab):
		return nil, fault.New(fault.Conflict, "another resource says what is in %q", fstab).With("declare the line there, or take that resource out")
	case len(m.lines) > 1:
		return nil, fault.New(fault.Conflict, "%q has more than one line for it", fstab).With("take out those that are not meant")
	case m.right:
		return nil, nil
	case m.there && !mine:
		return nil, fault.New(fault.Conflict, "%s is mounted there, which the host did not mount", m.other()).With("umount %s, or declare that", m.real)
	}
	if _, err := p.sys.Device(m.line.Source); err != nil {
		return nil, fault.New(fault.Conflict, "there is no %s here: %s", m.line.Source, system.Cause(err)).With("lsblk -f shows what there is")
	}
	if m.there {
		return nil, nil
	}
	return p.mountPoint(m.real)
}

// mountPoint looks at where something is to be mounted: a directory with nothing in
// it, or with the directories that are missing on the way to it.
func (p *pass) mountPoint(real string) ([]string, error) {
	var missing []string
	for at := real; ; at = parent(at) {
		pl, err := reach(p.sys, at)
		if err != nil {
			return nil, err
		}
		if pl.dir == nil {
			missing = append(missing, at)
			continue
		}
		info, err := pl.dir.Lstat(pl.name)
		switch {
		case system.Absent(err):
			missing = append(missing, at)
			slices.Reverse(missing)
			return missing, nil
		case err != nil:
			return nil, err
		case !info.Mode.IsDir():
			return nil, fault.New(fault.Conflict, "%q is a %s", at, called(kindOf(info))).With("move it away")
		case len(missing) > 0:
			slices.Reverse(missing)
			return missing, nil
		}
		names, err := pl.dir.Names(pl.name, 3)
		if err == nil && len(names) > 0 {
			err = fault.New(fault.Conflict, "%q holds %s, which would be hidden", at, strings.Join(names, ", ")).With("move it away")
		}
		return nil, err
	}
}

// change mounts what is not mounted, and writes its line once it is: a line of what
// cannot be mounted may stop the next boot.
func (mounted) change(ctx context.Context, p *pass, all []*holding) {
	defer p.sys.Meet()   // it may be on another machine
	defer p.sys.Forget() // what is reached is another directory now
	for left := all; len(left) > 0; {
		var some []*holding
		some, left = outermost(left)
		p.mountAll(ctx, some)
	}
	if !slices.ContainsFunc(all, func(h *holding) bool { return h.err == nil && mountIn(h).note.stale }) {
		return
	}
	if err := p.readMounts(ctx); err != nil {
		allFailed(all, err)
		return
	}
	for _, h := range all {
		if h.err == nil {
			m := mountIn(h)
			m.note.stale = false
			h.hold.Note = m.note.String()
		}
	}
}

// leave unmounts what the host has mounted, and takes out the line that it has added.
func (mounted) leave(ctx context.Context, p *pass, all []*holding) {
	defer p.sys.Forget()
	lines := false
	for _, h := range all {
		note := readMountNote(h.hold.Note)
		if len(note.sources) == 0 && !note.line {
			h.stays = h.hold.Subject + " was there before, and stays"
			continue
		}
		if !note.line {
			h.stays = "the line of " + h.hold.Subject + " was there before: it stays, and so does what is mounted"
			continue
		}
		if err := p.leaveMount(ctx, h, note); err != nil {
			h.failed(err)
			continue
		}
		lines = lines || note.line
	}
	if !lines {
		return
	}
	if err := p.readMounts(ctx); err != nil { // at boot it is as it should be all the same
		for _, h := range all {
			h.stays = strings.TrimPrefix(h.stays+"; "+err.Error(), "; ")
		}
	}
}

// mountNote is what the record knows of a mount.
type mountNote struct {
	sources []string // mounted by the host: one, and while it is being changed the one before as well
	line    bool     // added by the host
	stale   bool     // the line is being changed, and systemd has not read it
	dirs    []string // made by the host, the outer one first
}

func (n mountNote) String() string {
	var lines []string
	for _, s := range n.sources {
		lines = append(lines, "mounted "+s)
	}
	if n.line {
		lines = append(lines, "line")
	}
	if n.stale {
		lines = append(lines, "stale")
	}
	for _, dir := range n.dirs {
		lines = append(lines, "dir "+dir)
	}
	return strings.Join(lines, "\n")
}

// readMountNote takes what String wrote; what it does not know means nothing.
func readMountNote(text string) mountNote {
	var n mountNote
	for line := range strings.SplitSeq(text, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "mounted":
			n.sources = append(n.sources, value)
		case "line":
			n.line = true
		case "stale":
			n.stale = true
		case "dir":
			n.dirs = append(n.dirs, value)
		}
	}
	return n
}
