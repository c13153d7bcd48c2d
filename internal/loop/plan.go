package loop

import (
	"container/heap"
	"time"

	"noxmesh/trouble"
)

// unplanned is the place of an entry for which no look is planned.
const unplanned = -1

// entry is what the engine knows of one key.
type entry struct {
	key     string
	listing bool   // this is no key but the listing of all of them
	hurry   bool   // for the listing: its looks are not spread
	round   uint64 // the full comparison during or after which the key was last asked for

	due   time.Time // when it is planned, while place is not unplanned
	order uint64    // among equals, who came first
	place int       // in the heap

	looking bool      // a worker has it
	asked   bool      // asked for again while a worker had it
	again   time.Time // and for when

	notBefore time.Time // the end of its backoff
	failures  int       // in a row, since it was forgiven

	trouble trouble.Trouble // written only by the worker that has it, or while none has
}

// plan is the looks to come, the earliest first, each entry at most once.
type plan struct {
	heap  entryHeap
	order uint64
}

// put plans e for this time unless it is planned for earlier, and reports
// whether the plan changed.
func (p *plan) put(e *entry, at time.Time) bool {
	if e.place != unplanned && !at.Before(e.due) {
		return false
	}
	e.due = at
	if e.place != unplanned {
		heap.Fix(&p.heap, e.place)
		return true
	}
	p.order++
	e.order = p.order
	heap.Push(&p.heap, e)
	return true
}

// pop takes the earliest entry out of the plan.
func (p *plan) pop() *entry { return heap.Pop(&p.heap).(*entry) }

// drop takes e out of the plan, if it is in it.
func (p *plan) drop(e *entry) {
	if e.place != unplanned {
		heap.Remove(&p.heap, e.place)
	}
}

// entryHeap is a heap by time, then by order of arrival.
type entryHeap []*entry

func (h entryHeap) Len() int { return len(h) }

func (h entryHeap) Less(i, j int) bool {
	if !h[i].due.Equal(h[j].due) {
		return h[i].due.Before(h[j].due)
	}
	return h[i].order < h[j].order
}

func (h entryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push is heap.Interface's.
func (h *entryHeap) Push(x any) {
	e := x.(*entry)
	e.place = len(*h)
	*h = append(*h, e)
}

// Pop is heap.Interface's.
func (h *entryHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.place = unplanned
	return e
}
