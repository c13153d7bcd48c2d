package resource

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"noxmesh/declaration"
	"noxmesh/host/keep"
	"noxmesh/host/system"
	"noxmesh/internal/fault"
)

// kind is a type of resource that is no file: it is read, changed and taken away
// through a program or a service of the machine. What the waves, the record and the
// report do with it is the same for every one, and stands in holding.go.
//
// Each call is about all the resources of this type in a wave, so that what costs
// the same for any number of them is done once. What stands against one of them a
// kind says with failed; the others go on.
type kind interface {
	// look compares the machine with each, and sets what was found. It changes
	// nothing. Called before and after each change; where nothing has drifted it
	// is all that is called, and it starts no child process for each of them.
	look(ctx context.Context, p *pass, all []*holding)
	// mean refuses what must not be changed, and writes into the note what must be
	// known of the change after a kill at any moment of it. What it says is on the
	// disk before change is called.
	mean(p *pass, all []*holding)
	// change makes each as declared. It need not read back: look is called again.
	change(ctx context.Context, p *pass, all []*holding)
	// leave is about what is no longer declared: it takes away what the host made,
	// and reads back that it is gone, or says why it stays. What the host took over
	// is let go of, without what the host had added to it.
	leave(ctx context.Context, p *pass, all []*holding)
}

// rankedKind is a kind, and how it goes with the others.
type rankedKind struct {
	of    declaration.Type
	needs [][]string // of one of these all is there on a machine that has such things at all; none needs nothing
	early bool       // what is no longer declared of it goes before anything else is done, not after
	kind
}

const booted = "/run/systemd/system" // is there where systemd has booted the machine

// kinds is every type that is no file, in the order in which those of one wave are made.
// What is no longer declared goes in the opposite order.
func kinds() []rankedKind {
	return []rankedKind{
		{of: declaration.Package, kind: packaged{}, needs: [][]string{{"/usr/bin/apt-get"}, {system.Dnf}}}, // it may bring groups that users are in
		{of: declaration.Group, kind: groups{}},
		{of: declaration.User, kind: users{}},
		{of: declaration.Sysctl, kind: sysctls{}},
		{of: declaration.Mount, kind: mounted{}, needs: [][]string{{"/bin/mount"}}},
		{of: declaration.Service, kind: services{}, early: true, needs: [][]string{{booted}}},
		{of: declaration.Container, kind: containers{}, early: true, needs: runContainers()},
		{of: declaration.Check, kind: checked{least: 5 * time.Second, most: 30 * time.Second}},
	}
}

// Keeps is the capabilities of this host on this machine, beside what is at paths as
// every host has always kept it: what a plan may have it keep.
func (e *Engine) Keeps() []string {
	defer e.sys.Forget()
	var all []string
	for _, k := range e.kinds {
		if e.sys.Whole() && (len(k.needs) == 0 || slices.ContainsFunc(k.needs, e.hasAll)) {
			all = append(all, declaration.Keeps(k.of))
		}
	}
	if e.sys.Whole() {
		all = append(all, declaration.KeepsOwner, declaration.KeepsSwap, declaration.KeepsCheckCommand)
	}
	if e.opener != nil {
		all = append(all, declaration.KeepsSecrets)
	}
	return all
}

func (e *Engine) hasAll(files []string) bool {
	return !slices.ContainsFunc(files, func(file string) bool { return !e.sys.Has(file) })
}

// holding is one resource that is no file, on its way through a wave; or what the
// record has of one that is no longer declared.
type holding struct {
	it    *item              // nil for what is no longer declared
	want  declaration.Traits // what is declared of it
	hold  keep.Hold          // the line of the record, which has its subject and its id in any case
	known bool               // the record had it before this wave
	found stand
	stays string // leave: why something of it stays
	err   error
}

// stand is what is there.
type stand struct {
	there  bool
	same   bool   // as declared
	hollow bool   // where it differs, nothing that lies in it is there either
	half   bool   // what a killed host may have been at: there, not as declared, and the host's own
	says   string // what is there, where it differs
	todo   string // what to do about it where it stays so

	memory any // what a kind knows of it beside, for its next call
}

// name is what it is called on the machine.
func (h *holding) name() string {
	_, name, _ := strings.Cut(h.hold.Subject, " ")
	return name
}

// failed ends it for this pass. The first failure counts.
func (h *holding) failed(err error) {
	if h.err == nil {
		h.err = err
	}
}

// refused is failed with what was met, and what to do about it.
func (h *holding) refused(todo, format string, args ...any) {
	h.failed(fault.New(fault.Conflict, format, args...).With("%s", todo))
}

// each does it to one after another, for at most so long each; what has failed is left out.
func each(ctx context.Context, limit time.Duration, all []*holding, do func(ctx context.Context, h *holding) error) {
	together(ctx, limit, 1, all, do)
}

// together is each, side by side: so many at once.
func together(ctx context.Context, limit time.Duration, once int, all []*holding, do func(ctx context.Context, h *holding) error) {
	var group errgroup.Group
	group.SetLimit(once)
	for _, h := range all {
		if h.err != nil {
			continue
		}
		group.Go(func() error {
			one, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			if err := do(one, h); err != nil {
				h.failed(err)
			}
			return nil
		})
	}
	_ = group.Wait() // nobody returns one
}
