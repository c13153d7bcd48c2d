package inventorystore

import (
	"time"

	mesh "noxmesh"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
	"noxmesh/link"
	"noxmesh/report"
	"noxmesh/trouble"
)

// NewNode is a node that is to join.
type NewNode struct {
	ID   string
	Name string
	By   string
	At   time.Time
}

// AddNode records a node that has not joined. A name that another node has is a
// Conflict, and so is an id that was ever given, also to one that was removed.
func AddNode(tx *db.Tx, n NewNode) error {
	if !mesh.ValidID(n.ID) {
		return fault.New(fault.Broken, "record a node: %q is not an id", n.ID)
	}
	if !mesh.ValidNodeName(n.Name) {
		return fault.New(fault.Invalid, "%q is not a node's name: a host name in lower case, at most 63 characters", n.Name)
	}
	_, taken, err := db.One(tx, db.Text, `SELECT id FROM node WHERE name = $1 AND removed_at = 0`, n.Name)
	if err != nil {
		return err
	}
	if taken {
		return fault.New(fault.Conflict, "there is a node %q already", n.Name).With("mesh node show %s says what it is", n.Name)
	}
	tx.Changed("node", n.ID)
	added, err := tx.Exec(`INSERT INTO node (id, name, added_by, added_at, joined_at, removed_at, sign, nats, seal, host, speaks, boot, counter, last_seen,
		accepted_epoch, accepted_generation, accepted_digest, applied_epoch, applied_generation, applied_digest, refused,
		sent_epoch, sent_generation, sent_digest, sent_at, finding)
		VALUES ($1, $2, $3, $4, 0, 0, '', '', '', '', '', '', 0, 0, 0, 0, '', 0, 0, '', '', 0, 0, '', 0, '') ON CONFLICT (id) DO NOTHING`,
		n.ID, n.Name, n.By, db.Millis(n.At))
	if err == nil && added == 0 {
		return fault.New(fault.Conflict, "the id %q was given to a node before", n.ID)
	}
	return err
}

// RemoveNode takes a node out of the mesh: what is assigned to it, declared on
// it and known of it, and its credentials. Its id is never given again; its
// name is free.
func RemoveNode(tx *db.Tx, id string, at time.Time) error {
	tx.Changed("node", id)
	tx.Changed("assignment", id)
	tx.Changed("declared", id)
	tx.Changed("secret", id)
	n, err := tx.Exec(`UPDATE node SET removed_at = $1 WHERE id = $2 AND removed_at = 0`, db.Millis(at), id)
	if err != nil {
		return err
	}
	if n == 0 {
		return missing(tx, id)
	}
	// One decision, one transaction: nothing of any context may outlive its node.
	for _, leave := range []string{
		`DELETE FROM assignment WHERE node = $1`,
		`DELETE FROM declared WHERE node = $1`,
		`DELETE FROM applied WHERE node = $1`,
		`DELETE FROM secret WHERE node = $1`,
		`DELETE FROM node_report WHERE node = $1`,
		`DELETE FROM registry_secret WHERE id = $1`,
		`DELETE FROM token WHERE target = $1 AND used_at = 0`,
	} {
		if _, err := tx.Exec(leave, id); err != nil {
			return err
		}
	}
	return nil
}

// Joining is what a node says of itself when it joins.
type Joining struct {
	ID     string
	Sign   link.PublicKey
	Nats   string
	Seal   string
	Host   string
	Speaks []int
	At     time.Time
}

