package controller

import (
	"context"
	"slices"
	"strings"

	"noxmesh/internal/clock"
	"noxmesh/internal/db"
	"noxmesh/plan"
	"noxmesh/trouble"
	troublestore "noxmesh/trouble/store"
)

// A note is why a module cannot be worked out on a node, and since when: the plan
// is worked out anew each time, and only the record knows for how long it has
// said the same.
const notePrefix = "plan/"

func noteKey(node, module string) string { return notePrefix + node + "/" + module }

func noteOf(key string) (node, module string, is bool) {
	rest, is := strings.CutPrefix(key, notePrefix)
	if !is {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// notes is what is to be recorded so that the notes of a node are what its plan says.
type notes struct {
	save  []trouble.Trouble
	clear []string
}

func notesOf(n *nodeView, w *workedOut) notes {
	var out notes
	says := map[string]bool{}
	for _, r := range slices.Concat(w.held, w.leftOut) {
		says[r.Module] = true
		if n.noted[r.Module].Says != r.Why {
			out.save = append(out.save, trouble.Trouble{Key: noteKey(n.ID, r.Module), Fingerprint: r.Why, Says: r.Why, Count: 1})
		}
	}
	for module := range n.noted {
		if !says[module] {
			out.clear = append(out.clear, noteKey(n.ID, module))
		}
	}
	return out
}

// keep records the notes. There is nothing to write while a plan says what it said.
func (c *Controller) keep(ctx context.Context, n notes) error {
	if len(n.save)+len(n.clear) == 0 {
		return nil
	}
	now := clock.Now()
	return c.write(ctx, func(tx *db.Tx) error {
		for _, t := range n.save {
			t.Since, t.Last = now, now
			if err := troublestore.Save(tx, t); err != nil {
				return err
			}
		}
		for _, key := range n.clear {
			if err := troublestore.Clear(tx, key); err != nil {
				return err
			}
		}
		return nil
	})
}

// forgetNotes is for a node that leaves.
func forgetNotes(tx *db.Tx, node string) error {
	all, err := troublestore.ByPrefix(tx, noteKey(node, ""))
	if err != nil {
		return err
	}
	for _, t := range all {
		if err := troublestore.Clear(tx, t.Key); err != nil {
			return err
		}
	}
	return nil
}

// dated is the reasons with since when, where that has been recorded.
func (n *nodeView) dated(reasons ...plan.Reason) []plan.Reason {
	out := make([]plan.Reason, 0, len(reasons))
	for _, r := range reasons {
		if t := n.noted[r.Module]; t.Says == r.Why {
			r.Since = t.Since
		}
		out = append(out, r)
	}
	return out
}
