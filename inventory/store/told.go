package inventorystore

import (
	"noxmesh/document"
	"noxmesh/internal/db"
)

// Told is what the nodes have on them or may still fetch, by module: what each
// reported as applied, and what every declaration names that it may be at, from
// the one that it has accepted to the newest that was issued to it. Of one that an
// earlier version issued, only what was applied is known.
func Told(tx *db.Tx) (map[string][]document.Digest, error) {
	issued, err := db.All(tx, db.Text, `SELECT l.contents FROM ledger l JOIN node n ON n.id = l.node
		WHERE n.removed_at = 0 AND (l.generation >= n.accepted_generation OR l.generation = n.sent_generation OR l.generation = n.applied_generation)`)
	if err != nil {
		return nil, err
	}
	seen := map[string]map[document.Digest]bool{}
	out := map[string][]document.Digest{}
	add := func(module string, content document.Digest) {
		if seen[module] == nil {
			seen[module] = map[document.Digest]bool{}
		}
		if !seen[module][content] {
			seen[module][content] = true
			out[module] = append(out[module], content)
		}
	}
	for _, text := range issued {
		contents, err := db.FromJSON[map[string]document.Digest]("what a declaration names", text)
		if err != nil {
			return nil, err
		}
		for module, content := range contents {
			add(module, content)
		}
	}
	applied, err := db.All(tx, scanApplied, `SELECT a.node, a.module, a.content, a.at FROM applied a JOIN node n ON n.id = a.node WHERE n.removed_at = 0`)
	for _, a := range applied {
		add(a.module, a.Content)
	}
	return out, err
}
