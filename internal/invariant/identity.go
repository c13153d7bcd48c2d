package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"noxmesh/declaration"
	"noxmesh/document"
)

// words are a place in the order with its digest, as people read it.
func words(t declaration.Tuple) string {
	if t == (declaration.Tuple{}) {
		return "nothing"
	}
	return fmt.Sprintf("%d/%d (%s)", t.Epoch, t.Generation, t.Digest.Short())
}

// I2 and I3: what is declared was built, and a verdict let it.
func (f *findings) declared() {
	if !f.seen.Record.Known {
		return
	}
	builds := map[document.Digest]Build{}
	for _, b := range f.seen.Record.Builds {
		builds[b.ID] = b
	}
	for _, d := range f.seen.Record.Declared {
		where := d.Module + " on " + d.Node
		b, ok := builds[d.Build]
		switch {
		case !ok:
			f.find(I3, where, "build %s is declared, and is not in the record", d.Build.Short())
		case !b.Fit:
			f.find(I2, where, "build %s is declared, and no verdict says that it is fit", d.Build.Short())
		}
	}
}

// I3: a manifest that can be seen names blobs that are there, and right.
func (f *findings) published() {
	g := f.seen.Registry
	for digest, b := range g.Blobs {
		if b.Sum != digest && !slices.Contains(g.Taken, digest) {
			f.find(I3, string(digest), "the blob can be pulled, and its bytes are %s", b.Sum)
		}
	}
	visible := map[document.Digest]bool{}
	for _, m := range g.Manifests {
		visible[m.Digest] = true
		f.manifest(m)
	}
	if g.Blobs == nil {
		return
	}
	for _, b := range f.seen.Record.Builds {
		if !b.Gone && b.Published != "" && !visible[b.Published] && !slices.Contains(g.Taken, b.Published) {
			f.find(I3, b.Module+" "+b.ID.Short(), "it is recorded as published, and manifest %s cannot be seen", b.Published)
		}
	}
}

// manifest is one that can be seen, and what it names.
func (f *findings) manifest(m Manifest) {
	g := f.seen.Registry
	where := m.Repository + "@" + string(m.Digest)
	switch {
	case slices.Contains(g.Taken, m.Digest):
	case m.Encoded != m.Digest:
		f.find(I3, where, "its bytes are %s", m.Encoded)
	case m.Unreadable != "":
		f.find(I3, where, "it can be seen, and is no manifest: %s", m.Unreadable)
	}
	for _, named := range m.Names {
		b, ok := g.Blobs[named.Digest]
		switch {
		case slices.Contains(g.Taken, named.Digest):
		case !ok:
			f.find(I3, where, "it can be seen, and its blob %s is not there", named.Digest)
		case b.Size != named.Size:
			f.find(I3, where, "its blob %s has %d bytes, and should have %d", named.Digest, b.Size, named.Size)
		}
	}
}

// once gives each identity one content.
type once struct {
	f    *findings
	seen map[string]string
}

func (o once) is(where, identity, content string) {
	was, ok := o.seen[identity]
	if ok && was != content {
		o.f.find(I4, where, "%s is both %s and %s", identity, was, content)
		return
	}
	o.seen[identity] = content
}

// I4: one identity has one content, and one request at most one recorded build.
func (f *findings) identities() {
	o := once{f, map[string]string{}}
	for _, b := range f.seen.Record.Builds {
		if b.Encoded != "" && b.Encoded != b.ID {
			f.find(I4, b.Module, "build %s has a manifest that is %s", b.ID.Short(), b.Encoded.Short())
		}
		o.is(b.Module, "build "+string(b.ID), string(b.Content))
		if b.Finding == "" {
			o.is(b.Module, "closure "+b.Module+" "+b.Closure, string(b.ID))
		}
		if b.Request != "" {
			o.is(b.Module, "the build of request "+b.Request, string(b.ID))
		}
	}
	answers := map[string]int{}
	for _, a := range f.seen.Record.Answers {
		if answers[a.Request]++; answers[a.Request] == 2 {
			f.find(I4, a.Request, "one request has more than one recorded answer")
		}
	}
	f.places(o)
}

// places is that one place in a node's order has one digest, whoever remembers it.
func (f *findings) places(o once) {
	for _, i := range f.seen.Record.Ledger {
		o.is(i.Node, place(i.Node, i.Tuple), string(i.Tuple.Digest))
	}
	for _, n := range f.seen.Nodes {
		if f.shown(n.ID) {
			continue
		}
		for _, a := range n.History {
			if a.Tuple != (declaration.Tuple{}) {
				o.is(n.Name, place(n.ID, a.Tuple), string(a.Tuple.Digest))
			}
		}
	}
}

func place(node string, t declaration.Tuple) string {
	return node + " " + strconv.FormatInt(t.Epoch, 10) + "/" + strconv.FormatInt(t.Generation, 10)
}

// shown reports whether the mesh says that the node stands against the record.
func (f *findings) shown(node string) bool {
	if row := f.row(node); row != nil && row.Finding != "" {
		return true
	}
	said := f.said(node)
	return f.seen.Said.Recovering != "" || said != nil && said.Finding != ""
}

// I5: what a node has accepted never falls, and all of it was signed.
func (f *findings) order() {
	for _, n := range f.seen.Nodes {
		for i, a := range n.History {
			if a.Tuple != (declaration.Tuple{}) && !a.Signed {
				f.find(I5, n.Name, "it has accepted %s, which no declare key has signed", words(a.Tuple))
			}
			if i == 0 {
				continue
			}
			was := n.History[i-1].Tuple
			if a.Tuple.Before(was) {
				f.find(I5, n.Name, "it had accepted %s, and now %s", words(was), words(a.Tuple))
			}
		}
	}
}

// I5: what is issued for a node only goes up, by generation and by epoch.
func (f *findings) ledger() {
	rows := slices.Clone(f.seen.Record.Ledger)
	slices.SortStableFunc(rows, func(a, b Issued) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Tuple.Generation, b.Tuple.Generation))
	})
	for i := 1; i < len(rows); i++ {
		was, now := rows[i-1], rows[i]
		if was.Node == now.Node && now.Tuple.Epoch < was.Tuple.Epoch {
			f.find(I5, now.Node, "%s was issued before %s", words(was.Tuple), words(now.Tuple))
		}
	}
}
