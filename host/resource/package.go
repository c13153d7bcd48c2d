package resource

import (
	"cmp"
	"context"
	"slices"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/packages"
	"noxmesh/internal/fault"
)

func (p *pass) packager() (packages.Manager, error) { return packages.Of(p.sys, &p.rpms) }

// installed is what the machine has of these.
func (p *pass) installed(ctx context.Context, all []*holding) (packages.Installed, error) {
	by, err := p.packager()
	if err != nil {
		return packages.Installed{}, err
	}
	return by.Read(ctx, namesOf(all))
}

// packaged is what the machine's own package manager installs. The note of one is the
// version that the host was about to install where there was none, or where its being there
// says little, or anyVersion.
type packaged struct{}

const anyVersion = "any"

func (packaged) look(ctx context.Context, p *pass, all []*holding) {
	in, err := p.installed(ctx, all)
	if err != nil {
		allFailed(all, err)
		return
	}
	first := map[string]*holding{}
	for _, h := range all {
		other, same := first[in.Same(h.name())]
		if same && other.want.Version != h.want.Version {
			h.refused("declare it once", "it is %q, of which another version is declared", other.hold.Subject)
			continue
		}
		first[in.Same(h.name())] = h
		if isHost(h) && in.By != packages.Apt {
			h.refused("take it out of the declaration of this machine, and install the host there by hand", "the host is delivered as a Debian package, and %s keeps the packages of this machine", in.By)
			continue
		}
		again := h.found.memory != nil
		h.found = packageFound(h, in, again)
		if p.isSelf(h) {
			p.lookAtSelf(h, again)
		}
	}
}

func namesOf(all []*holding) []string {
	names := make([]string, 0, len(all))
	for _, h := range all {
		names = append(names, h.name())
	}
	return names
}

// packed is a package as it was found.
type packed struct {
	packages.Package
	again bool // it is installed once more, though it is as declared: nobody has seen that come to its end
}

// packageFound compares a package with what is declared of it. Where the package manager says
// that it is installed before it is, only an installation that this host has seen end well
// is believed: the one of this pass, or the one that the record has as done; and what
// others had installed before it came.
func packageFound(h *holding, in packages.Installed, seen bool) stand {
	is := in.Of(h.name())
	s := stand{there: is.There(), says: nothing, todo: in.By + " install " + h.name() + " says why", memory: packed{is, false}}
	if !s.there {
		return s
	}
	s.same = is.Right() && (h.want.Version == "" || h.want.Version == is.Version)
	s.says = "version " + is.Version
	meant := h.hold.Note == anyVersion || h.hold.Note == is.Version
	s.half = !is.Right() || meant
	doubted := is.Doubtful() && !seen && h.known && h.hold.Phase != keep.Done && meant
	switch {
	case is.Held():
		s.says += ", on hold"
	case !is.Right():
		s.says += ", " + is.State()
	case s.same && doubted:
		s.same = false
		s.says += ", and nobody has seen its installation come to its end"
	}
	s.memory = packed{is, doubted}
	return s
}

// mean refuses what somebody has said is not to be changed.
func (packaged) mean(_ *pass, all []*holding) {
	for _, h := range all {
		is, _ := h.found.memory.(packed)
		if is.Held() {
			h.refused(is.Release()+" lets the mesh keep it", "it is on hold at version %s: somebody has said that nothing changes it", is.Version)
			continue
		}
		if !h.found.there || is.Doubtful() {
			h.hold.Note = cmp.Or(h.want.Version, anyVersion)
		}
	}
}

func (packaged) change(ctx context.Context, p *pass, all []*holding) {
	others, self := p.withoutSelf(all)
	if len(others) > 0 {
		p.install(ctx, others)
	}
	if self != nil {
		p.changeSelf(ctx, self)
	}
}

// install has the package manager make them as declared.
func (p *pass) install(ctx context.Context, all []*holding) {
	wanted := make([]packages.Want, 0, len(all))
	for _, h := range all {
		is, _ := h.found.memory.(packed)
		wanted = append(wanted, packages.Want{Name: h.name(), Version: h.want.Version, Replace: h.want.Conffiles == declaration.ConffilesReplace, Again: is.again})
	}
	by, err := p.packager()
	if err != nil {
		allFailed(all, err)
		return
	}
	done, err := by.Install(ctx, wanted)
	if err != nil {
		p.packagesFailed(p.notInstalled(ctx, all), err)
	}
	for _, h := range all {
		h.it.more().says = append(h.it.more().says, done.Says[h.name()]...)
		if err := done.Failed[h.name()]; err != nil {
			h.failed(err)
		}
	}
}

// notInstalled is those that are not as declared now: where a run for many of them
// came to no end over one, others are.
func (p *pass) notInstalled(ctx context.Context, all []*holding) []*holding {
	in, err := p.installed(ctx, all)
	if err != nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(h *holding) bool { return packageFound(h, in, false).same })
}

// packagesFailed is what stands against all of them. What somebody has locked is
// looked at once more before long.
func (p *pass) packagesFailed(all []*holding, err error) {
	if fault.KindOf(err) == fault.Unavailable {
		p.soon = lookAgain
	}
	allFailed(all, err)
}

// leave removes what the host has installed, with nothing that others need; what
// came along stays until somebody lets the package manager take what nothing needs. The host itself
// is never removed.
func (packaged) leave(ctx context.Context, p *pass, all []*holding) {
	var ours []*holding
	for _, h := range all {
		switch {
		case h.name() == declaration.HostPackage:
			h.stays = h.hold.Subject + " is the host itself, and stays"
		case h.hold.Origin == keep.TakenOver:
			h.stays = h.hold.Subject + " was there before, and stays"
		default:
			ours = append(ours, h)
		}
	}
	if len(ours) == 0 {
		return
	}
	by, err := p.packager()
	if err != nil {
		allFailed(ours, err)
		return
	}
	failed, err := by.Remove(ctx, namesOf(ours))
	if err != nil {
		p.packagesFailed(ours, err)
		return
	}
	for _, h := range ours {
		if err := failed[h.name()]; err != nil {
			h.failed(err)
		}
	}
}
