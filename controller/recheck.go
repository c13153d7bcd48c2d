package controller

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"noxmesh/delivery"
	"noxmesh/delivery/artifact"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/internal/loop"
)

// recheckEvery lies between two comparisons of the book with the whole record.
// What it finds, nothing else would: something that changed the record behind
// the back of its revision.
const recheckEvery = 10 * time.Minute

// recheckKey is the only thing that the loop "record" looks at.
const recheckKey = "book"

// recheckStep compares the book with the whole record. A difference is a
// finding; from then on the book is what the record says.
func (c *Controller) recheckStep(ctx context.Context, _ string) (loop.Result, error) {
	c.book.turn <- struct{}{}
	defer func() { <-c.book.turn }()
	differs := ""
	err := c.db.Read(ctx, func(tx *db.Tx) error {
		was := c.book.is
		if err := c.bringUpToDate(tx); err != nil || c.book.is != was {
			return err // another book: all of it has just been read
		}
		is, err := c.readAll(tx)
		if err != nil {
			return err
		}
		if differs = difference(c.book.is, is); differs != "" {
			c.book.view.Lock()
			c.book.is = is
			c.book.view.Unlock()
		}
		return nil
	})
	if err == nil && differs != "" {
		err = fault.New(fault.Broken, "the record differs from what this controller had written and read: %s", differs).
			With("did something else write to it, or was it restored while this ran? What is shown from now on is what it says")
	}
	return loop.Result{}, err
}

// difference is the first thing in which two views differ, or empty.
func difference(a, b *view) string {
	if !slices.Equal(a.names, b.names) {
		return "the modules that there are"
	}
	for _, name := range slices.Sorted(maps.Keys(a.modules)) {
		if x, y := a.plainModule(name), b.plainModule(name); !reflect.DeepEqual(x, y) {
			return "what is known of module " + name
		}
	}
	if !slices.Equal(a.ids, b.ids) {
		return "the nodes that there are"
	}
	for _, id := range a.ids {
		if x, y := plainNode(a.nodes[id]), plainNode(b.nodes[id]); !reflect.DeepEqual(x, y) {
			return "what is known of node " + a.nodes[id].Name
		}
	}
	switch {
	case !reflect.DeepEqual(a.builders, b.builders), !maps.Equal(a.called, b.called):
		return "the builders"
	case !maps.Equal(a.images, b.images):
		return "the images that modules are built in"
	case !reflect.DeepEqual(a.troubles, b.troubles):
		return "the troubles"
	case !maps.Equal(a.byName, b.byName), !maps.Equal(a.astray, b.astray), len(a.made) != len(b.made):
		return "the order that the book is in"
	}
	return ""
}

// plainModule is a module with its sets in one order, and with its edges.
func (v *view) plainModule(name string) any {
	type plain struct{ Row, Known, Source, Builds, Asked, Writes, On, Edges any }
	m := v.modules[name]
	if m == nil {
		m = &moduleView{on: map[string]bool{}}
	}
	return plain{
		m.row, m.known, m.source,
		slices.SortedFunc(slices.Values(m.builds), func(a, b artifact.Build) int { return cmp.Compare(a.ID, b.ID) }),
		slices.SortedFunc(slices.Values(m.asked), func(a, b delivery.Asked) int { return cmp.Compare(a.ID, b.ID) }),
		slices.SortedFunc(slices.Values(m.writes), func(a, b delivery.Write) int { return cmp.Compare(a.ID, b.ID) }),
		m.on, v.code.Edges(name),
	}
}

// plainNode is a node without what was worked out of it.
func plainNode(n *nodeView) any {
	type plain struct{ Node, Assigned, Declared, Applied, Belong, Asked any }
	applied := map[string]int64{}
	for content, at := range n.applied {
		applied[string(content)] = db.Millis(at)
	}
	assigned := map[string]map[string]string{}
	for _, a := range n.assigned {
		assigned[a.Module] = a.Settings
	}
	return plain{n.Node, assigned, n.declared, applied, n.belong, n.asked}
}
