package resource

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"noxmesh/declaration"
	"noxmesh/host/container"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/image"
	"noxmesh/internal/fault"
)

const (
	imageLimit  = time.Hour // for one image to come
	imagesOnce  = 4         // that come side by side: the way is kept busy while one of them is unpacked
	unitsFolder = "/etc/systemd/system"
)

// containers is what podman or docker runs, each in a unit of systemd that the host keeps: to
// run, to be restarted and to come up at boot is the unit's, as of any service. The
// note of one says what of it cannot be seen on the machine.
type containers struct{}

// contained is a container on its way through a wave.
type contained struct {
	*holding
	of    image.Reference
	by    runner // what is to run it
	note  containerNote
	unit  *holding            // its unit, as a service that is declared to run
	is    container.Container // none where its ID is empty
	image container.Image     // the declared one; none where its ID is empty
	file  string              // what is in the file of its unit
	left  []runner            // who else has one of it
	wrong []string

	unsure bool // a host was ended while it brought the image, which may be there and be empty
}

// look reads the unit of each as that of a service, and what its runner has of each: one
// question for all of them, and one more where an image has a check.
func (containers) look(ctx context.Context, p *pass, all []*holding) {
	by := runnerOf(p.sys)
	containers := make([]*contained, 0, len(all))
	for _, h := range all {
		c := newContained(h, by)
		if before, _ := h.found.memory.(*contained); before != nil { // before it was changed
			c.note, c.unit = before.note, before.unit
			c.unit.found = stand{memory: c.unit.found.memory}
		}
		containers = append(containers, c)
	}
	services{}.look(ctx, p, unitsOf(containers))
	find(ctx, by, containers)
	for _, c := range containers {
		if c.err == nil {
			if err := c.read(ctx, p); err != nil {
				c.failed(err)
			}
		}
	}
	awaitStart(ctx, p, by, containers)
	for _, c := range containers {
		if c.err == nil {
			c.judge()
		}
	}
	watchHealth(ctx, by, containers)
	for _, c := range containers {
		c.say()
	}
}

// find asks the runner for those that are there.
func find(ctx context.Context, by runner, all []*contained) {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name()
	}
	is, err := by.Containers(ctx, names)
	for _, c := range all {
		if err != nil {
			c.failed(err)
		}
		c.is = is[c.name()]
	}
}

func newContained(h *holding, by runner) *contained {
	c := &contained{holding: h, by: by, note: readContainerNote(h.hold.Note)}
	c.of, _ = image.Parse(h.want.Image) // it was checked
	unit := declaration.ContainerUnit(h.name())
	c.unit = &holding{
		want: declaration.Traits{Unit: unit, State: declaration.Running, RestartOn: h.want.RestartOn},
		hold: keep.Hold{Subject: string(declaration.Service) + " " + unit, ID: h.hold.ID, Note: c.note.Unit, Origin: h.hold.Origin, Phase: h.hold.Phase}, known: h.known,
	}
	return c
}

func unitsOf(all []*contained) []*holding {
	units := make([]*holding, 0, len(all))
	for _, c := range all {
		if c.err == nil {
			units = append(units, c.unit)
		}
	}
	return units
}

// service is the unit as it was read.
func (c *contained) service() *service {
	s, _ := c.unit.found.memory.(*service)
	return s
}

// read reads the file of the unit, and asks for the image where nobody knows yet which
// one the declared name means on this machine.
func (c *contained) read(ctx context.Context, p *pass) error {
	if c.unit.err != nil {
		return c.unit.err
	}
	var err error
	if c.file, err = p.sys.Text(path.Join(unitsFolder, c.unit.want.Unit), unitLimit); err != nil && !system.Absent(err) {
		return err
	}
	if c.note.Of != has(c.by, c.want.Image) {
		if c.image, err = c.declared(ctx, ""); err != nil {
			return err
		}
	} else {
		c.image = container.Image{ID: c.note.Image, Check: c.note.Check}
	}
	return c.lookElsewhere(ctx, p)
}

// declared is the declared image where the runner has it: that is told by its digest, or
// by that of its configuration where the runner knows it by nothing else.
func (c *contained) declared(ctx context.Context, config string) (container.Image, error) {
	is, there, err := c.by.Image(ctx, localName(c.of))
	if err != nil || !there || !is.Is(c.of.Digest) && !is.Is(config) {
		return container.Image{}, err
	}
	return is, nil
}

