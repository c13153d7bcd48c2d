package resource

import (
	"cmp"
	"context"
	"path"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"noxmesh/declaration"
	"noxmesh/host/checks"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// asksOnce is how many questions are asked side by side.
const asksOnce = 16

// checked is what is asked, and not made: whether something answers as it should.
// Nothing of it is written, here or on the machine.
type checked struct {
	least time.Duration // for how long an answer is waited for that nothing was done about
	most  time.Duration // and where something has just been changed
}

// look asks, for a bounded time, until the answer is right: for longer where
// something was changed in this pass, which may need a moment.
func (k checked) look(ctx context.Context, p *pass, all []*holding) {
	patience := k.least
	if p.wrote || p.moved {
		patience = k.most
	}
	var machine sync.Mutex // of what is asked of the machine itself, by one at a time
	var group errgroup.Group
	group.SetLimit(asksOnce)
	for _, h := range all {
		group.Go(func() error {
			err := checks.Until(ctx, patience, func(ctx context.Context) error { return p.ask(ctx, h, &machine) })
			if err != nil {
				h.failed(err)
			}
			return nil
		})
	}
	_ = group.Wait() // nobody returns one
	for _, h := range all {
		if h.found.same = h.err == nil; !h.found.same {
			p.soon = lookAgain
		}
	}
}

// ask asks once, and names what was asked, and what came.
func (p *pass) ask(ctx context.Context, h *holding, machine *sync.Mutex) error {
	switch want := &h.want; {
	case want.HTTP != "":
		status, err := p.asker.HTTP(ctx, want.HTTP)
		if err == nil && int64(status) != cmp.Or(want.Status, 200) {
			err = fault.New(fault.Conflict, "it answered %d, want %d", status, cmp.Or(want.Status, 200))
		}
		return asked(err, "GET "+want.HTTP)
	case want.TCP != "":
		return asked(p.asker.TCP(ctx, want.TCP), "connect to "+want.TCP)
	case want.DNS != "":
		return asked(p.asker.DNS(ctx, want.DNS), "find the address of "+want.DNS)
	case want.Command.Name != "":
		return asked(p.askCommand(ctx, want.Command.Name), "run the command "+want.Command.Name)
	}
	machine.Lock()
	defer machine.Unlock()
	if h.want.Unit != "" {
		return asked(p.askUnit(ctx, h.want.Unit), "look at the unit "+h.want.Unit)
	}
	return asked(p.askFile(h.want.File), "look at "+h.want.File)
}

// asked is what came of a question, with the question.
func asked(err error, what string) error {
	if err == nil {
		return nil
	}
	kind := fault.KindOf(err)
	if kind == fault.Unknown || kind == fault.Unavailable { // nothing outside of it is waited for
		kind = fault.Conflict
	}
	return fault.Wrap(kind, err, "%s", what)
}

func (p *pass) askUnit(ctx context.Context, name string) error {
	units, err := p.manager(ctx)
	if err != nil {
		return err
	}
	unit, err := units.Read(ctx, name)
	if err == nil && !isRunning(unit) {
		err = fault.New(fault.Conflict, "it is not running: %s", activity(unit)).With("%s", advice(unit))
	}
	return err
}

func (p *pass) askFile(at string) error {
	p.sys.Forget() // it may have come since it was asked about last
	dir, err := p.sys.Dir(path.Dir(at))
	if err == nil {
		_, err = dir.Lstat(path.Base(at))
	}
	if system.Absent(err) || system.NotDirectory(err) {
		return fault.New(fault.Conflict, "there is nothing")
	}
	return err
}

// askCommand runs a command of the operator's own set.
func (p *pass) askCommand(ctx context.Context, name string) error {
	program, err := p.sys.Vet(path.Join(declaration.CheckCommands, name))
	if err != nil {
		return err
	}
	done, err := p.sys.Ask(ctx, program)
	if err != nil || done.Code == 0 {
		return err
	}
	return fault.New(fault.Conflict, "it ended with %d%s", done.Code, lastLine(done.Said))
}

// lastLine is the last that was said, after a colon, as far as people read it.
func lastLine(said string) string {
	const most = 200
	said = strings.TrimSpace(said)
	line := strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(said[strings.LastIndexAny(said, "\r\n")+1:], " ")))
	switch all := []rune(line); {
	case line == "":
		return ", and did not say why"
	case len(all) > most:
		line = string(all[:most]) + "…"
	}
	return ": " + line
}

func (checked) mean(*pass, []*holding) {}

func (checked) change(context.Context, *pass, []*holding) {}

func (checked) leave(context.Context, *pass, []*holding) {}
