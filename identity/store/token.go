package identitystore

import (
	"crypto/subtle"
	"time"

	"noxmesh/identity"
	"noxmesh/internal/db"
	"noxmesh/internal/fault"
)

// TokenRow is a token that lets one node or builder join.
type TokenRow struct {
	ID      string
	Kind    identity.Kind
	Target  string // the id of what joins
	Name    string
	Hash    string // of the secret
	MadeBy  string
	MadeAt  time.Time
	Expires time.Time
	UsedAt  time.Time // zero: not yet
}

const tokenColumns = `id, kind, target, name, secret_hash, made_by, made_at, expires_at, used_at`

func scanToken(r db.Row) (t TokenRow, err error) {
	var made, expires, used int64
	err = r.Scan(&t.ID, (*string)(&t.Kind), &t.Target, &t.Name, &t.Hash, &t.MadeBy, &made, &expires, &used)
	t.MadeAt, t.Expires, t.UsedAt = db.Time(made), db.Time(expires), db.Time(used)
	return t, err
}

// AddToken records a token.
func AddToken(tx *db.Tx, t TokenRow) error {
	if t.ID == "" || t.Hash == "" || t.Expires.IsZero() {
		return fault.New(fault.Broken, "record a token: it has no id, no secret or no end")
	}
	n, err := tx.Exec(`INSERT INTO token (`+tokenColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0) ON CONFLICT (id) DO NOTHING`,
		t.ID, string(t.Kind), t.Target, t.Name, t.Hash, t.MadeBy, db.Millis(t.MadeAt), db.Millis(t.Expires))
	if err == nil && n == 0 {
		return fault.New(fault.Conflict, "there is a token %q already", t.ID)
	}
	return err
}

// clockAhead is how far ahead of itself a clock may have been when a token was
// made: so much longer than it should a token lives at most.
const clockAhead = 10 * time.Minute

// UseToken uses a token up, if its secret has this hash and it is neither used
// nor over: of two who bring it at once, exactly one. Whoever has not the
// secret learns nothing, not even whether there is such a token.
func UseToken(tx *db.Tx, id, hash string, now time.Time) (TokenRow, error) {
	t, found, err := db.One(tx, scanToken, `SELECT `+tokenColumns+` FROM token WHERE id = $1`, id)
	if err != nil {
		return TokenRow{}, err
	}
	if !found || subtle.ConstantTimeCompare([]byte(t.Hash), []byte(hash)) != 1 {
		return TokenRow{}, fault.New(fault.Denied, "the token is not one of this mesh").With("ask whoever runs the mesh for a new one")
	}
	n, err := tx.Exec(`UPDATE token SET used_at = $1 WHERE id = $2 AND used_at = 0 AND expires_at > $1 AND made_at <= $3`,
		db.Millis(now), id, db.Millis(now.Add(clockAhead)))
	if err != nil {
		return TokenRow{}, err
	}
	if n == 1 {
		t.UsedAt = db.Time(db.Millis(now))
		return t, nil
	}
	why := "ended " + t.Expires.Format(time.RFC3339)
	switch {
	case !t.UsedAt.IsZero():
		why = "was used " + t.UsedAt.Format(time.RFC3339)
	case t.MadeAt.After(now.Add(clockAhead)):
		why = "was made " + t.MadeAt.Format(time.RFC3339) + ", which is yet to come: the controller's clock was wrong then, or is now"
	}
	return TokenRow{}, fault.New(fault.Denied, "the token for %q %s", t.Name, why).With("mesh %s add makes a new one", t.Kind)
}

// Tokens is every token, by when it was made.
func Tokens(tx *db.Tx) ([]TokenRow, error) {
	return db.All(tx, scanToken, `SELECT `+tokenColumns+` FROM token ORDER BY made_at, id`)
}