// judge says how the container is not as declared, but for its health.
func (c *contained) judge() {
	if c.foreign() {
		c.wrong = []string{c.by.Name() + " has a container of that name which the mesh did not make"}
		return
	}
	c.wrong = nil
	mark := c.mark()
	switch {
	case c.is.ID == "":
	case c.image.ID == "" || c.is.Image != c.image.ID:
		c.wrong = append(c.wrong, "made from "+c.is.Called)
	case c.is.Labels[container.MarkLabel] != mark:
		c.wrong = append(c.wrong, "started as something else was declared")
	}
	if c.file != "" && (c.image.ID == "" || c.file != c.text()) && len(c.wrong) == 0 {
		c.wrong = append(c.wrong, "its unit says something else")
	}
	if !c.unit.found.same {
		c.wrong = append(c.wrong, c.unit.found.says)
	} else if !c.is.Running {
		c.wrong = append(c.wrong, c.by.Name()+" does not run it")
	}
	for _, r := range c.left {
		c.wrong = append(c.wrong, r.Name()+" has one of it as well")
	}
}

// foreign reports whether somebody else has made the container that is there.
func (c *contained) foreign() bool { return c.is.ID != "" && !c.is.Ours() }

// say is what the look has come to.
func (c *contained) say() {
	if c.err != nil {
		return
	}
	c.note.Unit = c.unit.hold.Note
	same := len(c.wrong) == 0 && c.note.Of == has(c.by, c.want.Image)
	if len(c.wrong) == 0 && !same {
		c.wrong = []string{"nobody knows which image it is made from"}
	}
	c.found = stand{
		there: c.file != "" || c.is.ID != "" && !c.foreign(), same: same, half: true,
		says: strings.Join(c.wrong, ", "), todo: c.unit.found.todo, memory: c,
	}
	if c.file == "" && c.is.ID == "" {
		c.found.says = nothing
	}
	if same {
		c.note.by(c.by.Name())
		c.hold.Note = c.note.String()
	}
}

// mean refuses what is somebody else's, and notes what the host is about to bring.
func (containers) mean(p *pass, all []*holding) {
	for _, h := range all {
		c, _ := h.found.memory.(*contained)
		switch s := c.service(); {
		case c.foreign():
			h.refused(c.by.Name()+" rename gives it another name; or call the declared one otherwise", "%s", c.wrong[0])
			continue
		case c.by.Short(c.name()):
			h.refused("call it by a longer one", "%s has no containers of so short a name", c.by.Name())
			continue
		case s.unit.Load == "masked":
			h.refused(advice(s.unit), "its unit is masked: nothing can start it")
			continue
		}
		c.note.takes(c.by)
		own := has(c.by, localName(c.of))
		if !slices.Contains(c.note.Brought, own) && (c.image.ID == "" || p.hasBrought(own)) {
			c.note.Brought = append(c.note.Brought, own)
		}
		if c.unsure = c.note.Bringing == own; c.image.ID == "" {
			c.note.Bringing = own
		}
		c.takesUnit()
		h.hold.Note = c.note.String()
	}
}

// takesUnit notes that whatever the unit does is the host's doing.
func (c *contained) takesUnit() {
	unit := readNote(c.note.Unit)
	unit.started, unit.enabled = true, true
	c.note.Unit = unit.String()
	c.unit.hold.Note = c.note.Unit
}

// hasBrought reports whether the host has brought this image for any of its containers.
func (p *pass) hasBrought(name string) bool {
	for subject, hold := range p.record.Holds {
		if strings.HasPrefix(subject, string(declaration.Container)+" ") && slices.Contains(readContainerNote(hold.Note).Brought, name) {
			return true
		}
	}
	return false
}

