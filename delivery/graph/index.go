package graph

import "math/bits"

// index is where numbers are found by a hash of what they are of. A map would be
// searched as well, and takes several times as long where there are many: what is
// looked for here lies in one place mostly.
type index struct {
	slots []slot // twice as many as numbers at least; a number is in the first one that is free from its hash on
	has   int
}

// slot is where a number may be.
type slot struct {
	hash uint32
	next uint32 // the number and one; 0 where it is free
}

// indexFor is an index for so many numbers, or more.
func indexFor(numbers int) index {
	const least = 64
	return index{slots: make([]slot, 1<<bits.Len(uint(max(least, 2*numbers)-1)))}
}

// find is the number with this hash that is the right one.
func (x *index) find(hash uint32, right func(number uint32) bool) (number uint32, there bool) {
	last := uint32(len(x.slots) - 1)
	for at := hash & last; x.slots[at].next > 0; at = (at + 1) & last {
		if s := x.slots[at]; s.hash == hash && right(s.next-1) {
			return s.next - 1, true
		}
	}
	return 0, false
}

// first is the number that find would look at first.
func (x *index) first(hash uint32) (number uint32, there bool) {
	s := x.slots[hash&uint32(len(x.slots)-1)]
	return s.next - 1, s.next > 0
}

// put puts in a number that is not there.
func (x *index) put(hash, number uint32) {
	if 2*x.has >= len(x.slots) {
		was := x.slots
		x.slots = make([]slot, 4*len(was))
		for _, s := range was {
			if s.next > 0 {
				x.place(s)
			}
		}
	}
	x.place(slot{hash, number + 1})
	x.has++
}

func (x *index) place(s slot) {
	last := uint32(len(x.slots) - 1)
	at := s.hash & last
	for x.slots[at].next > 0 {
		at = (at + 1) & last
	}
	x.slots[at] = s
}
