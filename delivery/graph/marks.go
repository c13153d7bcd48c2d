package graph

// marks is a set of modules. It costs what is in it, and a little for each few
// thousand modules that there are; whoever asks has one for himself.
type marks [][]uint64

const (
	pageBits = 12 // modules of a page
	wordBits = 6
)

func (b *Builds) marks() marks { return make(marks, len(b.coded)>>pageBits+1) }

// put puts a module in, and reports whether it was not there.
func (m marks) put(id int32) bool {
	page := m[id>>pageBits]
	if page == nil {
		page = make([]uint64, 1<<(pageBits-wordBits))
		m[id>>pageBits] = page
	}
	word, bit := &page[id>>wordBits&(1<<(pageBits-wordBits)-1)], uint64(1)<<(id&(1<<wordBits-1))
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

func (m marks) has(id int32) bool {
	page := m[id>>pageBits]
	return page != nil && page[id>>wordBits&(1<<(pageBits-wordBits)-1)]>>(id&(1<<wordBits-1))&1 != 0
}