// change brings the image of each, and only then has its unit started anew: until the
// image is there and is the declared one, what ran before goes on.
func (containers) change(ctx context.Context, p *pass, all []*holding) {
	bringImages(ctx, p, all)
	var ready []*contained
	each(ctx, imageLimit, all, func(ctx context.Context, h *holding) error {
		c, _ := h.found.memory.(*contained)
		if h.hold.Note = c.note.String(); p.record.Holds[h.hold.Subject] != h.hold {
			p.record.Holds[h.hold.Subject] = h.hold
			p.dirty = true
		}
		if err := c.write(p); err != nil {
			return err
		}
		if err := c.endElsewhere(ctx); err != nil {
			return err
		}
		ready = append(ready, c)
		return nil
	})
	services{}.change(ctx, p, unitsOf(ready))
	for _, c := range ready {
		if c.unit.err != nil {
			c.failed(c.unit.err)
			continue
		}
		if err := c.dropOld(ctx, p); err != nil {
			c.failed(err)
		}
	}
}

// bring has the runner have the image, and reads back that it is the declared one.
func (c *contained) bring(ctx context.Context, p *pass) error {
	if c.note.Of == has(c.by, c.want.Image) {
		is, there, err := c.by.Image(ctx, localName(c.of))
		if err != nil {
			return err
		}
		if c.image = is; there && is.ID == c.note.Image {
			c.image.Check = c.note.Check
			return nil
		}
		if c.image, err = c.declared(ctx, ""); err != nil {
			return err
		}
	}
	is, err := c.fetched(ctx, p)
	if err == nil {
		err = c.sealImage(p)
	}
	if err != nil {
		return err
	}
	c.image = is
	c.note.Of, c.note.Image, c.note.Check, c.note.Bringing = has(c.by, c.want.Image), is.ID, is.Check, ""
	return nil
}

// fetched is the declared image, which the runner has by now.
func (c *contained) fetched(ctx context.Context, p *pass) (container.Image, error) {
	if c.of.IsOwn() {
		return c.fetch(ctx, p)
	}
	if err := c.dropUnsure(ctx, p, c.want.Image); err != nil {
		return container.Image{}, err
	}
	if c.image.ID != "" {
		return c.readBack(ctx, "")
	}
	if is, err := c.declared(ctx, ""); err != nil || is.ID != "" { // it has come since, for another one
		return is, err
	}
	if err := c.by.Pull(ctx, c.want.Image); err != nil {
		return container.Image{}, err
	}
	return c.readBack(ctx, "")
}

// readBack is the declared image, which must be there.
func (c *contained) readBack(ctx context.Context, config string) (container.Image, error) {
	is, err := c.declared(ctx, config)
	if err == nil && is.ID == "" {
		err = fault.New(fault.Conflict, "read back the image %q: %s does not have it", c.want.Image, c.by.Name())
	}
	return is, err
}

// write makes the file of the unit what it should be, and says what is to be done
// about the unit.
func (c *contained) write(p *pass) error {
	s := c.service()
	text := c.text()
	if c.file != text {
		if err := p.putText(path.Join(unitsFolder, c.unit.want.Unit), text); err != nil {
			return err
		}
		s.unit.Stale = true
	}
	if c.is.ID == "" || !c.is.Running || c.is.Image != c.image.ID || c.is.Labels[container.MarkLabel] != c.mark() {
		s.idle = true
	}
	return nil
}

// dropOld removes the images that the host has brought and that are not declared any
// more, once the new one runs. What somebody uses stays.
func (c *contained) dropOld(ctx context.Context, p *pass) error {
	own := has(c.by, localName(c.of))
	if !slices.ContainsFunc(c.note.Brought, func(name string) bool { return name != own }) {
		return nil
	}
	units, err := p.manager(ctx)
	if err != nil {
		return err
	}
	now, err := units.Read(ctx, c.unit.want.Unit)
	if err != nil || !isRunning(now) {
		return err
	}
	left, err := dropImages(ctx, p, c.note.Brought, own)
	c.note.Brought = left
	return err
}

// dropImages removes these images but for one, and is those that stay. Those of a runner
// that the machine has no more went with it.
func dropImages(ctx context.Context, p *pass, names []string, but string) ([]string, error) {
	var left []string
	all := runners(p.sys)
	for i, name := range names {
		if name == but {
			left = append(left, name)
			continue
		}
		of, image := whose(name)
		for _, r := range all {
			if r.Name() != of {
				continue
			}
			if err := r.RemoveImage(ctx, image); err != nil {
				return append(left, names[i:]...), err
			}
		}
	}
	return left, nil
}
