package inventorystore

import (
	"time"

	"noxmesh/declaration"
	"noxmesh/internal/db"
	"noxmesh/link"
)

// Heard records a hello, and reports whether it was newer than the last. An
// older one changes nothing.
func Heard(tx *db.Tx, h link.Hello, at time.Time) (bool, error) {
	speaks, err := db.JSON(h.Speaks)
	if err != nil {
		return false, err
	}
	refused := ""
	if h.Refused != nil {
		if refused, err = db.JSON(h.Refused); err != nil {
			return false, err
		}
	}
	tx.Changed("node", h.Node)
	n, err := tx.Exec(`UPDATE node SET counter = $1, boot = $2, host = $3, speaks = $4, last_seen = $5,
		accepted_epoch = $6, accepted_generation = $7, accepted_digest = $8,
		applied_epoch = $9, applied_generation = $10, applied_digest = $11, refused = $12
		WHERE id = $13 AND removed_at = 0 AND counter < $1`,
		h.Counter, h.Boot, h.Host, speaks, db.Millis(at),
		h.Accepted.Epoch, h.Accepted.Generation, string(h.Accepted.Digest),
		h.Applied.Epoch, h.Applied.Generation, string(h.Applied.Digest), refused, h.Node)
	if err != nil || n == 1 {
		return err == nil, err
	}
	return false, mustExist(tx, h.Node)
}

// SaveSent records what the node was last sent, once it has said that it has
// it. One that comes before what is recorded is late, and changes nothing.
func SaveSent(tx *db.Tx, node string, t declaration.Tuple, at time.Time) error {
	tx.Changed("node", node)
	n, err := tx.Exec(`UPDATE node SET sent_epoch = $1, sent_generation = $2, sent_digest = $3, sent_at = $4
		WHERE id = $5 AND removed_at = 0 AND (sent_epoch < $1 OR (sent_epoch = $1 AND sent_generation < $2))`,
		t.Epoch, t.Generation, string(t.Digest), db.Millis(at), node)
	if err != nil || n == 1 {
		return err
	}
	return mustExist(tx, node)
}

func mustExist(tx *db.Tx, node string) error {
	_, found, err := db.One(tx, db.Text, `SELECT id FROM node WHERE id = $1 AND removed_at = 0`, node)
	if err == nil && !found {
		err = missing(tx, node)
	}
	return err
}
