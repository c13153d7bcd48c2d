package resource

import (
	"cmp"
	"context"
	"strings"

	"noxmesh/declaration"
	"noxmesh/internal/effect"
	"noxmesh/internal/fault"
)

// hostUnit is the service that the package of the host starts.
const hostUnit = declaration.HostPackage + ".service"

// isSelf reports whether a package is the one that this program is of. It is right
// when the version that is declared runs, and not when it is installed: the service
// manager may have gone back from it.
func (p *pass) isSelf(h *holding) bool {
	return p.self != nil && isHost(h)
}

// isHost reports whether it is the package that a host is.
func isHost(h *holding) bool {
	name, _, _ := strings.Cut(h.name(), ":")
	return name == declaration.HostPackage
}

// withoutSelf is all but the host itself, which is changed after everything else of
// its wave: it ends by that.
func (p *pass) withoutSelf(all []*holding) (others []*holding, self *holding) {
	for _, h := range all {
		if p.isSelf(h) {
			self = h
		} else {
			others = append(others, h)
		}
	}
	return others, self
}

// lookAtSelf compares the version that runs with what is declared.
func (p *pass) lookAtSelf(h *holding, again bool) {
	is, _ := h.found.memory.(packed)
	own := p.self.Own()
	version := cmp.Or(h.want.Version, is.Version)
	why, err := p.self.Refused(version)
	switch {
	case err != nil:
		h.failed(err)
	case why != "" && version != own:
		h.found.says = "version " + own
		h.refused("declare another version; where the machine was at fault, apt-get install --reinstall "+declaration.HostPackage+" tries it again",
			"version %s was rolled back here: it failed %s before it had completed one reconcile, at last because %s; version %s runs", version, tries, why, own)
	case h.found.same && is.Version != own:
		h.found.same, h.found.says = false, "version "+is.Version+", and version "+own+" runs"
		if again {
			h.failed(fault.New(fault.Unavailable, "version %s is installed, and runs when the service manager has started it", is.Version))
		}
	}
}

// tries is version.Tries in words.
const tries = "three times"

// changeSelf has the package manager install another version, which ends this one,
// and goes on without it. What is installed already only has to be started.
func (p *pass) changeSelf(ctx context.Context, h *holding) {
	if err := p.self.Sound(); err != nil {
		h.failed(fault.Add(err, "before another version is installed"))
		return
	}
	is, _ := h.found.memory.(packed)
	if !is.Right() || h.want.Version != "" && h.want.Version != is.Version {
		p.install(ctx, []*holding{h})
		return
	}
	units, err := p.manager(ctx)
	if err != nil {
		h.failed(err)
		return
	}
	err = effect.Do("resource.host.restart", func() error { return units.Begin(ctx, hostUnit) })
	if err != nil {
		h.failed(err)
	}
}
