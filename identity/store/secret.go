package identitystore

import (
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// SetRegistrySecret records the hash of the secret with which a node or builder
// uses the registry. The one before it no longer opens anything.
func SetRegistrySecret(tx *db.Tx, id, hash string) error {
	_, err := tx.Exec(`INSERT INTO registry_secret (id, secret_hash) VALUES ($1, $2)
		ON CONFLICT (id) DO UPDATE SET secret_hash = excluded.secret_hash`, id, hash)
	return err
}

// RegistrySecret is that hash; NotFound for whoever has none, or no longer.
func RegistrySecret(tx *db.Tx, id string) (string, error) {
	hash, found, err := db.One(tx, db.Text, `SELECT secret_hash FROM registry_secret WHERE id = $1`, id)
	if err == nil && !found {
		err = fault.New(fault.NotFound, "%q has no registry credential", id)
	}
	return hash, err
}

// SetSetting records a setting of the whole mesh.
func SetSetting(tx *db.Tx, name, value string) error {
	_, err := tx.Exec(`INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}

// Setting is the value of a setting of the whole mesh, and false where nobody has set it.
func Setting(tx *db.Tx, name string) (value string, found bool, err error) {
	return db.One(tx, db.Text, `SELECT value FROM setting WHERE name = $1`, name)
}