// JoinNode records a node's keys. With the keys that it has, nothing changes.
// With others it is another machine, or this one made anew: what the last one
// said of itself no longer counts, its keys are revoked, what was sealed to them is
// forgotten, and it was never told anything. The ledger goes on.
func JoinNode(tx *db.Tx, j Joining) error {
	n, err := Node(tx, j.ID)
	if err != nil {
		return err
	}
	if n.ID != j.ID {
		return missing(tx, j.ID)
	}
	if n.Sign == j.Sign && n.Nats == j.Nats && n.Seal == j.Seal {
		return nil
	}
	if n.Seal != j.Seal {
		if err := loseSecrets(tx, j.ID); err != nil {
			return err
		}
	}
	speaks, err := db.JSON(j.Speaks)
	if err != nil {
		return err
	}
	if n.Nats != "" && n.Nats != j.Nats {
		if _, err := tx.Exec(`INSERT INTO revoked (public_key, node, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, n.Nats, n.ID, db.Millis(j.At)); err != nil {
			return err
		}
	}
	tx.Changed("node", j.ID)
	tx.Changed("node_report", j.ID)
	_, err = tx.Exec(`UPDATE node SET joined_at = $1, sign = $2, nats = $3, seal = $4, host = $5, speaks = $6, boot = '', counter = 0, last_seen = 0,
		accepted_epoch = 0, accepted_generation = 0, accepted_digest = '', applied_epoch = 0, applied_generation = 0, applied_digest = '',
		refused = '', sent_epoch = 0, sent_generation = 0, sent_digest = '', sent_at = 0, finding = '', twins = '' WHERE id = $7`,
		db.Millis(j.At), string(j.Sign), j.Nats, j.Seal, j.Host, speaks, j.ID)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM applied WHERE node = $1`, j.ID); err != nil {
		return err
	}
	_, err = tx.Exec(`DELETE FROM node_report WHERE node = $1`, j.ID)
	return err
}

// RevokedKeys is every broker key that was a node's and is not any more.
func RevokedKeys(tx *db.Tx) ([]string, error) {
	keys, err := db.All(tx, db.Text, `SELECT nats FROM node WHERE removed_at > 0 AND nats <> '' UNION SELECT public_key FROM revoked`)
	return db.Sorted(keys, func(s string) string { return s }), err
}

// SetFinding records why nothing is declared to the node; empty when nothing stands against it.
func SetFinding(tx *db.Tx, id, finding string) error {
	tx.Changed("node", id)
	n, err := tx.Exec(`UPDATE node SET finding = $1 WHERE id = $2 AND removed_at = 0`, finding, id)
	if err == nil && n == 0 {
		return missing(tx, id)
	}
	return err
}

// SetTwins records why two machines are taken to say that they are this node.
// It stands until the node joins with other keys.
func SetTwins(tx *db.Tx, id, why string) error {
	tx.Changed("node", id)
	n, err := tx.Exec(`UPDATE node SET twins = $1 WHERE id = $2 AND removed_at = 0`, why, id)
	if err == nil && n == 0 {
		return missing(tx, id)
	}
	return err
}

const selectNode = `SELECT ` + nodeColumns + `,
	coalesce(r.report, ''), coalesce(r.at, 0), coalesce(r.trouble, '')
	FROM node n ` + newestIssued + `
	LEFT JOIN node_report r ON r.node = n.id
	WHERE n.removed_at = 0 `

// selectUnread is selectNode without what the node has reported.
const selectUnread = `SELECT ` + nodeColumns + `, '', 0, '' FROM node n ` + newestIssued + ` WHERE n.removed_at = 0 `

const newestIssued = `LEFT JOIN ledger l ON l.node = n.id AND l.generation = (SELECT max(generation) FROM ledger m WHERE m.node = n.id)`

const nodeColumns = `n.id, n.name, n.added_at, n.joined_at, n.sign, n.nats, n.seal, n.host, n.speaks, n.boot, n.counter, n.last_seen,
	n.accepted_epoch, n.accepted_generation, n.accepted_digest, n.applied_epoch, n.applied_generation, n.applied_digest, n.refused,
	n.sent_epoch, n.sent_generation, n.sent_digest, n.sent_at, n.finding, n.twins,
	coalesce(l.epoch, 0), coalesce(l.generation, 0), coalesce(l.digest, ''), coalesce(l.modules, '')`

func scanNode(r db.Row) (n inventory.Node, err error) {
	var added, joined, seen, sentAt, reportAt int64
	var sign, speaks, refused, had, said, troubled string
	accepted, applied, sent, wanted := &n.Accepted, &n.Applied, &n.Sent.Tuple, &n.Wanted
	err = r.Scan(&n.ID, &n.Name, &added, &joined, &sign, &n.Nats, &n.Seal, &n.Host, &speaks, &n.Boot, &n.Counter, &seen,
		&accepted.Epoch, &accepted.Generation, (*string)(&accepted.Digest), &applied.Epoch, &applied.Generation, (*string)(&applied.Digest), &refused,
		&sent.Epoch, &sent.Generation, (*string)(&sent.Digest), &sentAt, &n.Finding, &n.Twins,
		&wanted.Epoch, &wanted.Generation, (*string)(&wanted.Digest), &had,
		&said, &reportAt, &troubled)
	if err != nil {
		return n, err
	}
	n.Sign, n.AddedAt, n.JoinedAt, n.LastSeen = link.PublicKey(sign), db.Time(added), db.Time(joined), db.Time(seen)
	n.Sent.At, n.ReportAt = db.Time(sentAt), db.Time(reportAt)
	return n, scanNodeDocuments(&n, nodeDocuments{speaks, refused, had, said, troubled})
}

// nodeDocuments is the columns of a node that hold documents.
type nodeDocuments struct{ speaks, refused, had, said, troubled string }

func scanNodeDocuments(n *inventory.Node, d nodeDocuments) (err error) {
	if n.Speaks, err = db.FromJSON[[]int]("what node "+n.ID+" speaks", d.speaks); err != nil {
		return err
	}
	if n.Had, err = db.FromJSON[[]string]("the modules of node "+n.ID, d.had); err != nil {
		return err
	}
	if n.Trouble, err = db.FromJSON[trouble.Trouble]("the trouble of node "+n.ID, d.troubled); err != nil {
		return err
	}
	if d.refused != "" {
		r, err := db.FromJSON[link.Refusal]("what node "+n.ID+" refused", d.refused)
		if err != nil {
			return err
		}
		n.Refused = &r
	}
	if d.said != "" {
		r, err := db.FromJSON[report.Report]("the report of node "+n.ID, d.said)
		if err != nil {
			return err
		}
		n.Report = &r
	}
	return nil
}

// Node is everything known of the node with this id or, failing that, this
// name; NotFound names the nearest.
func Node(tx *db.Tx, nameOrID string) (inventory.Node, error) {
	// An id comes first: whoever names a node after another's id gains nothing.
	n, found, err := db.One(tx, scanNode, selectNode+`AND (n.id = $1 OR n.name = $1) ORDER BY CASE WHEN n.id = $1 THEN 0 ELSE 1 END LIMIT 1`, nameOrID)
	if err == nil && !found {
		err = missing(tx, nameOrID)
	}
	return n, err
}

// Unread is everything known of the node with this id but what it has
// reported, which is most of it; and false where there is none.
func Unread(tx *db.Tx, id string) (inventory.Node, bool, error) {
	return db.One(tx, scanNode, selectUnread+`AND n.id = $1`, id)
}

// Nodes is every node that was not removed, sorted by name.
func Nodes(tx *db.Tx) ([]inventory.Node, error) {
	all, err := db.All(tx, scanNode, selectNode)
	return db.Sorted(all, func(n inventory.Node) string { return n.Name }), err
}

func missing(tx *db.Tx, name string) error {
	names, err := db.All(tx, db.Text, `SELECT name FROM node WHERE removed_at = 0`)
	if err != nil {
		return err
	}
	return db.Missing("node", name, names)
}
