package inventorystore

import (
	"time"

	"noxmesh/internal/db"
	"noxmesh/internal/fault"
	"noxmesh/inventory"
	"noxmesh/report"
)

const selectSecret = `SELECT s.node, s.module, s.name, s.version, s.sealed, s.set_by, s.set_at, s.applied, s.applied_at FROM secret s ` //nolint:gosec // no secret: the names of columns

func scanSecret(r db.Row) (s inventory.Secret, err error) {
	var at, applied int64
	err = r.Scan(&s.Node, &s.Module, &s.Name, &s.Version, &s.Sealed, &s.By, &at, &s.Applied, &applied)
	s.At, s.AppliedAt = db.Time(at), db.Time(applied)
	return s, err
}

func secretKey(s inventory.Secret) string { return s.Module + "\x00" + s.Name + "\x00" + s.Node }

// Secrets is every value of a secret, by module, name and node.
func Secrets(tx *db.Tx) ([]inventory.Secret, error) {
	all, err := db.All(tx, scanSecret, selectSecret)
	return db.Sorted(all, secretKey), err
}

// SecretsOf is those that are sealed to this node, by module and name.
func SecretsOf(tx *db.Tx, node string) ([]inventory.Secret, error) {
	all, err := db.All(tx, scanSecret, selectSecret+`WHERE s.node = $1`, node)
	return db.Sorted(all, secretKey), err
}

// NextVersion is the version that the next value of a secret has, on whichever node.
func NextVersion(tx *db.Tx, module, name string) (int64, error) {
	n, _, err := db.One(tx, scanVersion, `SELECT COALESCE(MAX(version), 0) FROM secret WHERE module = $1 AND name = $2`, module, name)
	return n + 1, err
}

func scanVersion(r db.Row) (n int64, err error) {
	err = r.Scan(&n)
	return n, err
}

// SetSecret records a value that is sealed to a node's key. What was applied of the
// one before stays known. To another key than the node has, it is a Conflict: nobody
// could open it there.
func SetSecret(tx *db.Tx, s inventory.Secret, recipient string) error {
	n, there, err := Unread(tx, s.Node)
	switch {
	case err != nil:
		return err
	case !there:
		return missing(tx, s.Node)
	case n.Seal == "" || n.Seal != recipient:
		return fault.New(fault.Conflict, "node %q has another key by now than the value is sealed to", n.Name).With("give it again")
	}
	tx.Changed("secret", s.Node)
	_, err = tx.Exec(`INSERT INTO secret (node, module, name, version, sealed, set_by, set_at, applied, applied_at) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0)
		ON CONFLICT (node, module, name) DO UPDATE SET version = excluded.version, sealed = excluded.sealed, set_by = excluded.set_by, set_at = excluded.set_at`,
		s.Node, s.Module, s.Name, s.Version, s.Sealed, s.By, db.Millis(s.At))
	return err
}

// RemoveSecret forgets the value of a secret on a node, and reports whether there was one.
func RemoveSecret(tx *db.Tx, node, module, name string) (bool, error) {
	n, err := tx.Exec(`DELETE FROM secret WHERE node = $1 AND module = $2 AND name = $3`, node, module, name)
	if n > 0 {
		tx.Changed("secret", node)
	}
	return n > 0, err
}

// ForgetSecrets forgets every value of the secrets of a module.
func ForgetSecrets(tx *db.Tx, module string) error {
	nodes, err := db.All(tx, db.Text, `SELECT DISTINCT node FROM secret WHERE module = $1`, module)
	if err != nil || len(nodes) == 0 {
		return err
	}
	for _, node := range nodes {
		tx.Changed("secret", node)
	}
	_, err = tx.Exec(`DELETE FROM secret WHERE module = $1`, module)
	return err
}

// loseSecrets forgets what is sealed to a node's key: nobody will open it any more.
func loseSecrets(tx *db.Tx, node string) error {
	tx.Changed("secret", node)
	_, err := tx.Exec(`DELETE FROM secret WHERE node = $1`, node)
	return err
}

// saveAppliedSecrets keeps which versions of secrets the node has by this report. Of
// a declaration that this record has not issued nothing is known.
func saveAppliedSecrets(tx *db.Tx, r report.Report, at time.Time) error {
	issued, found, err := db.One(tx, scanIssuedSecrets, `SELECT secrets, at FROM ledger WHERE node = $1 AND generation = $2 AND epoch = $3 AND digest = $4`,
		r.Node, r.Accepted.Generation, r.Accepted.Epoch, string(r.Accepted.Digest))
	if err != nil || !found || issued.files == "" {
		return err
	}
	files, err := db.FromJSON[map[string]inventory.SecretFile]("the secrets in a declaration of node "+r.Node, issued.files)
	if err != nil {
		return err
	}
	applied := inventory.AppliedSecrets(r, files)
	had, err := SecretsOf(tx, r.Node)
	for _, s := range had {
		version := applied[s.Module][s.Name]
		if version == 0 || version == s.Applied || version > s.Version || version == s.Version && issued.at < db.Millis(s.At) {
			continue // after all were removed, versions begin anew: what was declared before is of other ones
		}
		tx.Changed("secret", r.Node)
		if _, err := tx.Exec(`UPDATE secret SET applied = $1, applied_at = $2 WHERE node = $3 AND module = $4 AND name = $5`,
			version, db.Millis(at), s.Node, s.Module, s.Name); err != nil {
			return err
		}
	}
	return err
}

type issuedSecrets struct {
	files string
	at    int64
}

func scanIssuedSecrets(r db.Row) (i issuedSecrets, err error) {
	err = r.Scan(&i.files, &i.at)
	return i, err
}
