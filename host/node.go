package host

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/host/resource"
	"noxmesh/host/system"
	"noxmesh/internal/clock"
	"noxmesh/internal/fault"
	"noxmesh/report"
	"noxmesh/trouble"
)

// node is this machine with its state, held by this process alone.
type node struct {
	cfg    Config
	sys    *system.Root
	folder *keep.Folder
	engine *resource.Engine // with sys, used by one goroutine
	bouts  bouts            // of that one too
	boot   string

	mu      sync.Mutex // guards what follows
	counter *keep.Counter
	state   keep.State
	saved   keep.State     // on disk
	latest  keep.Standing  // of the report on disk
	untold  *report.Report // the latest, until the controller has it
}

func open(cfg Config) (n *node, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n = &node{cfg: cfg, bouts: bouts{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	if n.sys, err = system.Open(cfg.Root); err != nil {
		return n, err
	}
	if n.folder, err = keep.Open(n.sys); err != nil {
		return n, err
	}
	record, err := n.folder.Record()
	if err != nil {
		return n, err
	}
	if n.counter, err = n.folder.Counter(); err != nil {
		return n, err
	}
	if n.state, err = n.folder.State(); err != nil {
		return n, err
	}
	n.saved = n.state // what one of them points to is replaced, and never changed
	if n.latest, err = n.folder.Standing(); err != nil {
		return n, err
	}
	n.engine = resource.New(n.sys, n.folder, record)
	n.engine.Is(cfg.Versions)
	n.engine.Ask(cfg.Reach)
	n.boot = system.Boot()
	return n, nil
}

func (n *node) close() error {
	var errs []error
	if n.folder != nil {
		errs = append(errs, n.folder.Close())
	}
	if n.sys != nil {
		errs = append(errs, n.sys.Close())
	}
	return errors.Join(errs...)
}

// aim is a declaration with its place in the order.
type aim struct {
	declaration.Declaration
	tuple declaration.Tuple
}

// pass is one application of a declaration: effects, read-back, record, report.
// An error is the end of ctx, or a report that could not be made durable; then
// the report is good all the same where it has a sequence.
func (n *node) pass(ctx context.Context, a aim, cause report.Cause, source resource.Source) (report.Report, error) {
	r, err := n.look(ctx, a, cause, source)
	if err == nil {
		r, err = fitting(r)
	}
	if err != nil {
		return report.Report{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.state.Applied = r.Applied
	return n.keepReport(r)
}

// look is the part of a pass before its report is cut, numbered and kept.
func (n *node) look(ctx context.Context, a aim, cause report.Cause, source resource.Source) (report.Report, error) {
	began := clock.Now()
	spared, _ := n.bouts.spared(began, n.cfg.Backoff, n.cfg.Drift)
	n.engine.Spare(spared)
	result, err := n.engine.Apply(ctx, a.Body, source)
	if err != nil {
		return report.Report{}, err
	}
	facts := n.sys.Facts()
	facts.Capabilities = append(facts.Capabilities, n.engine.Keeps()...)
	slices.Sort(facts.Capabilities)
	ended := began.Add(time.Since(began)) // though the clock may have been set meanwhile
	n.bouts.look(result.Resources, ended, n.cfg.Drift)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count(&result, ended)
	r := report.Report{
		Format: report.Format, Mesh: a.Mesh, Node: a.Node, Boot: n.boot,
		Accepted: a.tuple, Applied: applied(n.state.Applied, a.tuple, result.Right), Host: n.cfg.Version, Cause: cause,
		Began: began.UnixMilli(), Ended: ended.UnixMilli(), Outcome: result.Outcome, Trouble: n.state.Trouble,
		Modules: a.Body.Modules, Resources: result.Resources,
	}
	if known, err := n.knows(facts); err != nil {
		return report.Report{}, err
	} else if !known {
		r.Facts = &facts
	}
	return r, nil
}

// knows reports whether the controller has these facts. n.mu is held.
func (n *node) knows(facts report.Facts) (bool, error) {
	if n.state.Facts == "" {
		return false, nil
	}
	digest, err := document.CanonicalDigest(facts)
	return digest == n.state.Facts, err
}

// applied is what is applied after a pass on this tuple.
func applied(before, tuple declaration.Tuple, right bool) declaration.Tuple {
	switch {
	case right:
		return tuple
	case before == tuple:
		return none // it was, and what has drifted is not put back yet
	}
	return before
}

// keepReport numbers the report and makes it durable, after the record that it
// stands on. One that says what the latest on the disk says is not written
// again: what it tells beyond that is that somebody has looked, and after a
// restart somebody looks before anything else. n.mu is held.
func (n *node) keepReport(r report.Report) (report.Report, error) {
	var err error
	if r.Sequence, err = n.counter.Next(); err != nil {
		return report.Report{}, fault.Add(err, "number the report")
	}
	if err := n.saveState(); err != nil {
		return r, err
	}
	said := says(r)
	if said == n.latest.Says {
		n.folder.Looked(clock.Now())
		return r, nil
	}
	return r, n.saveLatest(keep.Latest{Report: r, Says: said})
}

// saveLatest makes a report the latest on the disk. n.mu is held.
func (n *node) saveLatest(l keep.Latest) error {
	if err := n.folder.SaveLatest(l); err != nil {
		n.latest = keep.Standing{} // it may be either
		return err
	}
	n.latest = keep.Standing{Sequence: l.Report.Sequence, Says: l.Says, Committed: l.Committed}
	return nil
}

// saveState writes the state where it has moved. n.mu is held.
func (n *node) saveState() error {
	if reflect.DeepEqual(n.state, n.saved) {
		return nil
	}
	if err := n.folder.SaveState(n.state); err != nil {
		return err
	}
	n.saved = n.state
	return nil
}

// count keeps the trouble and since when each resource waits. n.mu is held.
func (n *node) count(result *resource.Result, now time.Time) {
	var failed []string
	waiting := map[string]int64{}
	for i := range result.Resources {
		r := &result.Resources[i]
		switch r.State {
		case report.StateFailed:
			failed = append(failed, r.ID)
		case report.StateWaiting:
			since, ok := n.state.Waiting[r.ID]
			if !ok {
				since = now.UnixMilli()
			}
			waiting[r.ID] = since
			r.Error += ", waiting since " + time.UnixMilli(since).UTC().Format(time.RFC3339)
		case report.StateOK, report.StateChanged, report.StateDiffers, report.StateBlocked, report.StateRemoved:
		}
	}
	if !maps.Equal(n.state.Waiting, waiting) {
		n.state.Waiting = waiting
	}
	if len(waiting) == 0 {
		n.state.Waiting = nil
	}
	n.state = troubled(n.state, failed, now)
}

// troubled is the state after a pass in which these resources failed: counted by
// the one rule that the mesh counts by too.
func troubled(s keep.State, failed []string, now time.Time) keep.State {
	if len(failed) == 0 {
		s.Trouble, s.Others = nil, nil
		return s
	}
	var was trouble.Trouble
	if s.Trouble != nil {
		was = trouble.Trouble{Fingerprint: s.Trouble.Fingerprint, Since: time.UnixMilli(s.Trouble.Since), Count: s.Trouble.Count}
		for _, o := range s.Others {
			was.Others = append(was.Others, trouble.Other{Fingerprint: o.Fingerprint, Since: time.UnixMilli(o.Since), Count: o.Count})
		}
	}
	is := was.Again("", trouble.Fingerprint(failed), "", now)
	s.Trouble, s.Others = &report.Trouble{Fingerprint: is.Fingerprint, Since: is.Since.UnixMilli(), Count: is.Count}, nil
	for _, o := range is.Others {
		s.Others = append(s.Others, report.Trouble{Fingerprint: o.Fingerprint, Since: o.Since.UnixMilli(), Count: o.Count})
	}
	return s
}
