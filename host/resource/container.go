package resource

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/podman"
	"noxmesh/host/system"
	"noxmesh/image"
	"noxmesh/internal/fault"
)

const (
	imageLimit  = time.Hour // for one image to come
	unitsFolder = "/etc/systemd/system"
)

// containers is what podman runs, each in a unit of systemd that the host keeps: to
// run, to be restarted and to come up at boot is the unit's, as of any service. The
// note of one says what of it cannot be seen on the machine.
type containers struct{}

// contained is a container on its way through a wave.
type contained struct {
	*holding
	of    image.Reference
	note  containerNote
	unit  *holding         // its unit, as a service that is declared to run
	is    podman.Container // none where its ID is empty
	image podman.Image     // the declared one; none where its ID is empty
	file  string           // what is in the file of its unit
	wrong []string
}

// look reads the unit of each as that of a service, and what podman has of each: one
// child process for all of them, and one more where an image has a check.
func (containers) look(ctx context.Context, p *pass, all []*holding) {
	containers := make([]*contained, 0, len(all))
	for _, h := range all {
		c := newContained(h)
		if before, _ := h.found.memory.(*contained); before != nil { // before it was changed
			c.note, c.unit = before.note, before.unit
			c.unit.found = stand{memory: c.unit.found.memory}
		}
		containers = append(containers, c)
	}
	services{}.look(ctx, p, unitsOf(containers))
	is, err := podman.Of(p.sys).Containers(ctx, namesOf(all))
	for _, c := range containers {
		if err != nil {
			c.failed(err)
			continue
		}
		c.is = is[c.name()]
		if err := c.read(ctx, p); err != nil {
			c.failed(err)
			continue
		}
		c.judge()
	}
	watchHealth(ctx, p, containers)
	for _, c := range containers {
		c.say()
	}
}

func newContained(h *holding) *contained {
	c := &contained{holding: h, note: readContainerNote(h.hold.Note)}
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
	if c.note.Of != c.want.Image {
		c.image, _, err = podman.Of(p.sys).Image(ctx, c.want.Image)
		return err
	}
	c.image = podman.Image{ID: c.note.Image, Check: c.note.Check}
	return nil
}

// judge says how the container is not as declared, but for its health.
func (c *contained) judge() {
	if c.foreign() {
		c.wrong = []string{"podman has a container of that name which the mesh did not make"}
		return
	}
	c.wrong = nil
	mark := c.mark()
	switch {
	case c.is.ID == "":
	case c.image.ID == "" || c.is.Image != c.image.ID:
		c.wrong = append(c.wrong, "made from "+c.is.Called)
	case c.is.Labels[podman.MarkLabel] != mark:
		c.wrong = append(c.wrong, "started as something else was declared")
	}
	if c.file != "" && (c.image.ID == "" || c.file != c.text()) && len(c.wrong) == 0 {
		c.wrong = append(c.wrong, "its unit says something else")
	}
	if !c.unit.found.same {
		c.wrong = append(c.wrong, c.unit.found.says)
	} else if !c.is.Running {
		c.wrong = append(c.wrong, "podman does not run it")
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
	same := len(c.wrong) == 0 && c.note.Of == c.want.Image
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
		c.hold.Note = c.note.String()
	}
}

// mean refuses what is somebody else's, and notes what the host is about to bring.
func (containers) mean(p *pass, all []*holding) {
	for _, h := range all {
		c, _ := h.found.memory.(*contained)
		switch s := c.service(); {
		case c.foreign():
			h.refused("podman rename gives it another name; or call the declared one otherwise", "%s", c.wrong[0])
			continue
		case s.unit.Load == "masked":
			h.refused(advice(s.unit), "its unit is masked: nothing can start it")
			continue
		}
		if own := localName(c.of); !slices.Contains(c.note.Brought, own) && (c.image.ID == "" || p.hasBrought(own)) {
			c.note.Brought = append(c.note.Brought, own)
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
	var ready []*contained
	each(ctx, imageLimit, all, func(ctx context.Context, h *holding) error {
		c, _ := h.found.memory.(*contained)
		if err := c.bring(ctx, p); err != nil {
			return err
		}
		if err := c.write(p); err != nil {
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

// bring has podman have the image, and reads back that it is the declared one.
func (c *contained) bring(ctx context.Context, p *pass) error {
	if c.note.Of == c.want.Image {
		there := false
		var err error
		if c.image, there, err = podman.Of(p.sys).Image(ctx, c.want.Image); err != nil || there && c.image.ID == c.note.Image {
			c.image.Check = c.note.Check
			return err
		}
	}
	check := c.image.Check
	var err error
	switch {
	case c.of.IsOwn():
		check, err = c.fetch(ctx, p)
	case c.image.ID == "":
		err = podman.Of(p.sys).Pull(ctx, c.want.Image)
	}
	if err != nil {
		return err
	}
	is, there, err := podman.Of(p.sys).Image(ctx, c.want.Image)
	if err != nil {
		return err
	}
	if !there || !is.Is(c.of.Digest) {
		return fault.New(fault.Conflict, "read back the image %q: podman does not have it", c.want.Image)
	}
	if !c.of.IsOwn() {
		check = is.Check
	}
	is.Check = check
	c.image = is
	c.note.Of, c.note.Image, c.note.Check = c.want.Image, is.ID, check
	c.hold.Note = c.note.String()
	p.record.Holds[c.hold.Subject] = c.hold
	p.dirty = true
	return nil
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
	if c.is.ID == "" || !c.is.Running || c.is.Image != c.image.ID || c.is.Labels[podman.MarkLabel] != c.mark() {
		s.idle = true
	}
	return nil
}

// dropOld removes the images that the host has brought and that are not declared any
// more, once the new one runs. What somebody uses stays.
func (c *contained) dropOld(ctx context.Context, p *pass) error {
	own := localName(c.of)
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

// dropImages removes these images but for one, and is those that stay.
func dropImages(ctx context.Context, p *pass, names []string, but string) ([]string, error) {
	var left []string
	for i, name := range names {
		if name == but {
			left = append(left, name)
			continue
		}
		if _, err := podman.Of(p.sys).RemoveImage(ctx, name); err != nil {
			return append(left, names[i:]...), err
		}
	}
	return left, nil
}
