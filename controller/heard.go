package controller

import (
	"sync"
	"time"

	"noxmesh/declaration"
	"noxmesh/link"
	"noxmesh/trouble"
)

// heard is the nodes that have said hello to this process, and how far ahead of
// its own clock each one's was then. Nothing is sent to one before: its first
// hello may say that the record is not the newest.
type heard struct {
	mu    sync.Mutex // guards nodes
	nodes map[string]said
}

func (h *heard) has(node string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, has := h.nodes[node]
	return has
}

// said is what a hello says that no row of the record holds, and what became of
// the answers to the ones before it.
type said struct {
	ahead    time.Duration // of our clock
	unwell   string
	fresh    *int64            // when the last answer that it has heard was given; nil: a host of an older version does not say
	answered bool              // this hello was
	told     declaration.Tuple // what the answer brought; zero: no declaration
	deaf     trouble.Trouble   // its hellos come, and what they are answered changes nothing
}

// add notes a hello that came now. A node that does not say its time is taken to have the right one.
func (h *heard) add(hello link.Hello, now time.Time) {
	is := said{unwell: hello.Unwell, fresh: hello.FreshAt}
	if hello.At != 0 {
		is.ahead = time.UnixMilli(hello.At).Sub(now)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.nodes[hello.Node]
	if fingerprint, says := was.deafTo(hello); says != "" {
		is.deaf = was.deaf.Again("hello/"+hello.Node, fingerprint, says, now)
	}
	h.nodes[hello.Node] = is
}

// deafTo is how the answer to the hello before this one was lost, or empty where
// it was not. That the link is alive says nothing of what goes the other way.
func (s said) deafTo(hello link.Hello) (fingerprint, says string) {
	lacks := s.told.Epoch > 0 && hello.Accepted.Before(s.told) && (hello.Refused == nil || refusedTuple(hello).Before(s.told))
	has := "it has accepted nothing"
	if hello.Accepted != (declaration.Tuple{}) {
		has = "it has accepted " + tupleWords(hello.Accepted)
	}
	switch {
	case !s.answered:
		return "", ""
	case s.fresh != nil && hello.FreshAt != nil && *s.fresh == *hello.FreshAt && *s.fresh == 0:
		return "unanswered", "its hellos come, and no answer reaches it; " + has
	case s.fresh != nil && hello.FreshAt != nil && *s.fresh == *hello.FreshAt:
		return "unanswered", "its hellos come, and no answer reaches it since " + time.UnixMilli(*s.fresh).UTC().Format(time.RFC3339) + "; " + has
	case lacks:
		return "no receipt", "its hellos come, and there is no receipt for " + tupleWords(s.told) + "; " + has
	}
	return "", ""
}

// answers notes that the last hello of a node is answered, and with what.
func (h *heard) answers(node string, told declaration.Tuple) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.nodes[node]
	s.answered, s.told = true, told
	h.nodes[node] = s
}

// last is what the node's last hello said.
func (h *heard) last(node string) said {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.nodes[node]
}
