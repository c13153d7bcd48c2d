package cli

import (
	"time"

	"github.com/spf13/cobra"

	"noxmesh/api"
)

const (
	defaultWait = 30 * time.Second
	// One call waits at most this long: an answer that takes longer looks like a controller that is gone.
	oneWait = 10 * time.Second
)

func (s *shell) waitForReceipts(c *cobra.Command, in api.PushIn, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	behind := in.Behind
	was := map[string]api.Pushed{} // as the first answer had it, before anything was sent
	for {
		left := max(time.Until(deadline), 0)
		in.Wait = int64(min(left, oneWait) / time.Millisecond)
		out, err := ask(c.Context(), s, api.Push(), in)
		if err != nil {
			return err
		}
		var missing int
		in.Behind = false // from now on just those
		in.Nodes, missing = pushedTo(out, was)
		if missing == 0 || time.Until(deadline) <= 0 {
			s.late = missing > 0
			s.show(out, func() { s.showPushed(out, behind) })
			return nil
		}
		s.out.Progress("waiting for %d receipts", missing)
	}
}

// pushedTo is the nodes of an answer and how many of them owe a receipt. How
// each was behind stays as the first answer had it.
func pushedTo(out api.PushOut, was map[string]api.Pushed) (nodes []string, missing int) {
	for i, n := range out.Nodes {
		if before, ok := was[n.Node]; ok {
			out.Nodes[i].Behind = before.Behind
		} else {
			was[n.Node] = n
		}
		nodes = append(nodes, n.Node)
		if !n.Accepted && n.Why != nothingWanted {
			missing++
		}
	}
	return nodes, missing
}

// nothingWanted is the controller's word for a node that has nothing to accept.
const nothingWanted = "nothing is wanted of it"

func (s *shell) showPushed(out api.PushOut, behind bool) {
	switch {
	case len(out.Nodes) > 0:
	case behind:
		s.out.Note("no node is behind")
	default:
		s.out.Note("no nodes yet")
	}
	now, t := time.Now(), newTable("NODE", "WAS", "RECEIPT", "LAST SEEN")
	for _, n := range out.Nodes {
		was, receipt := string(n.Behind), "accepted"
		if was == "" {
			was = "not behind"
		}
		if !n.Accepted {
			receipt = n.Why
		}
		t.row(n.Name, was, receipt, seen(n.LastSeen, now))
	}
	s.table(t)
}
