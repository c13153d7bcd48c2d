package controller

import (
	"context"
	"fmt"
	"strings"

	"noxmesh/api"
	"noxmesh/document"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
	"noxmesh/plan"
	"noxmesh/status"
)

// removal is how much of what the node has reported would go with this plan, where that
// is for a person to allow: it is so much, and this very plan was not issued before.
// That it was is what allowing it comes to: the next plan is another question.
func removalOf(n inventory.Node, p plan.Plan, digest document.Digest) *plan.Removal {
	if n.Report == nil || digest == "" || n.Wanted.Digest == digest {
		return nil
	}
	var held []string
	for i := range n.Report.Resources {
		if r := &n.Report.Resources[i]; r.Digest != "" {
			held = append(held, r.ID)
		}
	}
	if r := plan.RemovalOf(held, p.Body); r.Many() {
		return &r
	}
	return nil
}

// heldBack is a removal as status shows it.
func heldBack(n inventory.Node, r *plan.Removal, digest document.Digest) *status.Removal {
	if r == nil {
		return nil
	}
	return &status.Removal{Gone: r.Gone, Of: r.Of, Digest: string(digest), Command: fmt.Sprintf("mesh node allow %s %s", n.Name, shortest(digest))}
}

// shortest is as much of a digest as a person types.
func shortest(d document.Digest) string { return d.Hex()[:12] }

// answerNodeAllow issues a plan that would remove much of what the node holds: this one,
// once. What would be issued now and is another is not.
func (c *Controller) answerNodeAllow(ctx context.Context, who api.Who, in api.NodeAllowIn) (api.NodeAllowOut, error) {
	n, err := c.nodeNow(ctx, in.Node)
	if err != nil {
		return api.NodeAllowOut{}, err
	}
	l, err := c.lookAt(ctx, n.ID)
	if err != nil {
		return api.NodeAllowOut{}, err
	}
	var r *plan.Removal
	if l.recovering == "" && len(l.short.held) == 0 {
		r = removalOf(l.node, l.plan, l.short.of(l.node))
	}
	if r == nil {
		return api.NodeAllowOut{}, fault.New(fault.Conflict, "nothing is held back from node %q", n.Name).With("mesh node show %s says how it stands", n.Name)
	}
	asked := strings.TrimPrefix(in.Digest, "sha256:")
	if len(asked) < 8 || !strings.HasPrefix(l.short.digest.Hex(), asked) {
		return api.NodeAllowOut{}, fault.New(fault.Conflict, "what is held back from node %q is %s, and not %q", n.Name, shortest(l.short.digest), document.Short(in.Digest)).
			With("mesh plan %s shows it; mesh node allow %s %s allows it", n.Name, n.Name, shortest(l.short.digest))
	}
	if _, err := c.issue(ctx, l); err != nil {
		return api.NodeAllowOut{}, err
	}
	c.log.Info("a plan that removes much was allowed", "node", n.Name, "by", who.Name, "gone", r.Gone, "of", r.Of, "digest", l.short.digest.Short())
	c.declares.Forgive(n.ID)
	c.declares.Nudge(n.ID)
	return api.NodeAllowOut{Node: n.ID, Name: n.Name, Gone: r.Gone, Of: r.Of, Digest: string(l.short.digest)}, nil
}
