package cli

import (
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
	"noxmesh/internal/term"
)

const (
	defaultWait = 30 * time.Second
	// One call waits at most this long: an answer that takes longer looks like a controller that is gone.
	oneWait = 10 * time.Second
)

func (s *shell) waitForReceipts(c *cobra.Command, in api.PushIn, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for {
		left := max(time.Until(deadline), 0)
		in.Wait = int64(min(left, oneWait) / time.Millisecond)
		out, err := ask(c.Context(), s, api.Push(), in)
		if err != nil {
			return err
		}
		missing := 0
		in.Nodes, in.Behind = nil, false // from now on just those
		for _, n := range out.Nodes {
			in.Nodes = append(in.Nodes, n.Node)
			if !n.Accepted && n.Why != nothingWanted {
				missing++
			}
		}
		if missing == 0 || time.Until(deadline) <= 0 || len(out.Nodes) == 0 {
			s.late = missing > 0
			s.show(out, func() { s.showPushed(out) })
			return nil
		}
		s.out.Progress("waiting for %d receipts", missing)
	}
}

// nothingWanted is the controller's word for a node that has nothing to accept.
const nothingWanted = "nothing is wanted of it"

func (s *shell) showPushed(out api.PushOut) {
	if len(out.Nodes) == 0 {
		s.out.Note("no node is behind")
		return
	}
	now, t := time.Now(), newTable("NODE", "WAS", "RECEIPT", "LAST SEEN")
	for _, n := range out.Nodes {
		was, receipt, seen := string(n.Behind), "accepted", "never"
		if was == "" {
			was = "not behind"
		}
		if !n.Accepted {
			receipt = n.Why
		}
		if !n.LastSeen.IsZero() {
			seen = term.Ago(now.Sub(n.LastSeen))
		}
		t.row(n.Name, was, term.Clean(receipt), seen)
	}
	s.table(t)
}
