package resource

import (
	"context"
	"slices"
	"strings"

	"noxmesh/declaration"
	"noxmesh/host/container"
	"noxmesh/host/docker"
	"noxmesh/host/podman"
	"noxmesh/host/system"
)

// runner is what runs the containers of a machine: podman, or docker.
type runner interface {
	speaker
	// Containers is those with these names, as far as they are there, by name.
	Containers(ctx context.Context, names []string) (map[string]container.Container, error)
	// Health is that of these containers, in their order.
	Health(ctx context.Context, ids []string) ([]container.Health, error)
	// Image is what has this name; false where nothing has.
	Image(ctx context.Context, name string) (container.Image, bool, error)
	// Pull fetches an image by its digest, as the machine fetches any.
	Pull(ctx context.Context, name string) error
	// Load takes in the image that fill writes, or nothing.
	Load(ctx context.Context, name string, fill func(*container.Archive) error) error
	// Stores is the folders in which it keeps images, where nobody has set up others.
	Stores() []string
	// RemoveImage removes the image with this name, unless somebody uses it.
	RemoveImage(ctx context.Context, name string) error
	// RemoveContainer takes away what is left of the container with this name that the
	// mesh has made. What runs is ended.
	RemoveContainer(ctx context.Context, name string) error
}

// speaker is how one of them is spoken of, and to.
type speaker interface {
	Name() string
	More(name string) string                 // the command that says more of a container's health
	Short(name string) bool                  // it has no containers of so short a name
	Words(check *container.Check) []string   // that run a container in a unit, before what is declared of it
	Volume(v declaration.Volume) string      // the word for something of the machine that the container is given
	Unit(name, called string) container.Unit // of the container of this name, whose image is called so
}

// runContainers is what a machine has that runs containers, each with all that it takes.
func runContainers() [][]string {
	all := [][]string{{booted, podman.Program}}
	for _, daemon := range system.Dockerd() {
		all = append(all, []string{booted, docker.Program, daemon})
	}
	return all
}

// runners is those that the machine has. The first of them runs what is declared; the
// other one may have run it before.
func runners(sys *system.Root) []runner {
	var all []runner
	if sys.Has(podman.Program) {
		all = append(all, podman.Of(sys))
	}
	if docker.On(sys) {
		all = append(all, docker.Of(sys))
	}
	return all
}

// runnerOf is the one that runs what is declared; podman, which says of itself that it
// is not there, where there is none.
func runnerOf(sys *system.Root) runner {
	if all := runners(sys); len(all) > 0 {
		return all[0]
	}
	return podman.Of(sys)
}

// has is something that a runner has, as the note of a container says it. Podman's is
// said by itself, as it was before there was any other.
func has(r speaker, what string) string {
	if r.Name() == podmanName {
		return what
	}
	return r.Name() + " " + what
}

// whose is the name of the runner that has what a note says, and what that is to it.
func whose(note string) (name, what string) {
	if name, what, said := strings.Cut(note, " "); said {
		return name, what
	}
	return podmanName, note
}

const podmanName = "podman"

// ran is the names of those that may have the container.
func (n *containerNote) ran() []string {
	if len(n.By) == 0 {
		return []string{podmanName}
	}
	return n.By
}

// takes notes that one more may have it.
func (n *containerNote) takes(r speaker) {
	by := []string{r.Name()}
	if n.String() != (containerNote{}).String() { // it is no new one
		by = append(slices.DeleteFunc(slices.Clone(n.ran()), func(name string) bool { return name == r.Name() }), r.Name())
	}
	n.by(by...)
}

// by notes that these may have it, and nobody else.
func (n *containerNote) by(names ...string) {
	n.By = names
	if len(names) == 1 && names[0] == podmanName {
		n.By = nil
	}
}

// ranBy is those of the machine that may have the container.
func (c *contained) ranBy(p *pass) []runner {
	return slices.DeleteFunc(runners(p.sys), func(r runner) bool { return !slices.Contains(c.note.ran(), r.Name()) })
}

// lookElsewhere finds what another one has of the container, which ran it before the
// machine had the one that does.
func (c *contained) lookElsewhere(ctx context.Context, p *pass) error {
	c.left = nil
	for _, r := range c.ranBy(p) {
		if r.Name() == c.by.Name() {
			continue
		}
		is, err := r.Containers(ctx, []string{c.name()})
		if err != nil {
			return err
		}
		if is[c.name()].Ours() {
			c.left = append(c.left, r)
		}
	}
	return nil
}

// endElsewhere takes that away: the container must not run twice.
func (c *contained) endElsewhere(ctx context.Context) error {
	for _, r := range c.left {
		if err := r.RemoveContainer(ctx, c.name()); err != nil {
			return err
		}
	}
	return nil
}
