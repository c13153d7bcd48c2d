package inventorystore

import (
	"time"

	"noxmesh/declaration"
	"noxmesh/document"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
)

// Issuing is a declaration that is wanted of a node.
type Issuing struct {
	Node    string
	Digest  document.Digest
	Modules []string // the modules that it names
	At      time.Time

	Contents map[string]document.Digest      // by module: what it amounts to there
	Secrets  map[string]inventory.SecretFile // by the id of a file: the secrets in it
}

// Issue gives a wanted declaration its place in the order. The digest that was
// issued last in this epoch keeps its place; another takes the next generation.
func Issue(tx *db.Tx, i Issuing) (declaration.Tuple, error) {
	if !i.Digest.Valid() {
		return declaration.Tuple{}, fault.New(fault.Broken, "issue a declaration to node %q: %q is not a digest", i.Node, i.Digest)
	}
	if err := mustExist(tx, i.Node); err != nil {
		return declaration.Tuple{}, err
	}
	last, _, err := db.One(tx, scanTuple, `SELECT epoch, generation, digest FROM ledger WHERE node = $1 ORDER BY generation DESC LIMIT 1`, i.Node)
	if err != nil {
		return last, err
	}
	if last.Epoch == tx.Epoch() && last.Digest == i.Digest {
		return last, nil
	}
	if last.Epoch > tx.Epoch() {
		return last, fault.New(fault.Broken, "issue a declaration to node %q: the ledger is in epoch %d, and this is epoch %d", i.Node, last.Epoch, tx.Epoch())
	}
	modules, err := db.JSON(i.Modules)
	if err != nil {
		return last, err
	}
	contents, err := db.JSON(i.Contents)
	if err != nil {
		return last, err
	}
	secrets := ""
	if len(i.Secrets) > 0 {
		if secrets, err = db.JSON(i.Secrets); err != nil {
			return last, err
		}
	}
	next := declaration.Tuple{Epoch: tx.Epoch(), Generation: last.Generation + 1, Digest: i.Digest}
	tx.Changed("node", i.Node)
	_, err = tx.Exec(`INSERT INTO ledger (node, generation, epoch, digest, modules, at, contents, secrets) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		i.Node, next.Generation, next.Epoch, string(next.Digest), modules, db.Millis(i.At), contents, secrets)
	if err != nil || next.Generation%ledgerKept != 0 {
		return next, err
	}
	return next, forget(tx, i.Node, next.Generation-ledgerKept)
}

// ledgerKept is how many of the newest rows of a node's ledger are kept at
// least, and half of how many there can be, beside those that its last hello
// named and what it was last sent.
const ledgerKept = 64

func forget(tx *db.Tx, node string, upto int64) error {
	_, err := tx.Exec(`DELETE FROM ledger WHERE node = $1 AND generation <= $2 AND generation NOT IN (
		SELECT accepted_generation FROM node WHERE id = $1 UNION SELECT applied_generation FROM node WHERE id = $1
		UNION SELECT sent_generation FROM node WHERE id = $1)`, node, upto)
	return err
}

// Issued reports whether exactly this was ever issued to the node. Of one so old
// that its row is forgotten, the place in the order is all that is known: every
// generation below the newest was issued once, and nothing that comes so early
// can take the place of what is wanted.
func Issued(tx *db.Tx, node string, t declaration.Tuple) (bool, error) {
	if t.Generation < 1 {
		return false, nil
	}
	next, found, err := db.One(tx, scanTuple, `SELECT epoch, generation, digest FROM ledger WHERE node = $1 AND generation >= $2
		ORDER BY generation LIMIT 1`, node, t.Generation)
	if err != nil || !found {
		return false, err
	}
	if next.Generation == t.Generation {
		return next == t, nil
	}
	return t.Epoch >= 1 && t.Epoch <= next.Epoch, nil
}

func scanTuple(r db.Row) (t declaration.Tuple, err error) {
	err = r.Scan(&t.Epoch, &t.Generation, (*string)(&t.Digest))
	return t, err
}
