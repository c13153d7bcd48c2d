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

// packager is the package manager of the machine.
type packager interface {
	// Read is what is installed of these. It starts no child process.
	Read(names []string) (packages.Installed, error)
	Install(ctx context.Context, wanted []packages.Want) (packages.Outcome, error)
	Remove(ctx context.Context, names []string) (map[string]error, error)
}

func (p *pass) packager() packager { return packages.Of(p.sys) }

// packaged is what the machine's own package manager installs. The note of one is the
// version that the host was about to install where there was none, or anyVersion.
type packaged struct{}

const anyVersion = "any"

func (packaged) look(_ context.Context, p *pass, all []*holding) {
	in, err := p.packager().Read(namesOf(all))
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
		again := h.found.memory != nil
		h.found = packageFound(h, in.Of(h.name()))
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

// packageFound compares a package with what is declared of it.
func packageFound(h *holding, is packages.Package) stand {
	s := stand{there: is.There(), says: nothing, todo: "apt-get install " + h.name() + " says why", memory: is}
	if !s.there {
		return s
	}
	s.same = is.Right() && (h.want.Version == "" || h.want.Version == is.Version)
	s.half = !is.Right() || h.hold.Note == anyVersion || h.hold.Note == is.Version
	s.says = "version " + is.Version
	switch {
	case is.Held():
		s.says += ", on hold"
	case !is.Right():
		s.says += ", " + is.State()
	}
	return s
}

// mean refuses what somebody has said is not to be changed.
func (packaged) mean(_ *pass, all []*holding) {
	for _, h := range all {
		is, _ := h.found.memory.(packages.Package)
		if is.Held() {
			h.refused("apt-mark unhold "+h.name()+" lets the mesh keep it", "it is on hold at version %s: somebody has said that nothing changes it", is.Version)
			continue
		}
		if !h.found.there {
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
		wanted = append(wanted, packages.Want{Name: h.name(), Version: h.want.Version, Replace: h.want.Conffiles == declaration.ConffilesReplace})
	}
	done, err := p.packager().Install(ctx, wanted)
	if err != nil {
		p.packagesFailed(p.notInstalled(all), err)
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
func (p *pass) notInstalled(all []*holding) []*holding {
	in, err := p.packager().Read(namesOf(all))
	if err != nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(h *holding) bool { return packageFound(h, in.Of(h.name())).same })
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
// came along stays until somebody lets apt take what nothing needs. The host itself
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
	failed, err := p.packager().Remove(ctx, namesOf(ours))
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
