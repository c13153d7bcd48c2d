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
	idx := Index{Format: Format, Entries: make([]Entry, 35_000)}
	for i := range idx.Entries {
		idx.Entries[i] = Entry{Path: fmt.Sprintf("%0*d", MaxPath, i), Kind: Directory}
	}
	if err := idx.checkLength(); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an index of more than 140 MB: %v", err)
	}
	for i := range idx.Entries {
		idx.Entries[i].Path = strings.Repeat("p", 2000)
	}
	if err := idx.checkLength(); err != nil {
		t.Errorf("an index of 70 MB: %v", err)
	}
}
