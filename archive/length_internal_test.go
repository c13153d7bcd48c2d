package archive

import (
	"fmt"
	"strings"
	"testing"

	"noxmesh/internal/fault"
)

// TestIndexNobodyReads has an index too large for a host be refused by the one who packs.
func TestIndexNobodyReads(t *testing.T) {
	t.Parallel()
	const limit = MaxIndex / 100
	idx := Index{Format: Format, Entries: make([]Entry, 350)}
	for i := range idx.Entries {
		idx.Entries[i] = Entry{Path: fmt.Sprintf("%0*d", MaxPath, i), Kind: Directory}
	}
	if err := idx.checkLength(limit); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an index of more than 1.4 MB: %v", err)
	}
	for i := range idx.Entries {
		idx.Entries[i].Path = strings.Repeat("p", 2000)
	}
	if err := idx.checkLength(limit); err != nil {
		t.Errorf("an index of 700 kB: %v", err)
	}
}
