package host

import (
	"context"
	"strconv"
	"time"

	"noxmesh/document"
	"noxmesh/host/keep"
	"noxmesh/internal/fault"
	"noxmesh/internal/planted"
	"noxmesh/link"
	"noxmesh/report"
)

// toBeTold makes a report the one to be told. An older one that was not told yet
// is told by it.
func (r *runner) toBeTold(rep report.Report) {
	r.mu.Lock()
	r.untold = &rep
	r.mu.Unlock()
	nudge(r.reports)
}

// goOnAbove is for a node whose disk was put back to what it had been: what it
// says counts again above the number that the mesh has heard. The latest report,
// which may have been taken for an older one, is told anew.
func (r *runner) goOnAbove(heard int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	moved, err := r.counter.Above(heard)
	if err != nil || !moved {
		return err
	}
	r.cfg.Log.Warn("the mesh has heard more of this node than it remembers: its disk was put back", "heard", heard)
	nudge(r.hello)
	l, err := r.folder.Latest()
	if fault.KindOf(err) == fault.NotFound || err == nil && l.Report.Node != r.member.node {
		return nil
	}
	if err != nil {
		return err
	}
	if l.Report.Sequence, err = r.counter.Next(); err != nil {
		return err
	}
	if err := r.saveLatest(keep.Latest{Report: l.Report, Says: l.Says}); err != nil {
		return err
	}
	r.untold = &l.Report
	nudge(r.reports)
	return nil
}

// tell sends the latest report until the controller says that it is committed.
func (r *runner) tell(ctx context.Context) error {
	if err := r.recall(); err != nil {
		return err
	}
	backoff := r.cfg.Backoff
	for {
		wait := r.cfg.BackoffMost
		if rep := r.toTell(); rep != nil {
			err := r.send(ctx, *rep)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the end that was asked for
			}
			if err == nil {
				backoff = r.cfg.Backoff
				r.rest() // the report was made into bytes several times over
			} else {
				r.cfg.Log.Warn("report", "sequence", rep.Sequence, "why", err)
				wait, backoff = r.jitter(backoff), min(2*backoff, r.cfg.BackoffMost)
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-r.reports:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// recall is what was not told before the last stop.
func (r *runner) recall() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest.Committed || r.untold != nil {
		return nil
	}
	l, err := r.folder.Latest()
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if l.Report.Node == r.member.node {
		r.untold = &l.Report
	}
	return nil
}

func (r *runner) toTell() *report.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.untold
}

// send is one attempt. The receipt is for this very report.
func (r *runner) send(ctx context.Context, rep report.Report) error {
	payload, err := r.ask(ctx, question{link.VerbReport, link.TypeReport, rep, link.TypeReceipt})
	if err != nil {
		return err
	}
	receipt, err := link.DecodeReceipt(payload)
	if err != nil {
		return err
	}
	if receipt.Mesh != rep.Mesh || receipt.To != rep.Node || receipt.For != strconv.FormatInt(rep.Sequence, 10) && !planted.Is("receipt of another report believed") {
		return fault.New(fault.Denied, "a receipt for %q to %q of mesh %q, this is report %d of %q in %q",
			receipt.For, receipt.To, receipt.Mesh, rep.Sequence, rep.Node, rep.Mesh)
	}
	return r.told(rep)
}

// told notes that the controller has it.
func (r *runner) told(rep report.Report) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rep.Facts != nil {
		digest, err := document.CanonicalDigest(*rep.Facts)
		if err != nil {
			return err
		}
		r.state.Facts = digest
		if err := r.saveState(); err != nil {
			return err
		}
	}
	if r.untold == nil || r.untold.Sequence != rep.Sequence {
		return nil // a newer one has come
	}
	r.untold = nil
	said := says(rep)
	if r.latest.Committed && r.latest.Says == said {
		return nil // as the one before, which said the same
	}
	return r.saveLatest(keep.Latest{Report: rep, Says: said, Committed: true})
}

// question is one message, and what its answer must be.
type question struct {
	verb   link.Verb
	sends  link.PayloadType
	what   any
	expect link.PayloadType
}

// ask signs a message, sends it, and opens the answer.
func (r *runner) ask(ctx context.Context, q question) ([]byte, error) {
	envelope, err := link.Seal(r.member.keys.sign, q.sends, q.what)
	if err != nil {
		return nil, err
	}
	data, err := document.Canonical(envelope)
	if err != nil {
		return nil, err
	}
	subject, err := link.Subject(q.verb, r.member.node)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	reply, err := r.link.Request(ctx, subject, data)
	if err != nil {
		return nil, err
	}
	payload, err := r.member.open(reply, q.expect)
	if err != nil {
		return nil, fault.Add(err, "verify the answer to the %s", q.verb)
	}
	return payload, nil
}
