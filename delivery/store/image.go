package deliverystore

import (
	"noxmesh/delivery/environment"
	"noxmesh/document"
	"noxmesh/internal/db"
)

const imageColumns = `key, head, digest, looked_at, moved_at, state, why, since`

func scanImage(r db.Row) (i environment.Image, err error) {
	var key, head, digest, state, why string
	var looked, moved, since int64
	if err = r.Scan(&key, &head, &digest, &looked, &moved, &state, &why, &since); err != nil {
		return i, err
	}
	i = environment.OfKey(key)
	i.Head, i.Digest, i.Why = document.Digest(head), document.Digest(digest), why
	i.State, _ = environment.ParseState(state)
	i.LookedAt, i.MovedAt, i.Since = db.Time(looked), db.Time(moved), db.Time(since)
	return i, nil
}

// Images is what is known of every image that was looked at, by key.
func Images(tx *db.Tx) (map[string]environment.Image, error) {
	all, err := db.All(tx, scanImage, `SELECT `+imageColumns+` FROM image`)
	byKey := make(map[string]environment.Image, len(all))
	for _, i := range all {
		byKey[i.Key()] = i
	}
	return byKey, err
}

// Image is what is known of one image. Of one that nobody has looked at, it is
// the name and the platform alone, and false.
func Image(tx *db.Tx, key string) (environment.Image, bool, error) {
	i, found, err := db.One(tx, scanImage, `SELECT `+imageColumns+` FROM image WHERE key = $1`, key)
	if err == nil && !found {
		i = environment.OfKey(key)
	}
	return i, found, err
}

// SaveImage records what is known of an image.
func SaveImage(tx *db.Tx, i environment.Image) error {
	tx.Changed("image", i.Key())
	_, err := tx.Exec(`INSERT INTO image (`+imageColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (key) DO UPDATE SET head = excluded.head, digest = excluded.digest, looked_at = excluded.looked_at,
		moved_at = excluded.moved_at, state = excluded.state, why = excluded.why, since = excluded.since`,
		i.Key(), string(i.Head), string(i.Digest), db.Millis(i.LookedAt), db.Millis(i.MovedAt), string(i.State), i.Why, db.Millis(i.Since))
	return err
}

// DropImage forgets an image that no module asks for any more.
func DropImage(tx *db.Tx, key string) error {
	tx.Changed("image", key)
	_, err := tx.Exec(`DELETE FROM image WHERE key = $1`, key)
	return err
}
